// Package cli is the runtime command as a library: a program passes its own components to Main and
// becomes the complete command for them.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules use time zones, which the system may lack

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/process"
)

// sameSignal is how long a second signal counts as a repetition of the first.
const sameSignal = 500 * time.Millisecond

// Settings describe a command.
type Settings struct {
	// Name is the command's name in help, errors and the manual, by default "runtime". It must be
	// the name of the program's file.
	Name string
	// Components are all components that a configuration can name.
	Components app.Components
	// Version is the reported version. If empty, the command reports the version that the Go
	// command recorded in the program.
	Version string
	// Commands are additional commands. If two commands share a name, every command line fails.
	Commands []Command
}

// Main runs the process's command line and exits with its exit code. SIGINT and SIGTERM cancel the
// command; a second signal ends the process immediately. On Linux other programs cannot read its
// environment and memory.
func Main(s Settings) {
	if err := process.HideMemory(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: programs that run as this user can read the environment: %v\n", cmp.Or(s.Name, "runtime"), err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Some senders signal both the process and its group, so an immediate second signal does not
	// count.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	code := Run(ctx, s, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs a command line, without the program's name, and returns its exit code: 0 for success,
// 1 for a reported failure, 2 for a wrong command line or an unreadable file, 130 if ctx was
// canceled, or one listed in the command's help.
func Run(ctx context.Context, s Settings, args []string, in io.Reader, out, err io.Writer) int {
	p := program{
		Streams: terminal.Streams{In: in, Out: out, Err: err, Name: s.Name}, Components: s.Components,
		release: s.Version, commands: s.Commands,
	}
	return p.run(ctx, args)
}
