package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// The exit codes of all commands.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitCanceled = 130
)

// exit ends a command with this code after all output has been written.
type exit int

// Error names the code.
func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// fail shows an error and ends the command, unless it was canceled or has already shown it.
func fail(ctx context.Context, s *terminal.Streams, redact func(string) string, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.As(err, new(exit)):
		return err
	}
	s.PrintErrorf("%s", terminal.IndentRest(redact(err.Error())))
	return exit(exitFailed)
}
