//go:build unix && !linux

package process

import "os/exec"

// mark does nothing: a program is known by its process group alone.
func mark(*exec.Cmd) {}

// findStrays finds nothing: what has left the process group is not known here.
func findStrays(*exec.Cmd) []int { return nil }

// killStrays does nothing.
func killStrays(*exec.Cmd, []int) {}
