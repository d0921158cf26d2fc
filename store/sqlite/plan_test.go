package sqlite

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+$`)

// TestNoQueryReadsAWholeTable holds also when there is much in the tables: the
// plans do not depend on it.
func TestNoQueryReadsAWholeTable(t *testing.T) {
	s := openForTest(t)
	whole := map[string]string{
		"HeldTenants": "SCAN turns USING INDEX turns_held_back", // the index has what is held back alone
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
				if reads(step) && !strings.HasPrefix(step, whole[name]+" ") && step != whole[name] {
					t.Errorf("%s: %s", name, step)
				}
			}
		}
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
