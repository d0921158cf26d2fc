//go:build unix

package evals_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/model"
)

// TestOnlyRegularFilesAreReadAndReplaced has other objects at the paths of a case's files. Reading
// some of them would never end.
func TestOnlyRegularFilesAreReadAndReplaced(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for what, put := range kinds {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, &answering{answer: func(*model.Request) string { return "fine" }})
			for _, c := range []struct {
				file   string
				mode   evals.Mode
				fields string
			}{
				{"recordings/c.jsonl", evals.ModeReplay, "agent: clerk, turns: [{prompt: x}]"},
				{"recordings/c.jsonl", evals.ModeRecord, "agent: clerk, turns: [{prompt: x}]"},
				{"recordings/c.tools.jsonl", evals.ModeLive, "agent: clerk, turns: [{prompt: x}]"},
				{"recordings/c.judges.jsonl", evals.ModeReplay, "agent: clerk, models: scripted, script: {fallback: {text: x}}, turns: [{prompt: x, expect: {judges: [{type: model, model_id: judge, rubric: x}]}}]"},
				{"recordings/note.txt", evals.ModeLive, "agent: clerk, turns: [{prompt: x, attachments: [{path: recordings/note.txt}]}]"},
			} {
				dir := t.TempDir()
				suite := loadCasesIn(t, dir, "c: {"+c.fields+"}")
				path := filepath.Join(dir, c.file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
					t.Fatal(err)
				}
				before, _ := os.Lstat(path)
				r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Mode: c.mode})
				if r.Status != evals.Errored || !strings.Contains(failures[0], "is not a regular file") {
					t.Errorf("%s, %s: %s: %q", c.file, c.mode, r.Status, failures)
				}
				if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
					t.Errorf("%s, %s: it was replaced: %v", c.file, c.mode, err)
				}
			}
		})
	}
}
