package responses

import (
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// Response is a segment of a run in the client's form.
type Response struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	CreatedAt   int64              `json:"created_at"`
	CompletedAt *int64             `json:"completed_at"`
	Status      string             `json:"status"`
	Error       *Failure           `json:"error"`
	Incomplete  *incompleteDetails `json:"incomplete_details"`
	Model       string             `json:"model"`
	Output      []*run.Item        `json:"output"`
	Usage       *usage             `json:"usage"`
	run.Echo
}

// DeletedView is the response to a deletion.
type DeletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// Failure is why a response failed.
type Failure struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type usage struct {
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

func usageOf(u event.Usage) *usage {
	v := &usage{Input: u.Input, Output: u.Output, Total: u.Total()}
	v.InputDetails.Cached, v.InputDetails.Written, v.OutputDetails.Reasoning = u.CacheRead, u.CacheWrite, u.Reasoning
	return v
}

// newResponse returns the current state of the segment.
func newResponse(a *run.Answer) *Response {
	r := begunResponse(a)
	e, items := a.Over(), a.Items
	switch {
	case e != nil:
		items = e.Items
		r.setEnd(e)
	case a.Turn.Status == service.Pending && a.Turn.StartedAt.IsZero():
		r.Status = run.StateQueued
	case a.Segment != a.Want:
		items = nil
	}
	r.Output = append(r.Output, items...)
	return r
}

// begunResponse returns the segment in its initial state.
func begunResponse(a *run.Answer) *Response {
	r := &Response{
		ID: run.AnswerID(a.Turn.ID, a.Want), Object: "response", CreatedAt: a.Turn.CreatedAt.Unix(), Status: run.StateRunning, Model: a.Label,
		Output: []*run.Item{},
	}
	if a.Echo != nil {
		r.Echo = *a.Echo
	}
	if a.Want > 0 {
		r.PreviousResponseID = new(run.AnswerID(a.Turn.ID, a.Want-1))
	}
	return r
}

// setEnd sets the fields of an ended response.
func (r *Response) setEnd(e *run.Ending) {
	r.Usage = usageOf(e.Usage)
	r.Status = run.StateCompleted
	if !e.At.IsZero() {
		r.CompletedAt = new(e.At.Unix())
	}
	if e.Finish == nil {
		return
	}
	why := &e.Finish.Termination
	switch status := why.Status(); {
	case status == event.StatusCanceled:
		r.Status = run.StateCanceled
	case why.Code == string(model.ContentFiltered), status == event.StatusSucceeded && e.Finish.FinishReason == model.FinishContentFilter:
		r.Status, r.Incomplete = run.StateIncomplete, &incompleteDetails{"content_filter"}
	case why.Code == string(model.Truncated):
		r.Status, r.Incomplete = run.StateIncomplete, &incompleteDetails{"max_output_tokens"}
	case status != event.StatusSucceeded:
		r.Status, r.Error = run.StateFailed, responseErrorOf(why)
	case e.Finish.FinishReason == model.FinishMaxTokens:
		r.Status, r.Incomplete = run.StateIncomplete, &incompleteDetails{"max_output_tokens"}
	}
	if r.Status != run.StateCompleted && r.Status != run.StateIncomplete {
		r.CompletedAt = nil
	}
}

// responseErrorOf returns the error of a failed response, with the vendor's codes.
func responseErrorOf(why *event.Termination) *Failure {
	e := &Failure{Code: "server_error", Type: run.TypeServer, Message: surfacekit.StatusMessage(why, false)}
	switch why.Code {
	case string(model.RateLimited), string(model.Overloaded):
		e.Code, e.Type = "rate_limit_exceeded", run.TypeRate
	case string(model.InvalidRequest), string(model.ContextOverflow):
		e.Code, e.Type = "invalid_prompt", run.TypeInvalid
	}
	return e
}

// Stream writes a response as numbered events.
type Stream struct {
	answer *run.Answer
	// next is the number of the next event, and after the number of the client's last event; -1
	// for none.
	next, after int
}

// NewStream returns the stream of a response after an event; after is -1 for the whole stream.
func NewStream(a *run.Answer, after int) *Stream {
	return &Stream{answer: a, after: after}
}

// object is an event without its type and number.
type object map[string]any

// writeEvent writes an event, unless the client has it.
func (s *Stream) writeEvent(kind string, fields object) {
	number := s.next
	s.next++
	if number <= s.after {
		return
	}
	fields["sequence_number"] = number
	s.answer.Out.WriteString("event: " + kind + "\n")
	s.answer.WriteEvent(kind, fields)
}

// writeItemEvent writes an event about an item.
func (s *Stream) writeItemEvent(i *run.Item, kind string, fields object) {
	fields["item_id"], fields["output_index"] = i.ID, i.Index
	s.writeEvent(kind, fields)
}

// Begin writes the events that begin a response.
func (s *Stream) Begin() {
	r := begunResponse(s.answer)
	if r.Background {
		r.Status = run.StateQueued
	}
	s.writeEvent("response.created", object{"response": r})
	if r.Background {
		s.writeEvent("response.queued", object{"response": r})
	}
	begun := *r
	begun.Status = run.StateRunning
	s.writeEvent("response.in_progress", object{"response": &begun})
}

// Add writes the events that begin an item.
func (s *Stream) Add(i *run.Item) {
	s.writeEvent("response.output_item.added", object{"output_index": i.Index, "item": i.View(false)})
	switch i.Type {
	case run.ItemMessage:
		s.writeItemEvent(i, "response.content_part.added", object{"content_index": 0, "part": run.OutputText("")})
	case run.ItemThought:
		s.writeItemEvent(i, "response.reasoning_summary_part.added", object{"summary_index": 0, "part": run.SummaryText("")})
	case run.ItemTool:
		s.writeItemEvent(i, "response.mcp_call.in_progress", object{})
	}
}

// Text writes a part of a text.
func (s *Stream) Text(i *run.Item, delta string) {
	if i.Type == run.ItemThought {
		s.writeItemEvent(i, "response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": delta})
		return
	}
	s.writeItemEvent(i, "response.output_text.delta", object{"content_index": 0, "delta": delta, "logprobs": []string{}})
}

// Done writes the events that end an item.
func (s *Stream) Done(i *run.Item) {
	text := string(i.Text)
	switch i.Type {
	case run.ItemMessage:
		s.writeItemEvent(i, "response.output_text.done", object{"content_index": 0, "text": text, "logprobs": []string{}})
		s.writeItemEvent(i, "response.content_part.done", object{"content_index": 0, "part": run.OutputText(text)})
	case run.ItemThought:
		s.writeItemEvent(i, "response.reasoning_summary_text.done", object{"summary_index": 0, "text": text})
		s.writeItemEvent(i, "response.reasoning_summary_part.done", object{"summary_index": 0, "part": run.SummaryText(text)})
	case run.ItemFunction:
		s.writeItemEvent(i, "response.function_call_arguments.delta", object{"delta": i.Arguments})
		s.writeItemEvent(i, "response.function_call_arguments.done", object{"arguments": i.Arguments, "name": i.Name})
	case run.ItemTool:
		s.writeItemEvent(i, "response.mcp_call_arguments.delta", object{"delta": i.Arguments})
		s.writeItemEvent(i, "response.mcp_call_arguments.done", object{"arguments": i.Arguments})
		s.writeItemEvent(i, "response.mcp_call."+i.Status, object{})
	}
	s.writeEvent("response.output_item.done", object{"output_index": i.Index, "item": i})
}

// End writes the event that ends the response.
func (s *Stream) End(*run.Ending) {
	r := newResponse(s.answer)
	kind := "response." + r.Status
	if r.Status == run.StateCanceled { // which has no event
		kind = "response.incomplete"
	}
	s.writeEvent(kind, object{"response": r})
}

// Fail writes an error in the form that all clients recognize.
func (s *Stream) Fail(f *server.Failure) {
	d := run.NewErrorBody(f).Error
	s.after = -1
	s.writeEvent("error", object{"code": d.Code, "message": d.Message, "param": d.Param, "error": d})
}
