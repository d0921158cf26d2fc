package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
)

// TestResultsOfAKilledRunAreContinued has result files in the state left by a killed run.
func TestResultsOfAKilledRunAreContinued(t *testing.T) {
	t.Parallel()
	const passed, failed, skipped = `{"case":"a","repeat":1,"status":"passed"}`, `{"case":"b","repeat":1,"status":"failed"}`, `{"case":"c","repeat":1,"status":"skipped"}`
	for _, c := range []struct{ file, kept, problem string }{
		{passed + "\n" + failed + "\n", "a b", ""},
		{passed + "\n" + failed, "a b", ""},
		{passed + "\n" + failed[:20], "a", ""},
		{passed + "\n" + skipped + "\n", "a", ""},
		{passed + "\n" + failed + "\n" + `{"case":"a","repeat":2,"status":"failed","digest":"changed"}` + "\n", "b a", ""},
		{passed + "\n" + `{"case":"a","repeat":1,"status":"error","digest":"changed"}` + "\n", "a", ""},
		{"", "", ""},
		{"{\n" + passed + "\n", "", "line 1 is not a result"},
		{`{"results":[` + passed + `,null]}`, "", "results[1] is not a result"},
		{`{"results":[{"case":"a","status":"fine"}]}`, "", "results[0] is not a result"},
		{`{"case":"a","status":"passed","turns":[null]}` + "\n", "", "line 1 is not a result"},
		{`{"case":"a","status":"passed","turns":[{"calls":[null]}]}` + "\n", "", "line 1 is not a result"},
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

// TestResultsReplaceOnlyFiles writes results through a symbolic link, and rejects a directory.
func TestResultsReplaceOnlyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.jsonl"), filepath.Join(dir, "link.jsonl")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	sink, _, err := (&evalOptions{results: link}).openResults()
	if err != nil {
		t.Fatal(err)
	}
	sink.write(&evals.Result{Case: "a", Status: evals.Passed})
	sink.close()
	if list, err := readResults(target); err != nil || len(list) != 1 {
		t.Errorf("%d results, %v", len(list), err)
	}
	if sink, _, err := (&evalOptions{results: dir}).openResults(); err == nil {
		sink.close()
		t.Error("a directory was replaced")
	}
}

// TestASuiteIsFoundInAnyDirectory uses pattern characters in the name of a directory.
func TestASuiteIsFoundInAnyDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cases", "cases[1]", "cases["} {
		dir := filepath.Join(t.TempDir(), name)
		other, to := filepath.Join(dir, "other.yaml"), filepath.Join(dir, "new.yaml")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(other, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if files, err := suiteFiles(to); err != nil || !slices.Equal(files, []string{other, to}) {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
}

// TestASuiteIsFoundFromWithin adds to a file by its base name, within the suite's directory.
func TestASuiteIsFoundFromWithin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evals", "shop")
	other := filepath.Join(filepath.Dir(dir), "other.yaml")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if files, err := suiteFiles("new.yaml"); err != nil || !slices.Equal(files, []string{other, "new.yaml"}) {
		t.Errorf("%q, %v", files, err)
	}
}

// TestReplacedResultsAreReported has two runs that write results to one file.
func TestReplacedResultsAreReported(t *testing.T) {
	t.Parallel()
	o := &evalOptions{results: filepath.Join(t.TempDir(), "r.jsonl")}
	first, _, err := o.openResults()
	if err != nil {
		t.Fatal(err)
	}
	defer first.close()
	first.write(&evals.Result{Case: "a", Status: evals.Passed})
	if err := first.check(); err != nil {
		t.Error(err)
	}
	o.resume = true
	second, _, err := o.openResults()
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if err := first.check(); err == nil || !strings.Contains(err.Error(), "lacks the results of this run") {
		t.Errorf("the first run: %v", err)
	}
	if err := second.check(); err != nil {
		t.Errorf("the second run: %v", err)
	}
}
