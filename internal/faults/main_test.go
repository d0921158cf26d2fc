// Package faults holds no code: its tests kill, freeze and starve the processes of a service and
// inspect the result.
package faults_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or acts as a worker process that they start.
func TestMain(m *testing.M) {
	if settings := os.Getenv(workerVariable); settings != "" {
		os.Exit(beWorker(settings))
	}
	goleak.VerifyTestMain(m)
}
