//go:build !unix

package process

import "os/exec"

// Separate does nothing: there are no process groups here.
func Separate(*exec.Cmd) {}

// Terminate does nothing: there is no way to ask.
func Terminate(*exec.Cmd) error { return nil }

// Kill ends the program. What it started may go on; its output is no longer
// waited for.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
