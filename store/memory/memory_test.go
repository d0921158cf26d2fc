package memory_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, s store.Settings) store.Store { return memory.New(s) })
}
