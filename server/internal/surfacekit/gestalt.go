package surfacekit

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// GestaltError is the body of an error in Gestalt's HTTP protocols.
type GestaltError struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

// WriteGestaltError writes an error of the router. For a missing credential it uses the text that
// clients match.
func WriteGestaltError(w http.ResponseWriter, e *server.Error) {
	message := e.Message
	if e.Status == http.StatusUnauthorized && !strings.Contains(w.Header().Get("WWW-Authenticate"), "error=") {
		message = "missing authorization"
	}
	_ = server.WriteJSON(w, e.Status, GestaltError{message, e.Code}) // a client that is gone needs no answer
}

// WriteGestaltFailure writes an error of a handler, and records its code for the audit log.
func WriteGestaltFailure(w http.ResponseWriter, r *http.Request, f *server.Failure) {
	if f.Retry {
		w.Header().Set("Retry-After", "1")
	}
	code := cmp.Or(f.Code, "internal")
	server.NoteAudit(r.Context(), zap.String("error", code))
	_ = server.WriteJSON(w, f.Status, GestaltError{f.Message, code}) // a client that is gone needs no answer
}

// CollectPages fills a list from pages that begin at a cursor. read adds the records of a page to the
// list and returns the next cursor, which is empty at the end.
func CollectPages[T any](after string, limit int, read func(list []T, page service.Page) ([]T, string, error)) (list []T, next string, err error) {
	for list, next = []T{}, after; len(list) < limit; {
		list, next, err = read(list, service.Page{After: next, Limit: min(limit-len(list), service.MaxPage)})
		if err != nil || next == "" {
			return list, "", err
		}
	}
	return list, next, nil
}

// EventReader turns the log of a turn into the events of Gestalt's protocols. It reads the log from
// its beginning, so that the numbers are always the same.
type EventReader struct {
	display.Reader
	// After is the last event that the client has seen.
	After uint64
	// Over is set once the turn's last event has been reached.
	Over bool
}

// ReadRecord returns the events for a record that the client has not seen.
func (r *EventReader) ReadRecord(record *event.Record) ([]display.Event, error) {
	events, err := r.Read(record)
	return r.unseen(events), err
}

// ReadEnd returns the last event of a turn whose log lacks its end.
func (r *EventReader) ReadEnd(t *service.Turn) ([]display.Event, error) {
	if r.Over || t.Outcome == nil {
		return nil, nil
	}
	events, err := r.ReadOutcome(t.FinishedAt, t.Outcome)
	return r.unseen(events), err
}

func (r *EventReader) unseen(events []display.Event) []display.Event {
	for len(events) > 0 && events[0].Seq <= r.After {
		r.Over = r.Over || events[0].Terminal()
		events = events[1:]
	}
	for i := range events {
		r.Over = r.Over || events[i].Terminal()
	}
	return events
}

// List returns up to limit of the stored events. read returns the records of the log after one.
func (r *EventReader) List(t *service.Turn, limit int, read func(after uint64) ([]event.Record, error)) ([]display.Event, error) {
	var list []display.Event
	for seen := uint64(0); len(list) < limit; {
		records, err := read(seen)
		if err != nil {
			return nil, err
		}
		for i := range records {
			events, err := r.ReadRecord(&records[i])
			if err != nil {
				return nil, err
			}
			list, seen = append(list, events...), records[i].Seq
		}
		if len(records) == 0 {
			last, err := r.ReadEnd(t)
			if err != nil {
				return nil, err
			}
			list = append(list, last...)
			break
		}
	}
	return list[:min(limit, len(list))], nil
}

// The types of interactions in Gestalt's protocols.
const (
	typeApproval      = "approval"
	typeClarification = "clarification"
	typeInput         = "input"
)

// Asked is how Gestalt's protocols show an interaction.
type Asked struct {
	Type, Title string
	Request     AskedRequest
}

// AskedRequest has the details that a program needs to answer.
type AskedRequest struct {
	Tool           string          `json:"tool,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	Parameters     json.RawMessage `json:"parameters,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
}

// ShowRequest shows the request of an interaction.
func ShowRequest(r *interaction.Request) Asked {
	a := Asked{Request: AskedRequest{r.Tool, r.CallID, r.Arguments, r.Parameters, r.ResponseSchema}}
	switch r.Action {
	case tools.ActionAsk:
		a.Type, a.Title = typeClarification, "Question"
	case tools.ActionAuthorize:
		a.Type, a.Title = typeInput, "Sign in"
	default:
		a.Type, a.Title = typeApproval, "Approve "+r.Tool
	}
	if r.Kind == interaction.KindInput {
		a.Type = typeInput
	}
	if r.Title != "" {
		a.Title = r.Title
	}
	return a
}

// AnswerObject returns the answer in a resolution: the whole object or, if the request does not
// expect it, the first of the single values that it expects.
func AnswerObject(ctx context.Context, request *interaction.Request, whole json.RawMessage, values ...json.RawMessage) interaction.Answer {
	answer := interaction.Answer{Target: request.ID, Action: interaction.Resume, Result: whole}
	for _, result := range append([]json.RawMessage{whole}, values...) {
		one := answer
		if one.Result = result; interaction.Check(ctx, request, &one) == nil {
			return one
		}
	}
	return answer // the service rejects a wrong answer
}
