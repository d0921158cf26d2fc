package openai

import (
	"bytes"
	"encoding/json"
)

// responseStream writes a response as events, each with its number in the life of the
// response.
type responseStream struct {
	answer *answer
	out    *bytes.Buffer
	// next is the number of the next event, and after that of the last one that the client
	// has; -1 for none.
	next, after int
}

func newResponseStream(a *answer, after int) *responseStream {
	return &responseStream{answer: a, after: after}
}

func (s *responseStream) writeTo(b *bytes.Buffer) { s.out = b }

// object is an event without its type and number.
type object map[string]any

// event writes an event, unless the client has it.
func (s *responseStream) event(kind string, fields object) {
	number := s.next
	s.next++
	if number <= s.after {
		return
	}
	fields["type"], fields["sequence_number"] = kind, number
	data, err := json.Marshal(fields)
	if err != nil {
		return // not reached: texts, numbers and items
	}
	s.out.WriteString("event: ")
	s.out.WriteString(kind)
	s.out.WriteString("\ndata: ")
	s.out.Write(data)
	s.out.WriteString("\n\n")
}

// of writes an event about an item.
func (s *responseStream) of(i *item, kind string, fields object) {
	fields["item_id"], fields["output_index"] = i.id, i.index
	s.event(kind, fields)
}

func (s *responseStream) begin() {
	r := s.answer.begunResponse()
	if r.Background {
		r.Status = stateQueued
	}
	s.event("response.created", object{"response": r})
	if r.Background {
		s.event("response.queued", object{"response": r})
	}
	begun := *r
	begun.Status = stateRunning
	s.event("response.in_progress", object{"response": &begun})
}

func (s *responseStream) add(i *item) {
	s.event("response.output_item.added", object{"output_index": i.index, "item": i.view(false)})
	switch i.kind {
	case itemMessage:
		s.of(i, "response.content_part.added", object{"content_index": 0, "part": outputText("")})
	case itemThought:
		s.of(i, "response.reasoning_summary_part.added", object{"summary_index": 0, "part": summaryText("")})
	case itemTool:
		s.of(i, "response.mcp_call.in_progress", object{})
	}
}

func (s *responseStream) text(i *item, delta string) {
	if i.kind == itemThought {
		s.of(i, "response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": delta})
		return
	}
	s.of(i, "response.output_text.delta", object{"content_index": 0, "delta": delta, "logprobs": []string{}})
}

func (s *responseStream) done(i *item) {
	text := string(i.text)
	switch i.kind {
	case itemMessage:
		s.of(i, "response.output_text.done", object{"content_index": 0, "text": text, "logprobs": []string{}})
		s.of(i, "response.content_part.done", object{"content_index": 0, "part": outputText(text)})
	case itemThought:
		s.of(i, "response.reasoning_summary_text.done", object{"summary_index": 0, "text": text})
		s.of(i, "response.reasoning_summary_part.done", object{"summary_index": 0, "part": summaryText(text)})
	case itemFunction:
		s.of(i, "response.function_call_arguments.delta", object{"delta": i.arguments})
		s.of(i, "response.function_call_arguments.done", object{"arguments": i.arguments, "name": i.name})
	case itemTool:
		s.of(i, "response.mcp_call_arguments.delta", object{"delta": i.arguments})
		s.of(i, "response.mcp_call_arguments.done", object{"arguments": i.arguments})
		s.of(i, "response.mcp_call."+i.status, object{})
	}
	s.event("response.output_item.done", object{"output_index": i.index, "item": i})
}

func (s *responseStream) end(*ending) {
	r, err := s.answer.response()
	if err != nil {
		return // not reached: items can be encoded
	}
	kind := "response." + r.Status
	if r.Status == stateCanceled { // which has no event
		kind = "response.incomplete"
	}
	s.event(kind, object{"response": r})
}

// fail writes an error in the form that all clients take for one.
func (s *responseStream) fail(err *requestError) {
	d := err.detail()
	s.after = -1
	s.event("error", object{"code": d.Code, "message": d.Message, "param": d.Param, "error": d})
}
