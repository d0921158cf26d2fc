package openai

import (
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

type response struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	CreatedAt   int64              `json:"created_at"`
	CompletedAt *int64             `json:"completed_at"`
	Status      string             `json:"status"`
	Error       *responseError     `json:"error"`
	Incomplete  *incompleteDetails `json:"incomplete_details"`
	Model       string             `json:"model"`
	Output      []*item            `json:"output"`
	Usage       *responseUsage     `json:"usage"`
	echo
}

type responseError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

func responseUsageOf(u event.Usage) *responseUsage {
	v := &responseUsage{Input: u.Input, Output: u.Output, Total: u.Total()}
	v.InputDetails.Cached, v.InputDetails.Written, v.OutputDetails.Reasoning = u.CacheRead, u.CacheWrite, u.Reasoning
	return v
}

// newResponse returns the segment as it is now.
func newResponse(a *answer) *response {
	r := begunResponse(a)
	e, items := a.over(), a.items
	switch {
	case e != nil:
		items = e.items
		r.setEnd(e)
	case a.turn.Status == service.Pending && a.turn.StartedAt.IsZero():
		r.Status = stateQueued
	case a.Segment != a.want:
		items = nil
	}
	r.Output = append(r.Output, items...)
	return r
}

// begunResponse returns the segment as it begins.
func begunResponse(a *answer) *response {
	r := &response{
		ID: answerID(a.turn.ID, a.want), Object: "response", CreatedAt: a.turn.CreatedAt.Unix(), Status: stateRunning, Model: a.label,
		Output: []*item{},
	}
	if a.Echo != nil {
		r.echo = *a.Echo
	}
	if a.want > 0 {
		previous := answerID(a.turn.ID, a.want-1)
		r.PreviousResponseID = &previous
	}
	return r
}

// setEnd sets the fields of a response that has ended.
func (r *response) setEnd(e *ending) {
	r.Usage = responseUsageOf(e.usage)
	r.Status = stateCompleted
	if !e.at.IsZero() {
		at := e.at.Unix()
		r.CompletedAt = &at
	}
	if e.finish == nil {
		return
	}
	why := &e.finish.Termination
	switch status := why.Status(); {
	case status == event.StatusCanceled:
		r.Status = stateCanceled
	case why.Code == string(model.ContentFiltered), status == event.StatusSucceeded && e.finish.FinishReason == model.FinishContentFilter:
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"content_filter"}
	case why.Code == string(model.Truncated):
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"max_output_tokens"}
	case status != event.StatusSucceeded:
		r.Status, r.Error = stateFailed, responseErrorOf(why)
	case e.finish.FinishReason == model.FinishMaxTokens:
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"max_output_tokens"}
	}
	if r.Status != stateCompleted && r.Status != stateIncomplete {
		r.CompletedAt = nil
	}
}

// responseErrorOf returns the error of a failed response, with the vendor's codes.
func responseErrorOf(why *event.Termination) *responseError {
	e := &responseError{Code: "server_error", Type: typeServer, Message: surfacekit.StatusMessage(why, false)}
	switch why.Code {
	case string(model.RateLimited), string(model.Overloaded):
		e.Code, e.Type = "rate_limit_exceeded", typeRate
	case string(model.InvalidRequest), string(model.ContextOverflow):
		e.Code, e.Type = "invalid_prompt", typeInvalid
	}
	return e
}

// responseStream writes a response as events, each with its number in the life of the
// response.
type responseStream struct {
	answer *answer
	// next is the number of the next event, and after the number of the client's last event; -1
	// for none.
	next, after int
}

func newResponseStream(a *answer, after int) *responseStream {
	return &responseStream{answer: a, after: after}
}

// object is an event without its type and number.
type object map[string]any

// event writes an event, unless the client has it.
func (s *responseStream) event(kind string, fields object) {
	number := s.next
	s.next++
	if number <= s.after {
		return
	}
	fields["sequence_number"] = number
	s.answer.Out.WriteString("event: " + kind + "\n")
	s.answer.WriteEvent(kind, fields)
}

// of writes an event about an item.
func (s *responseStream) of(i *item, kind string, fields object) {
	fields["item_id"], fields["output_index"] = i.ID, i.index
	s.event(kind, fields)
}

func (s *responseStream) begin() {
	r := begunResponse(s.answer)
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
	switch i.Type {
	case itemMessage:
		s.of(i, "response.content_part.added", object{"content_index": 0, "part": outputText("")})
	case itemThought:
		s.of(i, "response.reasoning_summary_part.added", object{"summary_index": 0, "part": summaryText("")})
	case itemTool:
		s.of(i, "response.mcp_call.in_progress", object{})
	}
}

func (s *responseStream) text(i *item, delta string) {
	if i.Type == itemThought {
		s.of(i, "response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": delta})
		return
	}
	s.of(i, "response.output_text.delta", object{"content_index": 0, "delta": delta, "logprobs": []string{}})
}

func (s *responseStream) done(i *item) {
	text := string(i.text)
	switch i.Type {
	case itemMessage:
		s.of(i, "response.output_text.done", object{"content_index": 0, "text": text, "logprobs": []string{}})
		s.of(i, "response.content_part.done", object{"content_index": 0, "part": outputText(text)})
	case itemThought:
		s.of(i, "response.reasoning_summary_text.done", object{"summary_index": 0, "text": text})
		s.of(i, "response.reasoning_summary_part.done", object{"summary_index": 0, "part": summaryText(text)})
	case itemFunction:
		s.of(i, "response.function_call_arguments.delta", object{"delta": i.Arguments})
		s.of(i, "response.function_call_arguments.done", object{"arguments": i.Arguments, "name": i.Name})
	case itemTool:
		s.of(i, "response.mcp_call_arguments.delta", object{"delta": i.Arguments})
		s.of(i, "response.mcp_call_arguments.done", object{"arguments": i.Arguments})
		s.of(i, "response.mcp_call."+i.Status, object{})
	}
	s.event("response.output_item.done", object{"output_index": i.index, "item": i})
}

func (s *responseStream) end(*ending) {
	r := newResponse(s.answer)
	kind := "response." + r.Status
	if r.Status == stateCanceled { // which has no event
		kind = "response.incomplete"
	}
	s.event(kind, object{"response": r})
}

// fail writes an error in the form that all clients take for one.
func (s *responseStream) fail(f *server.Failure) {
	d := newErrorBody(f).Error
	s.after = -1
	s.event("error", object{"code": d.Code, "message": d.Message, "param": d.Param, "error": d})
}
