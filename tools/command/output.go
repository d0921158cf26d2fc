package command

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
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

// isComplete reports whether everything was kept.
func (h *head) isComplete() bool { return h.total == int64(len(h.kept)) }

// clippedText returns what was kept as text of at most limit bytes, with a note when
// something is missing.
func (h *head) clippedText() string {
	text := strings.ToValidUTF8(string(h.kept), "\uFFFD")
	if h.isComplete() && len(text) <= h.limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: %d bytes in all]", h.total)
	return clip.Head(text, h.limit-len(note)) + note
}
