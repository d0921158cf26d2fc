package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// The exit codes of all commands.
const (
	OK       = 0
	Failed   = 1
	Usage    = 2
	Canceled = 130
)

// Exit ends a command with this code after all output has been written.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Fail shows an error and ends the command, unless it was canceled or has already shown it.
func Fail(ctx context.Context, s *terminal.Streams, redact func(string) string, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.As(err, new(Exit)):
		return err
	}
	s.PrintErrorf("%s", terminal.IndentRest(redact(err.Error())))
	return Exit(Failed)
}
