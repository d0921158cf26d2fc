package a2a_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is one of the replicas that they start.
func TestMain(m *testing.M) {
	if dsn := os.Getenv(replicaVariable); dsn != "" {
		os.Exit(beReplica(dsn))
	}
	goleak.VerifyTestMain(m)
}
