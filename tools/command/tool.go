package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// pipeDelay is how long to wait for output after the program has ended while a process it
	// started still holds its pipes.
	pipeDelay = time.Second
	// errorLimit is the maximum size of the kept error output, in bytes.
	errorLimit = 4 << 10
)

// Kind returns the tool kind command.
func Kind() tools.Kind {
	return spec.NewKind("command", "A program on the runtime's machine.", createTool).AsPure()
}

// tool is a tool that runs a program.
type tool struct {
	config config
	line   commandLine
}

var _ tools.Tool = (*tool)(nil)

// createTool returns the configured tool. It does not look for the program, because a dry run may
// happen where it is not installed.
func createTool(_ tools.Settings, c *config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	line, list := c.compileCommand()
	stdin, more := c.compileStdin()
	if err := append(list, more...).Err(); err != nil {
		return nil, err
	}
	line.stdin = stdin
	t := &tool{config: *c, line: line}
	t.config.Command = slices.Clone(c.Command)
	t.config.Env = maps.Clone(c.Env)
	return t, nil
}

// Descriptor describes the tool as configured.
func (t *tool) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: t.config.Description,
		Parameters:  t.config.Parameters,
		Effect:      t.config.toolEffect(),
		Timeout:     tools.CallTimeout(t.config.Timeout),
		Serial:      t.config.Serial,
	}
}

// Call runs the program to its end.
func (t *tool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	input, err := t.line.renderInput(call.Arguments)
	if err != nil {
		return tools.ErrorResult("tool_input_invalid: " + err.Error()), nil
	}
	words, err := t.line.renderElements(call.Arguments)
	if err != nil {
		return tools.ErrorResult("tool_input_invalid: " + err.Error()), nil
	}
	r := t.newRun(words, input, call.IdempotencyKey)
	if r.dir, err = t.directory(call.Workspace); err != nil {
		return tools.ErrorResult(err.Error()), nil
	}
	err = r.startProgram(ctx)
	if err == nil {
		err = r.waitForEnd(ctx)
	}
	if start, ok := errors.AsType[*process.StartError](err); ok {
		return tools.ErrorResult(start.Error()), nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return r.failureResult(exit), nil
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("run %s: %w", t.config.Command[0], err)
	}
	return r.successResult(), nil
}

// directory returns the program's working directory: the configured directory, else the session's
// workspace, else the runtime's directory.
func (t *tool) directory(w *tools.Workspace) (string, error) {
	if t.config.Dir != "" || w == nil {
		return t.config.Dir, nil
	}
	return w.Directory()
}

// run is one run of the program.
type run struct {
	config *config
	// words are the program's command line arguments.
	words []string
	input []byte
	// key is the call's idempotency key, and dir the program's working directory.
	key    string
	dir    string
	cmd    *exec.Cmd
	stdout process.Head
	stderr process.Tail
}

func (t *tool) newRun(words []string, input []byte, key string) *run {
	limit := tools.OutputLimit(t.config.MaxOutput)
	return &run{
		config: &t.config, words: words, input: input, key: key, dir: t.config.Dir,
		stdout: process.Head{Limit: limit}, stderr: process.Tail{Limit: min(errorLimit, limit/2)},
	}
}

// startProgram starts the program. The error is a *process.StartError if the machine does not match
// the configuration.
func (r *run) startProgram(ctx context.Context) error {
	// A relative program belongs to the configuration or the runtime, never to a checkout.
	path, err := process.Find(r.config.Command[0], r.config.Dir, r.config.Env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, r.words...) //nolint:gosec // the configuration names the program
	cmd.Args[0] = r.config.Command[0]
	cmd.Dir = r.dir
	cmd.Env = process.Environment(r.config.Env)
	if r.key != "" && !strings.ContainsRune(r.key, 0) {
		cmd.Env = append(cmd.Env, keyVariable+"="+r.key)
	}
	// All input is written before the program starts: if the runtime dies now, a running program
	// must not mistake half a call for a whole one.
	stdin, err := process.Input(r.input)
	if err != nil {
		return fmt.Errorf("write the arguments: %w", err)
	}
	defer func() { _ = stdin.Close() }()
	cmd.Stdin = stdin
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	cmd.Cancel = func() error { return process.Kill(cmd) }
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	r.cmd = cmd
	err = cmd.Start()
	if err == nil || ctx.Err() != nil {
		return err
	}
	return process.Refused(r.config.Command[0], r.dir, err)
}

// waitForEnd waits until the program exits, and kills processes that it leaves running. If the
// context ended the program, it returns the context's error.
func (r *run) waitForEnd(ctx context.Context) error {
	err := process.Wait(r.cmd)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return err
	}
}

func (r *run) successResult() tools.Result {
	result := tools.TextResult(r.stdout.Text())
	if data := bytes.TrimSpace(r.stdout.Kept()); r.stdout.IsComplete() && utf8.Valid(data) && json.Valid(data) {
		result.Data = data
	}
	return result
}

// failureResult describes how the program ended, with both of its outputs.
func (r *run) failureResult(exit *exec.ExitError) tools.Result {
	text := fmt.Sprintf("command %s failed with exit code %d", r.config.Command[0], exit.ExitCode())
	if exit.ExitCode() < 0 {
		text = fmt.Sprintf("command %s was ended: %s", r.config.Command[0], exit.ProcessState)
	}
	said := strings.ReplaceAll(r.stderr.Text(), "\x00", "")
	if r.stdout.Limit -= len(said); len(r.stdout.Kept()) > 0 { // both within the limit
		text += "\n" + strings.TrimSpace(r.stdout.Text())
	}
	if said != "" {
		text += "\n" + said
	}
	return tools.ErrorResult(text)
}
