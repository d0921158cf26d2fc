package vendorhttp

import (
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// thoughtTags are the tags around reasoning that servers without a parser for the model leave at
// the start of the text, such as DeepSeek's and Qwen's, Gemini's, Magistral's, Seed's, Command's,
// Kimi's, Gemma's and gpt-oss's.
var thoughtTags = [][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<thoughts>", "</thoughts>"},
	{"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"},
	{"<seed:think>", "</seed:think>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"◁think▷", "◁/think▷"},
	{"<|channel>thought", "<channel|>"},
	{"<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"},
}

// thoughtStarts are the first bytes of the opening tags.
const thoughtStarts = "<[\xe2"

// TaggedReasoning returns reasoning with its original tags; empty for reasoning that came in a
// field.
func TaggedReasoning(r *model.Reasoning) string {
	for _, tag := range thoughtTags {
		if r.Field == tag[0] {
			return tag[0] + r.Text + tag[1]
		}
	}
	return ""
}

// thoughts turns tagged reasoning at the beginning of an answer's text, and of the text after a
// call, into reasoning events whose field is the tag. Text before an unopened closing tag is
// retracted.
type thoughts struct {
	state thoughtState
	// tag is the tag of the current or last reasoning.
	tag [2]string
	// held is text that may begin a tag, with the preceding space.
	held string
	out  []model.Event
	// said are the pieces of the text so far, and length their total bytes. They may be reasoning
	// whose opening tag was in the prompt, unless there was another event.
	said   []string
	length int
	mixed  bool
}

// longestUntagged limits reasoning without an opening tag, in bytes.
const longestUntagged = 1 << 20

type thoughtState uint8

const (
	// beforeText is the state until the text begins with something other than a tag.
	beforeText thoughtState = iota
	withinThought
	withinText
)

// separate returns the events with tagged text converted to reasoning. They are valid until the
// next call.
func (t *thoughts) separate(events []model.Event) []model.Event {
	for i := range events {
		if t.changes(&events[i]) {
			t.out = append(t.out[:0], events[:i]...)
			for k := range events[i:] {
				t.add(&events[i+k])
			}
			return t.out
		}
		t.note(&events[i])
	}
	return events
}

// changes reports whether an event may need to change.
func (t *thoughts) changes(ev *model.Event) bool {
	if ev.Type != model.EventText {
		return t.held != ""
	}
	if t.state != beforeText {
		return t.state == withinThought || t.endsUntagged(ev.Delta)
	}
	text := trimSpace(ev.Delta)
	return t.held != "" || t.tag[0] != "" || text == "" || strings.IndexByte(thoughtStarts, text[0]) >= 0 || t.endsUntagged(text)
}

// note processes an event that stays unchanged.
func (t *thoughts) note(ev *model.Event) {
	switch ev.Type {
	case model.EventText:
		t.state = withinText
		if t.length += len(ev.Delta); !t.mixed && t.length <= longestUntagged {
			t.said = append(t.said, ev.Delta)
		}
	case model.EventToolCallStart:
		t.state, t.tag, t.mixed = beforeText, [2]string{}, true
	default:
		t.mixed = true
	}
}

// endsUntagged reports whether a piece ends reasoning whose opening tag was in the prompt, as with
// DeepSeek and Qwen: the closing tag begins a line, outside of code, and no opening tag precedes it.
// Only the first closing tag counts.
func (t *thoughts) endsUntagged(piece string) bool {
	before, _, found := strings.Cut(piece, untagged[1])
	if !found || t.mixed || t.length > longestUntagged {
		return false
	}
	text := strings.Join(t.said, "") + before
	ends := strings.HasSuffix(text, "\n") && !strings.Contains(text, untagged[0]) && strings.Count(text, "```")%2 == 0
	if !ends {
		t.mixed, t.said = true, nil
	}
	return ends
}

// untagged is the tag of reasoning that may come without its beginning.
var untagged = thoughtTags[0]

// takeBack turns the text so far into reasoning, and returns what follows the closing tag in a piece.
func (t *thoughts) takeBack(piece string) (rest string) {
	before, rest, _ := strings.Cut(piece, untagged[1])
	if len(t.said) > 0 {
		t.out = append(t.out, model.Event{Type: model.EventReset, Delta: "the text so far was reasoning"})
	}
	t.state, t.tag, t.mixed = withinThought, untagged, true
	t.emit(strings.Join(t.said, "") + before)
	t.state, t.said = beforeText, nil
	return rest
}

func (t *thoughts) add(ev *model.Event) {
	if ev.Type == model.EventText {
		t.addText(ev.Delta)
		return
	}
	if t.held != "" { // it is not a tag
		t.emit(t.held)
		t.held = ""
	}
	t.note(ev)
	t.out = append(t.out, *ev)
}

func (t *thoughts) addText(piece string) {
	text := t.held + piece
	t.held = ""
	for text != "" {
		switch t.state {
		case beforeText:
			text = t.openThought(text)
		case withinThought:
			text = t.closeThought(text)
		default:
			if !t.endsUntagged(text) {
				t.emit(text)
				return
			}
			text = t.takeBack(text)
		}
	}
}

// openThought returns what follows an opening tag, or text that does not begin with one. It holds a
// text back that may become either.
func (t *thoughts) openThought(text string) (rest string) {
	begun := trimSpace(text)
	may := begun == ""
	for _, tag := range thoughtTags {
		if n := min(len(tag[0]), len(begun)); !strings.EqualFold(begun[:n], tag[0][:n]) {
			continue
		}
		if len(begun) >= len(tag[0]) {
			t.state, t.tag, t.mixed = withinThought, tag, true
			return begun[len(tag[0]):]
		}
		may = true
	}
	if t.tag[0] != "" {
		text = begun // without the space between the thought and the answer
	}
	if may {
		t.held = text
		return ""
	}
	t.state = withinText
	return text
}

// closeThought emits reasoning, and returns what follows the closing tag.
func (t *thoughts) closeThought(text string) (rest string) {
	end := t.tag[1]
	for i := strings.IndexByte(text, end[0]); i >= 0; {
		n := min(len(end), len(text)-i)
		if strings.EqualFold(text[i:i+n], end[:n]) {
			t.emit(text[:i])
			if n < len(end) {
				t.held = text[i:]
				return ""
			}
			t.state = beforeText
			return text[i+n:]
		}
		next := strings.IndexByte(text[i+1:], end[0])
		if next < 0 {
			break
		}
		i += 1 + next
	}
	t.emit(text)
	return ""
}

// emit adds a piece of the text, or of the reasoning.
func (t *thoughts) emit(piece string) {
	switch {
	case piece == "":
	case t.state == withinThought:
		t.out = append(t.out, model.Event{Type: model.EventReasoning, Name: t.tag[0], Delta: piece})
	default:
		text := model.Event{Type: model.EventText, Delta: piece}
		t.note(&text)
		t.out = append(t.out, text)
	}
}

func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }
