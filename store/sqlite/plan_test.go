package sqlite

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// explained are the statements whose plans were checked.
var explained sync.Map

// fullScans are the steps that go through a whole index or table: what an index has beside
// the rows that are read, what is read as a whole, and lists in the order of an index.
var fullScans = []string{
	"SCAN turns USING INDEX turns_held_back",
	"SCAN t USING COVERING INDEX turns_by_live_revision",
	"SCAN w USING COVERING INDEX workflow_runs_by_live_revision",
	"SCAN r USING INDEX workflow_runs_live",
	"SCAN workflow_cursors", "SCAN workflow_triggers",
	"SCAN json_each",
}

// CheckPlans fails the test if a statement that a store has run reads a whole table. It
// holds also when there is much in the tables: the plans do not depend on it.
func CheckPlans(t *testing.T, s *Store) {
	t.Helper()
	for _, on := range []*statements{s.read, s.writer.(*fileWriter).tx.counted.statements} {
		on.mu.RLock()
		texts := slices.Collect(maps.Keys(on.byText))
		on.mu.RUnlock()
		for _, text := range texts {
			if _, done := explained.LoadOrStore(text, true); done || !explainable.MatchString(text) || lists.MatchString(text) {
				continue
			}
			for _, step := range plan(t, s, sqlstore.RewriteForSQLite(text)) {
				isMeant := func(meant string) bool { return step == meant || strings.HasPrefix(step, meant+" ") }
				if reads(step) && !slices.ContainsFunc(fullScans, isMeant) {
					t.Errorf("%.300s: %s", text, step)
				}
			}
		}
	}
}

// lists matches lists whose conditions vary: without any they go through all records.
var lists = regexp.MustCompile(`^SELECT (count\(\*\)|\S+, .*) FROM (turns|sessions|interactions)( WHERE .*)? (ORDER BY (created|changed|active)_at.*)?$`)

var explainable = regexp.MustCompile(`(?m)^(SELECT|INSERT|UPDATE|DELETE|WITH) `)

// TestNoLimitIsABareParameter holds because SQLite prepares a statement with one anew
// whenever it is bound.
func TestNoLimitIsABareParameter(t *testing.T) {
	bare := regexp.MustCompile(`LIMIT\s*[@?:$]`)
	s := openForTest(t)
	if _, err := s.Sessions(t.Context(), store.SessionQuery{Scope: store.Everything}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Interactions(t.Context(), store.InteractionQuery{Scope: store.Everything}); err != nil {
		t.Fatal(err)
	}
	prepared := s.read.byText
	for query := range prepared {
		if bare.MatchString(sqlstore.RewriteForSQLite(query)) {
			t.Errorf("%s has a bare parameter", query)
		}
	}
	if len(prepared) == 0 {
		t.Error("no statement was prepared")
	}
}

// reads reports whether a step of a plan goes through a whole table or index.
func reads(step string) bool {
	return strings.HasPrefix(step, "SCAN ") && !ofStatement.MatchString(step)
}

// ofStatement matches steps that go through rows of the statement itself.
var ofStatement = regexp.MustCompile(`CONSTANT ROW|ROWS? VALUES|^SCAN (chain|known|held|due|\(.*)`)

// plan returns the steps in which SQLite executes a query.
func plan(t *testing.T, s *Store, query string) (steps []string) {
	t.Helper()
	rows, err := s.pool.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatal(query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

// TestListsAreNotSorted holds for the lists that are asked for again and again:
// an index has their order.
func TestListsAreNotSorted(t *testing.T) {
	s := openForTest(t)
	for name, c := range map[string]struct{ query, index string }{
		"turns by change": {
			"SELECT " + sqlstore.TurnColumns + " FROM turns WHERE tenant = ? AND subject = ? AND changed_at >= ? AND (changed_at, id) < (?, ?) ORDER BY changed_at DESC, id DESC LIMIT CAST(? AS INTEGER)",
			"turns_of_owner_by_change",
		},
		"turns of an agent": {
			"SELECT " + sqlstore.TurnColumns + " FROM turns WHERE tenant = ? AND subject = ? AND agent_id = ? ORDER BY created_at DESC, id DESC LIMIT CAST(? AS INTEGER)",
			"turns_of_agent",
		},
		"webhooks that can be claimed": {
			`SELECT w.* FROM webhooks w JOIN turns t ON t.id = w.turn_id WHERE w.state = 'active' AND w.due_at <= ? AND w.lease_until <= ?
				AND w.surface IN (?) AND (t.seq > w.cursor OR t.finished_at <> 0) ORDER BY w.due_at, w.n LIMIT CAST(? AS INTEGER)`,
			"webhooks_due",
		},
		"webhooks of an owner": {
			"SELECT w.* FROM webhooks w WHERE tenant = ? AND subject = ? AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)", "webhooks_of_owner",
		},
		"webhooks of a turn": {
			"SELECT w.* FROM webhooks w WHERE turn_id = ? AND +tenant = ? AND +subject = ? AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)",
			"autoindex_webhooks_1 (turn_id=?)", // there are few to sort
		},
		"dead webhooks": {
			"SELECT w.* FROM webhooks w WHERE state = 'dead' AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)", "webhooks_dead",
		},
	} {
		steps := strings.Join(plan(t, s, c.query), "\n")
		if sorted := strings.Contains(steps, "TEMP B-TREE"); !strings.Contains(steps, c.index) || sorted && name != "webhooks of a turn" {
			t.Errorf("%s:\n%s", name, steps)
		}
	}
}

// TestRareTurnsAreFoundWithAnIndex holds for lists of turns that may be few among very many.
func TestRareTurnsAreFoundWithAnIndex(t *testing.T) {
	owner := store.Of(store.Owner{Tenant: "acme", Subject: "alice"})
	failed, either := []store.Status{store.Failed}, []store.Status{store.Canceled, store.Failed}
	for _, c := range []struct {
		q     store.TurnQuery
		index string
	}{
		{store.TurnQuery{Scope: owner, AgentID: "clerk"}, "turns_of_agent"},
		{store.TurnQuery{Scope: owner, Statuses: failed}, "turns_unsuccessful_of_owner"},
		{store.TurnQuery{Scope: owner, Statuses: either}, "turns_of_owner"},
		{store.TurnQuery{Scope: owner, Statuses: failed, AgentID: "clerk"}, "turns_unsuccessful_of_owner"},
		{store.TurnQuery{Scope: owner, Statuses: failed, Page: store.Page{After: store.Cursor{Time: time.Now(), ID: "t"}.String()}}, "turns_unsuccessful_of_owner"},
		{store.TurnQuery{Scope: owner, Statuses: failed, ByChange: true}, "turns_of_owner_by_change"},
		{store.TurnQuery{Scope: store.Everything, Statuses: failed}, "turns_unsuccessful"},
		{store.TurnQuery{Scope: store.Everything, Statuses: failed, AgentID: "clerk"}, "turns_unsuccessful"},
		{store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Running}}, "turns_by_status"},
	} {
		s := openForTest(t)
		if _, err := s.Turns(t.Context(), c.q); err != nil {
			t.Fatal(err)
		}
		for query := range s.read.byText {
			steps := strings.Join(plan(t, s, sqlstore.RewriteForSQLite(query)), "\n")
			if !strings.Contains(steps+" ", " "+c.index+" ") || strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("%s:\n%s, want %s", query, steps, c.index)
			}
		}
	}
}
