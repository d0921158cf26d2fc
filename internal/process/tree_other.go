//go:build unix && !linux

package process

import "os/exec"

// markProcess does nothing: a program is known by its process group alone.
func markProcess(*exec.Cmd) {}

// stopTree finds nothing: what has left the process group is not known here.
func stopTree(*exec.Cmd) []int { return nil }

// killStrays does nothing.
func killStrays([]int) {}
