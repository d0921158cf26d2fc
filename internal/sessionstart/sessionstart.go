// Package sessionstart runs an agent's programs when a session starts, and records their results
// in the session's metadata.
package sessionstart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// Members of a session's metadata that hold the results of its hooks. Gestalt clients know the
// names.
const (
	// reserved is the common prefix of the names. Only the service sets members with this name, or
	// with this name followed by a dot.
	reserved = "__gestalt.lifecycle"
	// resultPrefix is followed by the id of a hook.
	resultPrefix = reserved + ".sessionStart.results."
	// WorkspaceKey holds the workspace record of a session. It is also reserved.
	WorkspaceKey = "__gestalt.workspace"
	// reservedPrefix is the prefix of every reserved name.
	reservedPrefix = "__gestalt."
	// contextKey holds the message put before every turn.
	contextKey = reserved + ".sessionStart.additionalContext"
)

const (
	// maxOutput limits a program's standard output, and maxErrors how much of its standard error is
	// kept, in bytes.
	maxOutput = 128 << 10
	maxErrors = 8 << 10
	// maxProblem bounds the shown output of a failed program, in bytes.
	maxProblem = 1 << 10
	// pipeDelay is how long to wait for output after the program has ended, if a process that it
	// started still holds its pipes.
	pipeDelay = time.Second
	// minSecret is the minimum length of a configured variable's value to be redacted from stored
	// and shown output, in bytes.
	minSecret = 8
)

// inherited are the variables that a program inherits from the runtime.
var inherited = []string{"HOME", "PATH", "SHELL", "TMPDIR", "USER", "LOGNAME", "LANG", "LC_ALL"}

// Error means that a program failed, so its session does not begin.
type Error struct {
	// Hook is the id of the hook.
	Hook string
	// Problem is the program's output about the failure, or its exit status.
	Problem string
}

// Error names the hook and the problem.
func (e *Error) Error() string {
	return fmt.Sprintf("session start hook %q failed: %s", e.Hook, e.Problem)
}

// Run runs the hooks in order and returns their results as metadata members. It stops at the
// first failure; the error is an *Error unless ctx ended. Hooks without a directory run in dir,
// and relative directories start there; an empty dir is the process's directory.
func Run(ctx context.Context, hooks []spec.SessionHook, dir string) (map[string]json.RawMessage, error) {
	kept := make(map[string]json.RawMessage, len(hooks)+1)
	var contexts []string
	for i := range hooks {
		h := &hooks[i]
		out, err := runHook(ctx, h, dir)
		if err != nil {
			return nil, err
		}
		if kept[resultPrefix+h.ID], err = json.Marshal(out.result(h)); err != nil {
			return nil, err
		}
		if text := out.context(); h.Output.AdditionalContext && text != "" {
			contexts = append(contexts, text)
		}
	}
	if len(contexts) > 0 {
		text, err := json.Marshal(strings.Join(contexts, "\n\n"))
		if err != nil {
			return nil, err
		}
		kept[contextKey] = text
	}
	return kept, nil
}

// Limit returns how long the hooks may take in total.
func Limit(hooks []spec.SessionHook) time.Duration {
	var sum time.Duration
	for i := range hooks {
		sum += hooks[i].Limit() + pipeDelay
	}
	return sum
}

// runHook runs the program of a hook to its end, and kills all processes that it started.
func runHook(ctx context.Context, h *spec.SessionHook, dir string) (*output, error) {
	limited, cancel := context.WithTimeout(ctx, h.Limit())
	defer cancel()
	stdout, stderr := &process.Head{Limit: maxOutput}, &process.Tail{Limit: maxErrors}
	cmd, err := newCommand(limited, h, dir)
	if err != nil {
		return nil, &Error{h.ID, err.Error()}
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = process.RunTied(cmd)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := &output{stdout: hideValues(h, string(stdout.Kept())), stderr: hideValues(h, stderr.Text())}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case limited.Err() != nil:
		return nil, &Error{h.ID, fmt.Sprintf("it did not end within %s", h.Limit())}
	case failed:
		return nil, &Error{h.ID, out.problem(exit)}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, &Error{h.ID, process.Refused(h.Command[0], cmd.Dir, err).Error()}
	case !stdout.IsComplete() && h.Output != (spec.HookOutput{}):
		return nil, &Error{h.ID, fmt.Sprintf("it wrote more than %d bytes, of which nothing can be kept", maxOutput)}
	}
	out.parse()
	return out, nil
}

// newCommand returns the program of a hook, ready to start.
func newCommand(ctx context.Context, h *spec.SessionHook, base string) (*exec.Cmd, error) {
	dir := h.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	home := dir
	if h.Cwd == "" {
		home = "" // a relative program belongs to the runtime, not a checkout
	}
	path, err := process.Find(h.Command[0], home, h.Env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, h.Command[1:]...) //nolint:gosec // the configuration names the program
	cmd.Dir = dir
	cmd.Env = process.EnvironmentWith(inherited, h.Env)
	cmd.Cancel = func() error { return process.Kill(cmd) }
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	return cmd, nil
}

// hideValues redacts the values of the hook's configured variables, which may be secret, from a
// program's output.
func hideValues(h *spec.SessionHook, text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	for _, value := range h.Env {
		if len(value) < minSecret {
			continue
		}
		text = strings.ReplaceAll(text, value, redact.Placeholder)
		if quoted, err := json.Marshal(value); err == nil { // the form in JSON output
			text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), redact.Placeholder)
		}
	}
	return text
}
