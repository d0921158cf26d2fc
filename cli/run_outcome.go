package cli

import (
	"cmp"
	"fmt"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
)

// conclude ends a run's output and the command with the run's outcome; if result is nil, err says
// why the run did not end.
func (p *program) conclude(out *turnview.Printer, result *runtime.Result, err error) error {
	if closing := out.Close(result); closing != nil {
		return closing
	}
	switch {
	case result == nil:
		return err
	case result.Status == event.StatusCanceled:
		p.PrintErrorf("canceled")
		return command.Exit(command.Canceled)
	case err != nil || result.Status != event.StatusSucceeded:
		p.PrintErrorf("%s", terminal.IndentRest(out.Redact(failure(result, err))))
		return command.Exit(command.Failed)
	case result.Termination.CutShort() && result.Response == "":
		p.PrintErrorf("the turn was stopped without an answer (%s: %s)", terminal.OneLine(result.Termination.Code), terminal.OneLine(out.Redact(result.Termination.Detail)))
		return command.Exit(command.Failed)
	}
	return nil
}

// failure describes why a turn did not succeed.
func failure(result *runtime.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case result.Status != event.StatusWaiting:
		return fmt.Sprintf("the turn is %s: %s", result.Status, cmp.Or(result.Termination.Detail, string(result.Termination.Type)))
	}
	text := "the turn waits for a person, and this command cannot ask one"
	for _, request := range result.Interactions {
		text += "\n  " + terminal.OneLine(cmp.Or(request.Message, request.Action))
	}
	return text + "\n  run it on a terminal or with --approve ask, yes or no"
}
