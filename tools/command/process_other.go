//go:build !unix

package command

import "os/exec"

// separate does nothing: there are no process groups here.
func separate(*exec.Cmd) {}

// kill ends the program. What it started may go on; its output is no longer
// waited for.
func kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
