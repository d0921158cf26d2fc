package agents

import (
	"bytes"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// saidMessage is the shown part of the current message. When a worker dies or the model's stream
// breaks off, the message restarts; repeated text is not shown twice.
type saidMessage struct {
	text, reasoning saidText
	// refs are the tool requests' references.
	refs []string
}

// restart begins the same message again.
func (m *saidMessage) restart() {
	m.text.again, m.reasoning.again = len(m.text.said), len(m.reasoning.said)
}

// add returns the parts to show for a piece. same is false if the message differs from the shown
// text: then the parts contain the whole message so far, as a new message.
func (m *saidMessage) add(text, reasoning string) (parts []wire.Part, same bool) {
	newText, sameText := m.text.add(text)
	newReasoning, sameReasoning := m.reasoning.add(reasoning)
	if !sameText || !sameReasoning {
		*m = saidMessage{
			text: saidText{said: append(m.text.repeated(), newText...)}, reasoning: saidText{said: append(m.reasoning.repeated(), newReasoning...)},
		}
		newText, newReasoning = string(m.text.said), string(m.reasoning.said)
	}
	if newReasoning != "" {
		parts = append(parts, wire.Part{Reasoning: &newReasoning})
	}
	if newText != "" {
		parts = append(parts, wire.NewTextPart(newText))
	}
	return parts, sameText && sameReasoning
}

// end ends the message. If it is shorter than the shown text, end returns the parts of a new
// message.
func (m *saidMessage) end() []wire.Part {
	var parts []wire.Part
	if m.text.again > 0 || m.reasoning.again > 0 {
		whole := saidMessage{}
		parts, _ = whole.add(string(m.text.repeated()), string(m.reasoning.repeated()))
	}
	*m = saidMessage{}
	return parts
}

// saidText is a shown text whose last bytes the message has yet to repeat.
type saidText struct {
	said  []byte
	again int
}

// repeated returns the shown text that the message has already repeated.
func (t *saidText) repeated() []byte { return t.said[: len(t.said)-t.again : len(t.said)-t.again] }

// add returns the part of the next piece that was not shown. If the piece differs from the shown
// text, it returns the whole piece and false.
func (t *saidText) add(piece string) (shown string, same bool) {
	n := min(t.again, len(piece))
	if !bytes.Equal(t.said[len(t.said)-t.again:][:n], []byte(piece[:n])) {
		return piece, false
	}
	t.again -= n
	t.said = append(t.said, piece[n:]...)
	return piece[n:], true
}
