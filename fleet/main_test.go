package fleet_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is one of the publishers that they kill.
func TestMain(m *testing.M) {
	settings := os.Getenv(mortalVariable)
	if settings == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := runMortal(settings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
