package fleet_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
)

// TestMain runs the tests, or acts as a publisher that they kill or as a provider of agents.
func TestMain(m *testing.M) {
	providertest.RunProcess()
	killtest.Main(m, runMortal)
}
