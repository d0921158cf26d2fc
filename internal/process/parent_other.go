//go:build !linux

package process

import "os/exec"

// StartTied starts a program. Here nothing ends it when the runtime is killed.
func StartTied(cmd *exec.Cmd) error { return cmd.Start() }
