// Command runtime validates, explains, compares, runs and serves configurations
// of the agent runtime.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, also where the system knows none
)

// sameSignal is how long after a signal another one is taken for the same.
const sameSignal = 500 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, but not one that comes with the
	// first: some send it to the process and to its group.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
