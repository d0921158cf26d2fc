package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// pipeDelay is how long to wait for output after the program has ended while a process it
	// started still holds its pipes.
	pipeDelay = time.Second
	// maxWords is the maximum number of arguments of a program.
	maxWords = 256
)

// runInput are the arguments of run_command.
type runInput struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Path    string   `json:"path"`
	Input   string   `json:"input"`
}

// programTool runs the configured programs.
type programTool struct {
	*workspace
	parameters json.RawMessage
}

func (w *workspace) newProgramTool() *programTool {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	parameters, _ := json.Marshal(map[string]any{ // texts
		"type": "object", "additionalProperties": false, "required": []string{"program"},
		"properties": map[string]any{
			"program": map[string]any{"type": "string", "enum": w.config.Programs, "description": "the program"},
			"args": map[string]any{
				"type": "array", "items": map[string]any{"type": "string"}, "maxItems": maxWords,
				"description": "its arguments; no shell reads them",
			},
			"path":  text("the directory it runs in, relative to the working directory of the workspace; that by default"),
			"input": text("what it reads on its standard input"),
		},
	})
	return &programTool{w, parameters}
}

// Descriptor describes the tool.
func (t *programTool) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "Runs a program in the workspace and returns what it writes: " + strings.Join(t.config.Programs, ", ") + ".",
		Parameters:  t.parameters, Effect: tools.Once, Timeout: tools.CallTimeout(t.config.Timeout), Serial: true,
	}
}

// Call runs the program to its end, and kills processes that it left running.
func (t *programTool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var in runInput
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.ErrorResult("tool_input_invalid: " + tools.ErrArguments.Error()), nil
	}
	if !slices.Contains(t.config.Programs, in.Program) {
		return tools.ErrorResult(fmt.Sprintf("program %q is not allowed; allowed are %s", in.Program, strings.Join(t.config.Programs, ", "))), nil
	}
	dir, err := t.directory(ctx, in.Path)
	if err != nil {
		return tools.ErrorResult(err.Error()), nil
	}
	cmd, output, err := t.command(ctx, dir, &in)
	if err != nil {
		return tools.ErrorResult(err.Error()), nil
	}
	err = process.RunTied(cmd)
	switch exit, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case failed && exit.ExitCode() < 0:
		return tools.ErrorResult(fmt.Sprintf("%s was ended: %s\n%s", in.Program, exit.ProcessState, output.Text())), nil
	case failed:
		return tools.ErrorResult(fmt.Sprintf("%s failed with exit code %d\n%s", in.Program, exit.ExitCode(), output.Text())), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return tools.ErrorResult(t.startProblem(in.Program, dir, err)), nil
	}
	return tools.TextResult(output.Text()), nil
}

// directory returns the local directory in which a program runs.
func (t *programTool) directory(ctx context.Context, name string) (string, error) {
	root, err := openScope(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	local, err := root.localPath(name)
	if err != nil {
		return "", err
	}
	info, err := root.Stat(local) // which follows no link out of the root
	if err != nil {
		return "", fileError(name, err)
	}
	if !info.IsDir() {
		return "", &pathError{name, "is not a directory"}
	}
	w := tools.Workspace{Root: root.Name(), Cwd: local}
	return w.Directory()
}

// command returns the program of a call, ready to start, and its output.
func (t *programTool) command(ctx context.Context, dir string, in *runInput) (*exec.Cmd, *process.Head, error) {
	if strings.ContainsRune(strings.Join(in.Args, "")+in.Program, 0) {
		return nil, nil, errors.New("tool_input_invalid: an argument has a NUL character")
	}
	path, err := process.Find(in.Program, dir, t.config.Env)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, path, in.Args...) //nolint:gosec // the configuration allows the program
	cmd.Dir = dir
	cmd.Env = append(process.Environment(t.config.Env), "PWD="+dir)
	cmd.Stdin = strings.NewReader(in.Input)
	out := &process.Head{Limit: t.config.outputLimit()}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return process.Kill(cmd) }
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	if t.config.Network != networkHost {
		if err := isolate(cmd); err != nil {
			return nil, nil, err
		}
	}
	return cmd, out, nil
}

// startProblem returns why a program did not start.
func (t *programTool) startProblem(program, dir string, err error) string {
	if t.config.Network != networkHost && errors.Is(err, os.ErrPermission) {
		return errNetwork.Error()
	}
	return process.Refused(program, dir, err).Error()
}

// errNetwork reports a system that cannot isolate programs from the network and from other
// processes.
var errNetwork = errors.New("this system cannot start a program without a network; only network: host allows programs here")
