package postgres_test

import (
	"fmt"
	"testing"
	"time"
)

// TestAnAppendTouchesNoIndex holds for the row of the turn, which every append
// writes anew: if that changed a column of an index, the index would have to be
// written, too.
func TestAnAppendTouchesNoIndex(t *testing.T) {
	t.Parallel()
	const appends = 50
	settings := database(t)
	settings.DSN += "&pool_max_conns=1" // which counts what it does, and says so when it is asked next
	s := open(t, settings)
	_, turnID, fence := running(t, s)
	for i := range appends {
		if err := s.Commit(t.Context(), appended(turnID, fence, uint64(i+1), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); ; {
		var updated, hot int
		err := s.Pool().QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'turns'").Scan(&updated, &hot)
		if err != nil {
			t.Fatal(err)
		}
		if updated > appends { // and the claim, which does touch indexes
			if hot < updated-2 { // a page may have been full once
				t.Errorf("%d of %d updates left the indexes alone", hot, updated)
			}
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the database counted %d updates", updated)
		}
	}
}
