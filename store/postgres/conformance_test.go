package postgres_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/storetest"
)

func TestItIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s store.Settings) store.Store {
		s.DSN = migrated(t, pgtest.Start(t).Database(t)).DSN
		return open(t, s)
	})
}
