//go:build unix && !linux

package process

import "os/exec"

// markProcess does nothing: here only the process group identifies a program.
func markProcess(*exec.Cmd) {}

// stopTree finds nothing: processes that left the group are unknown here.
func stopTree(*exec.Cmd) []int { return nil }

// killStrays does nothing.
func killStrays([]int) {}
