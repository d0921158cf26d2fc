package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/jackc/pgx/v5"
)

// appends is how often appendOften appends.
const appends = 50

// turnStats is what the database counted for the table of turns.
type turnStats struct {
	// updated rows, and those of them that touched no index.
	updated, hot int
	// read is how many rows were read by going over the table.
	read int
}

// TestAnAppendTouchesNoIndex holds for the row of the turn, which every append
// writes anew: if that changed a column of an index, the index would have to be
// written, too.
func TestAnAppendTouchesNoIndex(t *testing.T) {
	t.Parallel()
	stats := appendOften(t)
	if stats.hot < stats.updated-2 { // a page may have been full once
		t.Errorf("%d of %d updates left the indexes alone", stats.hot, stats.updated)
	}
}

// TestASmallTableIsReadThroughItsIndexes holds although a table of one row is read faster
// as a whole: a connection keeps the plans that it made for a table when that grows.
func TestASmallTableIsReadThroughItsIndexes(t *testing.T) {
	t.Parallel()
	if stats := appendOften(t); stats.read > 0 {
		t.Errorf("%d rows were read by going over the table", stats.read)
	}
}

// appendOften appends to a turn and returns what the database counted.
func appendOften(t *testing.T) turnStats {
	t.Helper()
	settings := database(t)
	settings.DSN += "&pool_max_conns=1" // which counts what it does, and says so when it is asked next
	s := open(t, settings)
	_, turnID, fence := running(t, s)
	for i := range appends {
		if err := s.Commit(t.Context(), appended(turnID, fence, uint64(i+1), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	return awaitStats(t, s)
}

// awaitStats waits until the database has counted all appends, and the claim.
func awaitStats(t *testing.T, s *postgres.Store) (stats turnStats) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); ; {
		err := s.Pool().QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'turns'").
			Scan(&stats.updated, &stats.hot, &stats.read)
		if err != nil {
			t.Fatal(err)
		}
		if stats.updated > appends {
			return stats
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the database counted %d updates", stats.updated)
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
