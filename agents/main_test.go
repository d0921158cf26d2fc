package agents_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is one of the processes that they kill.
func TestMain(m *testing.M) {
	path := os.Getenv(mortalVariable)
	if path == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := runMortal(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
