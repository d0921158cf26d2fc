package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/evals"
)

// TestResultsOfAKilledRunAreContinued has files of results as a killed run leaves them.
func TestResultsOfAKilledRunAreContinued(t *testing.T) {
	t.Parallel()
	const passed, failed, skipped = `{"case":"a","repeat":1,"status":"passed"}`, `{"case":"b","repeat":1,"status":"failed"}`, `{"case":"c","repeat":1,"status":"skipped"}`
	for _, c := range []struct{ file, kept, problem string }{
		{passed + "\n" + failed + "\n", "a b", ""},
		{passed + "\n" + failed, "a b", ""},
		{passed + "\n" + failed[:20], "a", ""},
		{passed + "\n" + skipped + "\n", "a", ""},
		{"", "", ""},
		{"{\n" + passed + "\n", "", "line 1 is not a result"},
	} {
		name := filepath.Join(t.TempDir(), "results.jsonl")
		if err := os.WriteFile(name, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		o := evalOptions{results: name, resume: true}
		sink, done, err := o.openResults()
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q: %v", c.file, err)
		}
		if err != nil {
			continue
		}
		var kept []string
		for _, r := range done {
			if r.Status != evals.Skipped {
				kept = append(kept, r.Case)
			}
		}
		sink.close()
		if again, err := readResults(name); err != nil || strings.Join(kept, " ") != c.kept || len(again) != len(kept) {
			t.Errorf("%q: kept %q, and then %d: %v", c.file, kept, len(again), err)
		}
	}
}
