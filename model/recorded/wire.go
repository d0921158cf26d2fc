package recorded

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
)

// request is the part of a request that is recorded and compared.
type request = model.RequestRecord

// cloneRequest returns a deep copy of the request.
func cloneRequest(req *model.Request) (*model.Request, error) {
	data, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	own := new(model.Request)
	return own, json.Unmarshal(data, own)
}

// stripURL removes user information and query, which may hold credentials, from the URL of a blob.
func stripURL(b *model.Blob) {
	if b.URI == "" {
		return
	}
	u, err := url.Parse(b.URI)
	if err != nil {
		b.URI = "invalid"
		return
	}
	u.User, u.RawQuery, u.ForceQuery = nil, "", false
	b.URI = u.String()
}

// eventNames are the types of events in a file.
var eventNames = map[model.EventType]string{
	model.EventText:               "text",
	model.EventReasoning:          "reasoning",
	model.EventReasoningEncrypted: "reasoning_encrypted",
	model.EventToolCallStart:      "tool_call_start",
	model.EventToolCallDelta:      "tool_call_delta",
	model.EventToolCallEnd:        "tool_call_end",
	model.EventFinish:             "finish",
	model.EventServed:             "served",
	model.EventRetry:              "retry",
	model.EventReset:              "reset",
	model.EventToolCallCancel:     "tool_call_cancel",
	model.EventToolCallExtra:      "tool_call_extra",
}

// event is one event of an answer.
type event struct {
	Type  string `json:"type"`
	Index int    `json:"index,omitempty"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Delta string `json:"delta,omitempty"`
	// Bytes is the delta if it is not valid UTF-8, as when a character was split.
	Bytes  []byte             `json:"delta_bytes,omitempty"`
	Reason model.FinishReason `json:"reason,omitempty"`
	Usage  *model.Usage       `json:"usage,omitempty"`
	Retry  *retry             `json:"retry,omitempty"`
}

type retry struct {
	Attempt int                `json:"attempt"`
	Class   model.ErrorClass   `json:"class"`
	Plan    model.RecoveryPlan `json:"plan,omitempty"`
}

// newEvent returns the event in its recorded form, without the duration of a retry's wait.
func newEvent(ev *model.Event) event {
	e := event{Type: eventNames[ev.Type], Index: ev.Index, ID: ev.ID, Name: ev.Name, Reason: ev.Reason}
	e.setText(ev.Delta)
	if ev.Usage != nil {
		usage := *ev.Usage
		e.Usage = &usage
	}
	if ev.Retry != nil {
		e.Retry = &retry{Attempt: ev.Retry.Attempt, Class: ev.Retry.Class, Plan: ev.Retry.Plan}
	}
	return e
}

// text returns the delta.
func (e *event) text() string { return e.Delta + string(e.Bytes) }

func (e *event) setText(delta string) {
	e.Delta, e.Bytes = delta, nil
	if !utf8.ValidString(delta) {
		e.Delta, e.Bytes = "", []byte(delta)
	}
}

// toModel returns the event in the executor's form.
func (e *event) toModel() (model.Event, error) {
	ev := model.Event{Index: e.Index, ID: e.ID, Name: e.Name, Delta: e.text(), Reason: e.Reason}
	for typ, name := range eventNames {
		if name == e.Type {
			ev.Type = typ
		}
	}
	if ev.Type == 0 {
		return model.Event{}, fmt.Errorf("unknown event type %q", e.Type)
	}
	if e.Usage != nil {
		usage := *e.Usage
		ev.Usage = &usage
	}
	switch {
	case e.Retry != nil:
		ev.Retry = &model.Retry{Attempt: e.Retry.Attempt, Class: e.Retry.Class, Plan: e.Retry.Plan}
	case ev.Type == model.EventRetry:
		return model.Event{}, fmt.Errorf("an event of type %q needs the field retry", e.Type)
	}
	return ev, nil
}

// failure is the error that ended an answer.
type failure struct {
	Class        model.ErrorClass `json:"class"`
	Provider     string           `json:"provider,omitempty"`
	Message      string           `json:"message,omitempty"`
	Status       int              `json:"status,omitempty"`
	RetryAfterMS int64            `json:"retry_after_ms,omitempty"`
	Usage        *model.Usage     `json:"usage,omitempty"`
}

func newFailure(err *model.Error) *failure {
	return &failure{
		Class: err.Class, Provider: err.Provider, Message: err.Message, Status: err.Status,
		RetryAfterMS: err.RetryAfter.Milliseconds(), Usage: err.Usage,
	}
}

func (f *failure) toModel() *model.Error {
	return &model.Error{
		Class: f.Class, Provider: f.Provider, Message: f.Message, Status: f.Status,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond, Usage: f.Usage,
	}
}
