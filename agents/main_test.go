package agents_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
)

// TestMain runs the tests, or acts as a process that they kill.
func TestMain(m *testing.M) { killtest.Main(m, runMortal) }
