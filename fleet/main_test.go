package fleet_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
)

// TestMain runs the tests, or is one of the publishers that they kill.
func TestMain(m *testing.M) { killtest.Main(m, runMortal) }
