//go:build !unix

package pgtest

import "os/exec"

// own does nothing: the directory is the test's own.
func own(string) error { return nil }

// become does nothing: the server runs as who runs the test.
func become(*exec.Cmd) error { return nil }
