package command

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// head is a writer that keeps the beginning of what is written to it. It takes
// everything, so that a program is never stopped by a full pipe.
type head struct {
	limit int
	kept  []byte
	total int64
}

// Write keeps what there is room for. It never fails.
func (h *head) Write(p []byte) (int, error) {
	h.total += int64(len(p))
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}

// complete reports whether everything was kept.
func (h *head) complete() bool { return h.total == int64(len(h.kept)) }

// text returns what was kept as text of at most limit bytes, with a note when
// something is missing.
func (h *head) text() string {
	text := strings.ToValidUTF8(string(h.kept), "\uFFFD")
	if h.complete() && len(text) <= h.limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: %d bytes in all]", h.total)
	end := min(max(h.limit-len(note), 0), len(text))
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + note
}

// tail is a writer that keeps the end of what is written to it: the last lines
// of an error output say what went wrong.
type tail struct {
	limit int
	kept  []byte
	cut   bool
}

// Write keeps the end. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := len(t.kept) + n - t.limit; over > 0 {
		t.cut = true
		dropped := min(over, len(t.kept))
		t.kept = append(t.kept[:0], t.kept[dropped:]...)
		p = p[over-dropped:]
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// text returns what was kept, without space around it.
func (t *tail) text() string {
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
