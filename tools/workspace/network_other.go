//go:build !linux

package workspace

import "os/exec"

// isolate fails: only Linux can start a program without a network.
func isolate(*exec.Cmd) error { return errNetwork }
