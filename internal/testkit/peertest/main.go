package peertest

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, and fails if goroutines are left.
func Main(m *testing.M) {
	code := m.Run()
	if err := findLeaks(); err != nil && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// findLeaks looks for leaked goroutines. gRPC connections end only after the garbage collector
// finds that their peer is unreferenced.
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
