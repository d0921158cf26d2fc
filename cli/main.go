// Package cli is the runtime command as a library: a program hands its own list of
// components to Main, and is the whole command for them.
package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, also where the system knows none

	"github.com/agentruntime/agentruntime/app"
)

// sameSignal is how long after a signal another one is taken for the same.
const sameSignal = 500 * time.Millisecond

// Settings describe a command.
type Settings struct {
	// Components are everything that a configuration of the command can name.
	Components app.Components
	// Version is the version that the command reports. When it is empty, the
	// command reports the version that the Go command recorded in the program.
	Version string
}

// Main runs the command line of the process and exits with its exit code. SIGINT
// and SIGTERM cancel the command; a second signal ends the process at once.
func Main(s Settings) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Some senders signal both the process and its group: a second signal that
	// follows the first at once does not count.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	p := program{streams: streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, Components: s.Components, release: s.Version}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
