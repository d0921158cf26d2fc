package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/store/storetest"
)

func TestZZ(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s store.Settings) store.Store {
		s.DSN = filepath.Join(t.TempDir(), "x.db")
		st, err := sqlite.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	})
}
