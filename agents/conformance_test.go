package agents_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/internal/testkit/agentstest"
)

// TestConformance runs all cases of the specification in process, on all stores, without exception.
func TestConformance(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		agentstest.Run(t, func(t *testing.T) (*agentstest.World, agentstest.Driver) {
			kept, queue := open(t)
			w := agentstest.New(t, kept, queue)
			return w, agentstest.InProcess(w)
		}, nil)
	})
}

// TestConformanceOnAStoreOfOnesOwn runs all cases with agents whose snapshots are kept in a
// SnapshotStore.
func TestConformanceOnAStoreOfOnesOwn(t *testing.T) {
	agentstest.Run(t, func(t *testing.T) (*agentstest.World, agentstest.Driver) {
		kept, queue := onMemory(t)(t)
		w := agentstest.NewOn(t, kept, queue, snapshottest.NewMemory())
		return w, agentstest.InProcess(w)
	}, nil)
}
