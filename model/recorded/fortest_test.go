package recorded_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/recorded"
)

func TestATestRecordsAndPlays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "talk.jsonl")
	user := new(fakeT)
	r := recorded.RecordForTest(user, path, &answers{given: []answer{says("Hello."), says("Bye.")}})
	text(t, r, ask("Hi"))
	text(t, r, ask("Good night"))
	if got := user.end(); len(got) > 0 {
		t.Fatalf("recording failed with %q", got)
	}

	user = new(fakeT)
	p := recorded.NewForTest(user, path)
	text(t, p, ask("Hi"))
	text(t, p, ask("Good night"))
	if got := user.end(); len(got) > 0 {
		t.Errorf("playing failed with %q", got)
	}

	user = new(fakeT)
	text(t, recorded.NewForTest(user, path), ask("Hi"))
	want := []string{"recorded model: " + path + `: recording 2 was not used: it answers "Good night"`}
	if got := user.end(); !slices.Equal(got, want) {
		t.Errorf("the test failed with %q, want %q", got, want)
	}

	user = new(fakeT)
	if _, err := take(t.Context(), recorded.NewForTest(user, path), ask("Hi!")); err == nil {
		t.Error("another request was answered")
	}
	want = []string{
		"recorded model: " + path + ": no recording of this request; it differs from recording 1:\n" +
			`  messages[0].parts[0].text: recorded "Hi", asked "Hi!"`,
	}
	if got := user.end(); !slices.Equal(got, want) {
		t.Errorf("the test failed with %q, want %q", got, want)
	}
}

func TestATestThatFailsKeepsItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	user := new(fakeT)
	r := recorded.RecordForTest(user, path, &answers{given: []answer{says("Hello.")}})
	text(t, r, ask("Hi"))
	user.Errorf("not what was wanted")
	user.end()
	if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
		t.Errorf("the file became %q, %v", got, err)
	}
}

func TestAFileThatCannotBePlayedFailsTheTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wrong"), []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"wrong": "line 1: invalid character", "missing": "no such file"} {
		user := new(fakeT)
		func() {
			defer func() { _ = recover() }()
			recorded.NewForTest(user, filepath.Join(dir, name))
		}()
		if got := strings.Join(user.end(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: the test failed with %q", name, got)
		}
	}
}
