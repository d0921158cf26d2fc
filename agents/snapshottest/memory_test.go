package snapshottest_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	snapshottest.Run(t, func(*testing.T) agents.SnapshotStore { return snapshottest.NewMemory() })
}
