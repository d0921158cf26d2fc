//go:build !linux

package workspace

import "os/exec"

// removeNetwork fails: only Linux can start a program without a network.
func removeNetwork(*exec.Cmd) error { return errNetwork }
