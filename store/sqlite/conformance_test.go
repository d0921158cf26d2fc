package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

func TestItIsAStore(t *testing.T) { storetest.Run(t, openNew) }

func TestItFollowsTheModel(t *testing.T) { storetest.RunModel(t, openNew) }

// openNew opens a store in a file of its own.
func openNew(t *testing.T, settings store.Settings) store.Store {
	settings.DSN = filepath.Join(t.TempDir(), "runtime.db")
	s := openWith(t, settings)
	t.Cleanup(func() { sqlite.CheckPlans(t, s) })
	return s
}
