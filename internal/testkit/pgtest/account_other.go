//go:build !unix

package pgtest

import "os/exec"

// giveToAccount does nothing: the directory is the test's own.
func giveToAccount(string) error { return nil }

// runAsAccount does nothing: the server runs as the user who runs the test.
func runAsAccount(*exec.Cmd) error { return nil }
