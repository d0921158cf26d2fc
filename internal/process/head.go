package process

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// Head is a writer that keeps the beginning of its input. It accepts all input, so that a full
// pipe never blocks the program.
type Head struct {
	// Limit is the maximum number of bytes kept.
	Limit int

	kept  []byte
	total int64
}

// Write keeps as much as fits. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	h.total += int64(len(p))
	h.kept = append(h.kept, p[:min(len(p), h.Limit-len(h.kept))]...)
	return len(p), nil
}

// Kept returns the kept bytes. They are read-only.
func (h *Head) Kept() []byte { return h.kept }

// IsComplete reports whether everything was kept.
func (h *Head) IsComplete() bool { return h.total == int64(len(h.kept)) }

// Text returns the kept bytes as text of at most Limit bytes, with a note if output is missing or
// there was none. A note also replaces output that is not text.
func (h *Head) Text() string {
	switch {
	case h.total == 0:
		return "[no output]"
	case bytes.IndexByte(h.kept, 0) >= 0:
		return fmt.Sprintf("[%d bytes of output: only text is shown]", h.total)
	}
	text := strings.ToValidUTF8(string(h.kept), "\uFFFD")
	if h.IsComplete() && len(text) <= h.Limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: %d bytes in all]", h.total)
	return clip.Head(text, h.Limit-len(note)) + note
}
