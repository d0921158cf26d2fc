package sqlite

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/store"
)

var named = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+$`)

// TestNoQueryReadsAWholeTable holds also when there is much in the tables: the
// plans do not depend on it.
func TestNoQueryReadsAWholeTable(t *testing.T) {
	s := openForTest(t)
	whole := map[string][]string{
		"HeldTenants": {"SCAN turns USING INDEX turns_held_back"}, // the index has what is held back alone
		// The indexes have live turns and runs alone.
		"LiveRevisions": {
			"SCAN turns USING COVERING INDEX turns_by_live_revision",
			"SCAN workflow_runs USING COVERING INDEX workflow_runs_by_live_revision",
		},
	}
	files, err := fs.Glob(os.DirFS("queries"), "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile("queries/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for at, loc := 0, named.FindAllSubmatchIndex(text, -1); at < len(loc); at++ {
			end := len(text)
			if at+1 < len(loc) {
				end = loc[at+1][0]
			}
			name := string(text[loc[at][2]:loc[at][3]])
			for _, step := range plan(t, s, string(text[loc[at][1]:end])) {
				isMeant := func(meant string) bool { return step == meant || strings.HasPrefix(step, meant+" ") }
				if reads(step) && !slices.ContainsFunc(whole[name], isMeant) {
					t.Errorf("%s: %s", name, step)
				}
			}
		}
	}
}

// TestNoLimitIsABareParameter holds because SQLite prepares a statement with one anew
// whenever it is bound.
func TestNoLimitIsABareParameter(t *testing.T) {
	bare := regexp.MustCompile(`LIMIT\s*[@?:$]`)
	s := openForTest(t)
	files, err := fs.Glob(os.DirFS("queries"), "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile("queries/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if found := bare.Find(text); found != nil {
			t.Errorf("%s has %q: use LIMIT CAST(… AS INTEGER)", file, found)
		}
	}
	if _, err := s.Sessions(t.Context(), store.SessionQuery{Scope: store.Everything}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Interactions(t.Context(), store.InteractionQuery{Scope: store.Everything}); err != nil {
		t.Fatal(err)
	}
	prepared := s.read.byText
	for query := range prepared {
		if bare.MatchString(query) {
			t.Errorf("%s has a bare parameter", query)
		}
	}
	if len(prepared) == 0 {
		t.Error("no statement was prepared")
	}
}

// reads reports whether a step of a plan goes through a whole table or index.
func reads(step string) bool {
	return strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, "CONSTANT ROW") && !strings.HasPrefix(step, "SCAN chain") && !strings.HasPrefix(step, "SCAN (")
}

// plan returns the steps in which SQLite executes a query.
func plan(t *testing.T, s *Store, query string) (steps []string) {
	t.Helper()
	query = regexp.MustCompile(`@\w+`).ReplaceAllString(query, "?1")
	query = regexp.MustCompile(`sqlc\.embed\((\w+)\)`).ReplaceAllString(query, "$1.*")
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
			turnColumns + " WHERE tenant = ? AND subject = ? AND changed_at >= ? AND (changed_at, id) < (?, ?) ORDER BY changed_at DESC, id DESC LIMIT CAST(? AS INTEGER)",
			"turns_of_owner_by_change",
		},
		"webhooks that can be claimed": {
			webhookColumns + `webhooks w JOIN turns t ON t.id = w.turn_id WHERE w.state = 'active' AND w.due_at <= ? AND w.lease_until <= ?
				AND w.surface IN (?) AND (t.seq > w.cursor OR t.finished_at <> 0) ORDER BY w.due_at, w.n LIMIT CAST(? AS INTEGER)`,
			"webhooks_due",
		},
		"webhooks of an owner": {
			webhookColumns + "webhooks w WHERE tenant = ? AND subject = ? AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)", "webhooks_of_owner",
		},
		"webhooks of a turn": {
			webhookColumns + "webhooks w WHERE turn_id = ? AND +tenant = ? AND +subject = ? AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)",
			"autoindex_webhooks_1 (turn_id=?)", // there are few to sort
		},
		"dead webhooks": {
			webhookColumns + "webhooks w WHERE state = 'dead' AND n < ? ORDER BY n DESC LIMIT CAST(? AS INTEGER)", "webhooks_dead",
		},
	} {
		steps := strings.Join(plan(t, s, c.query), "\n")
		if sorted := strings.Contains(steps, "TEMP B-TREE"); !strings.Contains(steps, c.index) || sorted && name != "webhooks of a turn" {
			t.Errorf("%s:\n%s", name, steps)
		}
	}
}
