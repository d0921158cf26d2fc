// Package faults holds no code: its tests kill, freeze and starve the processes
// of a service, and look at what is left.
package faults_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is one of the worker processes that they start.
func TestMain(m *testing.M) {
	if settings := os.Getenv(workerVariable); settings != "" {
		os.Exit(beWorker(settings))
	}
	goleak.VerifyTestMain(m)
}
