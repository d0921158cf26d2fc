package window

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// mark identifies the beginning of a conversation, so that a later turn finds it again. The zero
// value identifies none.
type mark struct {
	// Messages is the number of messages in it.
	Messages int `json:"messages"`
	// LastID is the id of the last message, if any.
	LastID string `json:"last_id,omitempty"`
	// Sum is a checksum of the messages' content.
	Sum uint32 `json:"sum"`
}

// markOf returns the mark of the first n messages.
func markOf(conversation []model.Message, n int) mark {
	if n == 0 {
		return mark{}
	}
	return mark{Messages: n, LastID: conversation[n-1].ID, Sum: checksum(conversation[:n])}
}

// findIn returns the number of messages in a conversation's marked beginning. It is 0 if the
// conversation does not start with it: the conversation was edited, or is a different one. If only
// its first messages were removed, the last marked one still identifies the end of the beginning.
func (m *mark) findIn(conversation []model.Message) int {
	if m.Messages <= 0 {
		return 0
	}
	if m.Messages <= len(conversation) && checksum(conversation[:m.Messages]) == m.Sum {
		return m.Messages
	}
	if m.LastID == "" {
		return 0
	}
	n := 1 + slices.IndexFunc(conversation, func(c model.Message) bool { return c.ID == m.LastID })
	if n >= m.Messages || n < len(conversation) && conversation[n].Role == model.RoleTool {
		return 0
	}
	return n
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns a checksum of the content of messages, to detect edits. Messages may get ids
// when they are stored, and the arguments of calls may be rewritten, so it includes neither.
func checksum(messages []model.Message) uint32 {
	hash := crc32.New(castagnoli)
	w := checksumWriter{bufio.NewWriter(hash)}
	for i := range messages {
		w.writeText(string(messages[i].Role))
		w.writeParts(messages[i].Parts)
	}
	w.Flush()
	return hash.Sum32()
}

type checksumWriter struct{ *bufio.Writer }

func (w checksumWriter) writeNumber(n int) {
	var room [binary.MaxVarintLen64]byte
	w.Write(binary.AppendVarint(room[:0], int64(n))) //nolint:errcheck // a hash takes everything
}

func (w checksumWriter) writeText(s string) {
	w.writeNumber(len(s))
	w.WriteString(s) //nolint:errcheck // a hash takes everything
}

func (w checksumWriter) writeParts(parts []model.Part) {
	w.writeNumber(len(parts))
	for i := range parts {
		p := &parts[i]
		w.writeText(string(p.Type))
		switch {
		case p.ToolCall != nil:
			w.writeText(p.ToolCall.ID)
			w.writeText(p.ToolCall.Name)
		case p.ToolResult != nil:
			w.writeText(p.ToolResult.CallID)
			w.writeParts(p.ToolResult.Content)
		case p.Blob != nil:
			w.writeText(p.Blob.URI)
			w.writeNumber(len(p.Blob.Data))
			w.Write(p.Blob.Data) //nolint:errcheck // a hash takes everything
		case p.Reasoning == nil:
			w.writeText(p.Text)
		}
	}
}
