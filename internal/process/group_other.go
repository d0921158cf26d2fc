//go:build !unix

package process

import "os/exec"

// Separate does nothing: this system has no process groups.
func Separate(*exec.Cmd) {}

// Terminate does nothing, because this system has no such request.
func Terminate(*exec.Cmd) error { return nil }

// Kill kills the program. Its children may keep running, but their output is no longer awaited.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
