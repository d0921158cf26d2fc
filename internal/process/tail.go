package process

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail is a writer that keeps the end of its input, since the last lines of error output usually
// explain a failure. It is safe for concurrent use.
type Tail struct {
	// Limit is the maximum number of bytes kept.
	Limit int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write keeps the end. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if over := len(t.kept) + n - t.Limit; over > 0 {
		t.cut = true
		dropped := min(over, len(t.kept))
		t.kept = append(t.kept[:0], t.kept[dropped:]...)
		p = p[over-dropped:]
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// Text returns the kept text without surrounding whitespace.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	for t.cut && len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(kept), "\uFFFD"))
	if t.cut {
		return "[…] " + text
	}
	return text
}
