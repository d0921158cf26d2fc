package peertest

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, and fails when goroutines are left.
func Main(m *testing.M) {
	code := m.Run()
	if err := findLeaks(); err != nil && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// findLeaks looks for goroutines that are left. Connections over gRPC end once the
// garbage collector finds that nobody has their peer any more.
func findLeaks() error {
	var err error
	for range 5 {
		runtime.GC()
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}
