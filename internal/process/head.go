package process

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// Head is a writer that keeps the beginning of what is written to it. It takes
// everything, so that a program is never stopped by a full pipe.
type Head struct {
	// Limit is how much is kept, in bytes.
	Limit int

	kept  []byte
	total int64
}

// Write keeps what there is room for. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	h.total += int64(len(p))
	h.kept = append(h.kept, p[:min(len(p), h.Limit-len(h.kept))]...)
	return len(p), nil
}

// Kept returns what was kept. It is read-only.
func (h *Head) Kept() []byte { return h.kept }

// IsComplete reports whether everything was kept.
func (h *Head) IsComplete() bool { return h.total == int64(len(h.kept)) }

// Text returns what was kept as text of at most Limit bytes, with a note when
// something is missing, when there was nothing, and in place of what is not text.
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
