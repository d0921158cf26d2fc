package recorded

import (
	"slices"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model"
)

// Redact removes secrets with f from requests, before they are written or compared, and from
// answers, before they are written. The pieces of a streamed text are joined first, so f
// finds a secret that was split. f must not change its own output.
func Redact(f func(string) string) Option { return func(o *options) { o.redact = f } }

// redactRequest removes secrets from a request. It replaces slices, which are shared.
func (o *options) redactRequest(r *request) {
	f := o.redact
	if f == nil {
		return
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Parts, m.Metadata = redactParts(m.Parts, f), redact.JSON(m.Metadata, f)
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Description, t.Parameters, t.Output = redact.Quoted(t.Description, f), redact.JSON(t.Parameters, f), redact.JSON(t.Output, f)
	}
	if r.Output != nil {
		output := *r.Output
		output.Schema = redact.JSON(output.Schema, f)
		r.Output = &output
	}
	r.Model, r.Stop = redact.Quoted(r.Model, f), slices.Clone(r.Stop)
	for i := range r.Stop {
		r.Stop[i] = redact.Quoted(r.Stop[i], f)
	}
}

// redactParts returns parts without secrets. If a secret is split over several texts, the
// first of them gets the whole text.
func redactParts(parts []model.Part, f func(string) string) []model.Part {
	out := make([]model.Part, len(parts))
	for i := range parts {
		out[i] = redactPart(parts[i], f)
	}
	for _, typ := range []model.PartType{model.PartText, model.PartReasoning} {
		var pieces []int
		var joined string
		for i := range out {
			if out[i].Type == typ {
				pieces, joined = append(pieces, i), joined+partText(&out[i])
			}
		}
		clean := redact.Quoted(joined, f)
		if clean == joined {
			continue
		}
		setPartText(&out[pieces[0]], clean)
		for _, i := range slices.Backward(pieces[1:]) {
			setPartText(&out[i], "")
			if r := out[i].Reasoning; r == nil || r.Encrypted == "" {
				out = slices.Delete(out, i, i+1)
			}
		}
	}
	return out
}

func partText(p *model.Part) string {
	if p.Reasoning != nil {
		return p.Reasoning.Text
	}
	return p.Text
}

func setPartText(p *model.Part, text string) {
	if p.Reasoning != nil {
		p.Reasoning.Text = text
		return
	}
	p.Text = text
}

// redactPart returns a copy of a part without secrets.
func redactPart(p model.Part, f func(string) string) model.Part {
	p.Text = redact.Quoted(p.Text, f)
	if p.Blob != nil {
		b := *p.Blob
		b.URI, b.Name = redact.Quoted(b.URI, f), redact.Quoted(b.Name, f)
		if utf8.Valid(b.Data) {
			b.Data = []byte(redact.Quoted(string(b.Data), f))
		}
		p.Blob = &b
	}
	if p.Reasoning != nil {
		r := *p.Reasoning
		r.Text, r.Encrypted, r.ID = redact.Quoted(r.Text, f), redact.Quoted(r.Encrypted, f), redact.Quoted(r.ID, f)
		p.Reasoning = &r
	}
	if p.ToolCall != nil {
		c := *p.ToolCall
		c.ID, c.Arguments, c.Extra = redact.Quoted(c.ID, f), redact.JSON(c.Arguments, f), redact.JSON(c.Extra, f)
		p.ToolCall = &c
	}
	if p.ToolResult != nil {
		r := *p.ToolResult
		r.CallID, r.Content = redact.Quoted(r.CallID, f), redactParts(r.Content, f)
		p.ToolResult = &r
	}
	return p
}

// redactAnswer returns the events of an answer without secrets.
func redactAnswer(events []event, f func(string) string) []event {
	var out []event
	for begin := 0; begin < len(events); {
		end := begin
		for end < len(events) && events[end].Type != eventNames[model.EventReset] {
			end++
		}
		end = min(end+1, len(events))
		a := answerPieces{events: slices.Clone(events[begin:end]), redact: f}
		out, begin = append(out, a.redactEvents()...), end
	}
	return out
}

// answerPieces are the events of an answer up to a reset, by the part that they extend.
type answerPieces struct {
	events []event
	redact func(string) string
	// parts hold the indexes of each part's events.
	parts []answerPart
}

type answerPart struct {
	kind   string
	pieces []int
	closed bool
}

// redactEvents redacts each part, and then the text parts together.
func (a *answerPieces) redactEvents() []event {
	a.splitParts()
	for _, p := range a.parts {
		if p.kind == eventNames[model.EventToolCallStart] {
			a.redactPieces(p.pieces, func(text string) string { return string(redact.JSON([]byte(text), a.redact)) })
			continue
		}
		a.redactPieces(p.pieces, a.redactText)
	}
	for _, kind := range []model.EventType{model.EventText, model.EventReasoning} {
		var pieces []int
		for _, p := range a.parts {
			if p.kind == eventNames[kind] {
				pieces = append(pieces, p.pieces...)
			}
		}
		a.redactPieces(pieces, a.redactText)
	}
	return a.events
}

func (a *answerPieces) redactText(text string) string { return redact.Quoted(text, a.redact) }

// splitParts finds the parts, like model.Answer, and redacts fields that are not streamed in
// pieces.
func (a *answerPieces) splitParts() {
	calls := map[int]int{}
	for i := range a.events {
		e := &a.events[i]
		e.ID = a.redactText(e.ID)
		switch e.Type {
		case eventNames[model.EventText], eventNames[model.EventReasoning]:
			if last := len(a.parts) - 1; last < 0 || a.parts[last].kind != e.Type || a.parts[last].closed {
				a.parts = append(a.parts, answerPart{kind: e.Type})
			}
			last := &a.parts[len(a.parts)-1]
			last.pieces = append(last.pieces, i)
		case eventNames[model.EventReasoningEncrypted]:
			e.Delta = a.redactText(e.Delta)
			if last := len(a.parts) - 1; last >= 0 {
				a.parts[last].closed = true
			}
		case eventNames[model.EventToolCallStart]:
			calls[e.Index] = len(a.parts)
			a.parts = append(a.parts, answerPart{kind: e.Type})
		case eventNames[model.EventToolCallDelta], eventNames[model.EventToolCallEnd]:
			if at, ok := calls[e.Index]; ok {
				a.parts[at].pieces = append(a.parts[at].pieces, i)
			}
		case eventNames[model.EventToolCallExtra]:
			e.Delta = string(redact.JSON([]byte(e.Delta), a.redact))
		case eventNames[model.EventServed]:
			e.Name = a.redactText(e.Name)
		default:
			e.Delta = a.redactText(e.Delta)
		}
	}
}

// redactPieces redacts the joined text of events. If that changes it, the first event gets
// the text, and the others get none: they still separate parts.
func (a *answerPieces) redactPieces(pieces []int, clean func(string) string) {
	var joined string
	for _, i := range pieces {
		joined += a.events[i].text()
	}
	text := clean(joined)
	if text == joined {
		return
	}
	for _, i := range pieces {
		a.events[i].setText(text)
		text = ""
	}
}
