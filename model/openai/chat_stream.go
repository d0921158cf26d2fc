package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chatStream translates the stream of Chat Completions. Usage arrives after the finish reason, so
// the answer is complete only at the end of the stream.
type chatStream struct {
	calls   calls
	byIndex map[vendorhttp.Number]*call
	last    *call
	begun   bool
	// choice is the index of the first choice received, the only one used; -1 before it.
	choice vendorhttp.Number
	// had are the kinds of content in the deltas so far.
	had    contentKinds
	back   returnedFields
	reason string
	usage  *model.Usage
}

// contentKinds are the kinds of content in an answer.
type contentKinds struct{ text, reasoning, calls bool }

// add adds the kinds of a delta.
func (c *contentKinds) add(d *chatDelta) {
	c.text = c.text || d.Content.text != "" || d.Refusal != ""
	c.reasoning = c.reasoning || d.Content.thought != "" || d.ReasoningContent.text != "" || d.Reasoning != "" || d.ReasoningText != ""
	c.calls = c.calls || slices.ContainsFunc(d.ToolCalls, func(p chatPiece) bool { return !p.isEmpty() }) ||
		d.FunctionCall != nil && *d.FunctionCall != chatCallPiece{}
}

func newChatStream(req *model.Request, provider string) *chatStream {
	s := &chatStream{calls: newCalls(req), byIndex: map[vendorhttp.Number]*call{}, choice: -1, back: returnedFields{provider: provider}}
	s.calls.provider = provider
	return s
}

// Translate translates one event.
func (s *chatStream) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (bool, error) {
	if string(ev.Name) == "error" {
		return false, errorEvent(ev.Data)
	}
	var chunk chatChunk
	if err := vendorhttp.DecodeEvent(ev.Data, &chunk); err != nil {
		return false, err
	}
	if err := chunk.failure(); err != nil {
		return false, err
	}
	if chunk.Object == "error" {
		return false, errorEvent(ev.Data)
	}
	if !s.begun && chunk.ID != "" {
		s.begun = true
		s.calls.seed = string(chunk.ID) + "\x00" + s.calls.seed
	}
	s.countUsage(chunk.Usage.Value)
	s.countUsage(chunk.Groq.Value.Usage.Value)
	if s.choice < 0 && len(chunk.Choices) > 0 {
		first := slices.MinFunc(chunk.Choices, func(a, b chatChoice) int { return cmp.Compare(a.Index, b.Index) })
		s.choice = max(first.Index, 0)
	}
	for i := range chunk.Choices {
		if chunk.Choices[i].Index == s.choice { // only one was requested
			s.addChoice(&chunk.Choices[i], out)
		}
	}
	out.Unknown = len(chunk.Choices) == 0 && chunk.Usage.Value == nil
	if ev.Last && s.reason == "" && (len(out.Events) > 0 || bytes.Contains(ev.Data, []byte(`"choices":`))) {
		s.reason = string(model.FinishStop)
	}
	return false, nil
}

// countUsage keeps a usage report. Some servers repeat an empty one at the end.
func (s *chatStream) countUsage(u *chatUsage) {
	if u == nil {
		return
	}
	if usage := u.toUsage(); s.usage == nil || *usage != (model.Usage{}) {
		s.usage = usage
	}
}

func (s *chatStream) addChoice(c *chatChoice, out *vendorhttp.Batch) {
	s.countUsage(c.Usage.Value)
	if c.Delta.Content.text == "" {
		c.Delta.Content.text = vendorhttp.Content(c.Text)
	}
	if len(c.Delta.ToolCalls) == 0 {
		c.Delta.ToolCalls = c.ToolCalls
	}
	c.Delta.normalize()
	s.had.add(&c.Delta)
	s.addDelta(&c.Delta, out)
	if c.Message != nil {
		s.addDelta(s.missingFrom(c.Message), out)
	}
	if reason := cmp.Or(c.FinishReason, c.CamelReason); reason != "" {
		s.reason = string(reason)
	}
}

// missingFrom returns the parts of a complete message that the deltas lacked.
func (s *chatStream) missingFrom(message *chatDelta) *chatDelta {
	missing := *message
	missing.normalize()
	if s.had.text {
		missing.Content.text, missing.Refusal = "", ""
	}
	if s.had.reasoning {
		missing.Content.thought, missing.Reasoning, missing.ReasoningText, missing.ReasoningContent = "", "", "", foundText{}
	}
	if s.had.calls {
		missing.ToolCalls, missing.FunctionCall = nil, nil
	}
	return &missing
}

// addDelta adds a piece of the answer.
func (s *chatStream) addDelta(d *chatDelta, out *vendorhttp.Batch) {
	s.back.add(d)
	switch {
	case d.ReasoningContent.text != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningContent, Delta: string(d.ReasoningContent.text)})
	case d.Reasoning != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningField, Delta: string(d.Reasoning)})
	case d.ReasoningText != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningText, Delta: string(d.ReasoningText)})
	case d.Content.thought != "":
		out.AddDelta(model.EventReasoning, string(d.Content.thought))
	case !s.had.reasoning:
		if text := detailsText(d.ReasoningDetails); text != "" {
			out.Add(model.Event{Type: model.EventReasoning, Name: reasoningDetails, Delta: text})
		}
	}
	out.AddDelta(model.EventText, string(d.Content.text))
	out.AddDelta(model.EventText, string(d.Refusal))
	for i := range d.ToolCalls {
		s.addPiece(&d.ToolCalls[i], out)
	}
	if d.FunctionCall != nil {
		s.addPiece(&chatPiece{Function: *d.FunctionCall}, out)
	}
}

func (r *returnedFields) add(d *chatDelta) {
	r.emptyReasoning = r.emptyReasoning || d.ReasoningContent.found
	r.details.add(d.ReasoningDetails)
	r.specific.add(d.ProviderSpecificFields)
	r.blocks.add(d.ThinkingBlocks)
	r.opaque.add(d.ReasoningOpaque)
}

func (s *chatStream) addPiece(p *chatPiece, out *vendorhttp.Batch) {
	p.normalize()
	if p.isEmpty() {
		return
	}
	k := s.callOf(p)
	s.last = k
	k.fields.add(&p.callFields)
	s.calls.describeCall(k, string(p.ID), string(p.Function.Name), out)
	s.calls.addArguments(k, string(p.Function.Arguments), out)
	k.received.add(string(p.Function.Arguments))
}

// callOf returns the call that a piece belongs to. Servers differ: some leave
// out the index, some give all calls the same.
func (s *chatStream) callOf(p *chatPiece) *call {
	k := s.last
	if p.Index != nil && (s.byIndex[*p.Index] != nil || !s.isTail(p)) {
		k = s.byIndex[*p.Index]
	}
	if k == nil || p.beginsAfter(k) && !s.continuesName(p, k) {
		k = s.calls.openCall()
	}
	if k.vendorID == "" {
		k.vendorID = string(p.ID)
	}
	if p.Index != nil {
		s.byIndex[*p.Index] = k
	}
	return k
}

// continuesName reports whether a piece has a part of the call's name, or the whole name when the
// call has its beginning.
func (s *chatStream) continuesName(p *chatPiece, k *call) bool {
	name := string(p.Function.Name)
	if s.calls.continuesName(k, name) {
		return true
	}
	sameID := p.ID == "" || k.vendorID == "" || string(p.ID) == k.vendorID
	return sameID && s.calls.repeatsName(k, name)
}

// isTail reports whether a piece at an unknown index can only be the tail of the last
// call's arguments.
func (s *chatStream) isTail(p *chatPiece) bool {
	return p.ID == "" && p.Function.Name == "" && s.last != nil && s.last.arguments.IsOpen()
}

// beginsAfter reports whether a piece that seems to belong to call k begins another call. Pieces
// that only continue a call have no name, or repeat it.
func (p *chatPiece) beginsAfter(k *call) bool {
	name := string(p.Function.Name)
	switch {
	case name == "" || k.name == "":
		return false
	case name != k.name || p.isWholeAfter(k):
		return true
	case k.arguments.IsOpen(): // some servers repeat the name, or invent an ID, for each piece
		return false
	case p.ID != "" && k.vendorID != "" && string(p.ID) != k.vendorID:
		return p.Index == nil || k.received.length > 0 || p.Function.Arguments == ""
	default:
		return p.Index == nil && p.ID == ""
	}
}

// isWholeAfter reports whether a piece has the complete arguments of a call other than k, whose
// arguments are also complete.
func (p *chatPiece) isWholeAfter(k *call) bool {
	arguments := string(p.Function.Arguments)
	if !k.arguments.IsWhole() || k.received.length <= len("{}") || !json.Valid([]byte(arguments)) || arguments[0] != '{' {
		return false
	}
	return k.received.length != len(arguments) || !k.received.isBeginningOf(arguments)
}

// End completes the answer if its finish reason is known. An unfinished stream then loses only the
// usage. Some servers give no reason, only the end mark.
func (s *chatStream) End(marked bool, out *vendorhttp.Batch) (bool, error) {
	reason, err := s.finishReason()
	if reason == "" && marked {
		reason = model.FinishStop
	}
	if reason == "" || err != nil {
		return false, err
	}
	if reason == model.FinishStop || reason == model.FinishToolCalls {
		if err := s.calls.endAll(out); err != nil {
			return false, err
		}
		reason = model.FinishStop
		if s.calls.anyStarted() {
			reason = model.FinishToolCalls
		}
	}
	s.back.emitFields(s.had.reasoning, out)
	out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: s.usage})
	return true, nil
}

// finishReason returns the finish reason of the answer; empty if it has not ended. Servers use
// various names for a normal end.
func (s *chatStream) finishReason() (model.FinishReason, error) {
	reason := strings.ToLower(s.reason)
	if _, filtered, found := strings.Cut(reason, "function_call_filter: "); found { // Gemini
		reason = filtered
	}
	if reason == "" {
		return "", nil
	}
	if class, ok := abortReasons[reason]; ok {
		text := "the server aborted the answer"
		if reason != "error" {
			text += ": " + reason
		}
		return "", &model.Error{Class: class, Message: text}
	}
	if known, ok := finishReasons[reason]; ok {
		return known, nil
	}
	return model.FinishStop, nil
}
