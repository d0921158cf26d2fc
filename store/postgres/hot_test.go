package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestAnAppendGoesThroughIndexesAndTouchesNone holds for the row of the turn, which every
// append writes anew: if that changed a column of an index, the index would have to be
// written, too. The row is found through an index although a table of one row is read
// faster as a whole: a connection keeps the plans that it made for a table when that grows.
func TestAnAppendGoesThroughIndexesAndTouchesNone(t *testing.T) {
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
		var updated, hot, read int
		err := s.Pool().QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'turns'").
			Scan(&updated, &hot, &read)
		if err != nil {
			t.Fatal(err)
		}
		if updated > appends { // and the claim, which does touch indexes
			if hot < updated-2 { // a page may have been full once
				t.Errorf("%d of %d updates left the indexes alone", hot, updated)
			}
			if read > 0 {
				t.Errorf("%d rows were read by going over the table", read)
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

// TestPlansAreNotCompiled has a query that cannot but read a whole table, which the
// database takes for expensive.
func TestPlansAreNotCompiled(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	rows, err := s.Pool().Query(t.Context(), "EXPLAIN SELECT count(*) FROM events WHERE data IS NULL")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(plan) == 0 || strings.Contains(strings.Join(plan, "\n"), "JIT") {
		t.Errorf("the plan is %q, error %v", plan, err)
	}
}
