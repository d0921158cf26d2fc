package recorded

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/agentruntime/agentruntime/model"
)

// T is the part of *testing.T that NewForTest and RecordForTest use.
type T interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// NewForTest returns an executor that plays a file in a test. At its end the test fails if a
// request had no recording or, if all had one, a recording was not used. A file that cannot be read
// fails the test immediately.
func NewForTest(t T, path string, options ...Option) *Player {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("recorded model: %v", err)
	}
	p, err := NewPlayer(bytes.NewReader(data), options...)
	if err != nil {
		t.Fatalf("recorded model: %s: %v", path, err)
	}
	t.Cleanup(func() {
		t.Helper()
		mismatches := p.Mismatches()
		for _, m := range mismatches {
			t.Errorf("recorded model: %s: %v", path, m)
		}
		if len(mismatches) > 0 {
			return // unused recordings are a consequence
		}
		for _, i := range p.Unused() {
			t.Errorf("recorded model: %s: recording %d was not used: it answers %s", path, i+1, strconv.Quote(clipAround([]rune(p.tracks[i].user), 0)))
		}
	})
	return p
}

// RecordForTest returns an executor that calls next, and writes the file when the test has passed.
// A failing test leaves the file unchanged.
func RecordForTest(t T, path string, next model.Executor, options ...Option) *Recorder {
	t.Helper()
	var file bytes.Buffer
	r := NewRecorder(next, &file, options...)
	t.Cleanup(func() {
		t.Helper()
		err := r.Close()
		if err == nil && !t.Failed() {
			err = writeFile(path, file.Bytes())
		}
		if err != nil {
			t.Errorf("recorded model: %v", err)
		}
	})
	return r
}

// writeFile replaces a file, and creates its directory.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
