//go:build !linux

package process

import "os/exec"

// StartTied starts a program. On this system it may outlive a killed runtime.
func StartTied(cmd *exec.Cmd) error { return cmd.Start() }
