package cli

import (
	"context"
	"errors"
	"io"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// program holds what every command uses: its streams and the available components.
type program struct {
	terminal.Streams
	app.Components
	// release is the version of a released program; it may be empty.
	release string
	// commands are a team's additional commands.
	commands []Command
	// document is the configuration named "-"; nil if the command reads none from standard input.
	document io.Reader
}

// with returns the program with other streams.
func (p *program) with(s terminal.Streams) *program {
	other := *p
	s.Name = p.Name
	other.Streams = s
	return &other
}

// misuse shows a command line error, or that the command was canceled before it did anything.
func (p *program) misuse(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	p.PrintErrorf("%v", err)
	return command.Exit(command.Usage)
}
