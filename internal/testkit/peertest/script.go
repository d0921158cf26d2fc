package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// The methods of the protocol over JSON-RPC.
const (
	MethodSend      = "SendMessage"
	MethodStream    = "SendStreamingMessage"
	MethodSubscribe = "SubscribeToTask"
	MethodGet       = "GetTask"
	MethodCancel    = "CancelTask"
)

// Request is a call received by a scripted peer.
type Request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Header http.Header
	Ctx    context.Context //nolint:containedctx // that of the request
}

// Message returns the message that a call sent.
func (c *Request) Message(t testing.TB) *a2a.Message {
	t.Helper()
	var params a2a.SendMessageRequest
	if err := json.Unmarshal(c.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Message
}

// Reply answers a call.
type Reply func(w http.ResponseWriter, c *Request)

// Script is a peer that answers the calls of each method with scripted replies, in order. The last
// reply is repeated.
type Script struct {
	*Host

	Mu      sync.Mutex
	Replies map[string][]Reply
	calls   []*Request
}

// NewScript returns a peer that answers the calls of each method with the replies.
func NewScript(t testing.TB, replies map[string][]Reply) *Script {
	t.Helper()
	s := &Script{Host: NewHost(t), Replies: replies}
	s.Answer(nil, s.serveCall)
	return s
}

func (s *Script) serveCall(w http.ResponseWriter, r *http.Request) {
	c := &Request{Header: r.Header, Ctx: r.Context()}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice a client's disconnect
	s.Mu.Lock()
	s.calls = append(s.calls, c)
	next := s.Replies[c.Method]
	if len(next) > 1 {
		s.Replies[c.Method] = next[1:]
	}
	s.Mu.Unlock()
	if len(next) == 0 {
		Fault(-32601, "method not found")(w, c)
		return
	}
	next[0](w, c)
}

// Got returns the calls of a method so far.
func (s *Script) Got(method string) []*Request {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var list []*Request
	for _, c := range s.calls {
		if c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

// Result answers with one result.
func Result(v any) Reply {
	return func(w http.ResponseWriter, _ *Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, Envelope("result", v))
	}
}

// Fault answers with a protocol error.
func Fault(code int, message string) Reply {
	return func(w http.ResponseWriter, _ *Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, Envelope("error", map[string]any{"code": code, "message": message}))
	}
}

// Envelope returns a JSON-RPC answer with one field.
func Envelope(field string, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%q:%s}`, SameID, field, data)
}

// Answers answers with an HTTP status.
func Answers(code int, headers ...string) Reply {
	return func(w http.ResponseWriter, _ *Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// StreamOf answers with a stream of events, and closes it.
func StreamOf(events ...a2a.Event) Reply {
	return func(w http.ResponseWriter, _ *Request) { SendEvents(w, events...) }
}

// CutStream answers with a stream of events, and breaks the connection.
func CutStream(events ...a2a.Event) Reply {
	return func(w http.ResponseWriter, _ *Request) {
		SendEvents(w, events...)
		panic(http.ErrAbortHandler)
	}
}

// OpenStream answers with a stream of events that stays open until the client disconnects.
func OpenStream(events ...a2a.Event) Reply {
	return func(w http.ResponseWriter, c *Request) {
		SendEvents(w, events...)
		<-c.Ctx.Done()
	}
}

// Hang does not answer before the client disconnects.
func Hang(_ http.ResponseWriter, c *Request) { <-c.Ctx.Done() }

// Broken breaks the connection without an answer.
func Broken(http.ResponseWriter, *Request) { panic(http.ErrAbortHandler) }

// SendEvents writes a stream of events.
func SendEvents(w http.ResponseWriter, events ...a2a.Event) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", Envelope("result", a2a.StreamResponse{Event: ev}))
	}
	_ = http.NewResponseController(w).Flush()
}

// Sent is the result of SendMessage.
func Sent(ev a2a.Event) Reply { return Result(a2a.StreamResponse{Event: ev}) }

// The ids of the task in scripts.
const (
	TaskID    = a2a.TaskID("task-1")
	ContextID = "context-1"
)

// Task returns the task in a state, with one text artifact.
func Task(state a2a.TaskState, text string) *a2a.Task {
	t := &a2a.Task{ID: TaskID, ContextID: ContextID, Status: a2a.TaskStatus{State: state}}
	if text != "" {
		t.Artifacts = []*a2a.Artifact{{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
	}
	return t
}

// Turned returns a status event with the agent's text.
func Turned(state a2a.TaskState, text string) *a2a.TaskStatusUpdateEvent {
	ev := &a2a.TaskStatusUpdateEvent{TaskID: TaskID, ContextID: ContextID, Status: a2a.TaskStatus{State: state}}
	if text != "" {
		ev.Status.Message = Said(text)
	}
	return ev
}

// Said returns a message of the agent.
func Said(text string) *a2a.Message {
	return &a2a.Message{ID: "said: " + text, Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}, TaskID: TaskID, ContextID: ContextID}
}

// Chunk returns the event of a piece of an artifact.
func Chunk(id a2a.ArtifactID, more bool, parts ...*a2a.Part) *a2a.TaskArtifactUpdateEvent {
	return &a2a.TaskArtifactUpdateEvent{TaskID: TaskID, ContextID: ContextID, Append: more, Artifact: &a2a.Artifact{ID: id, Parts: parts}}
}

// Words returns the event of further text of the artifact.
func Words(text string) *a2a.TaskArtifactUpdateEvent { return Chunk("a", true, a2a.NewTextPart(text)) }

// The states used by most scripts.
const (
	Working   = a2a.TaskStateWorking
	Completed = a2a.TaskStateCompleted
)

// Extend makes the peer support the delegation extension.
func (s *Script) Extend() {
	s.Answer(func(w http.ResponseWriter, _ *http.Request) {
		card := CardOf(s.URL)
		card.Capabilities.Extensions = []a2a.AgentExtension{a2awire.Declaration()}
		WriteJSON(w, card)
	}, nil)
}
