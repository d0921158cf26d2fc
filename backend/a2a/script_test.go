package a2abackend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The methods of the protocol over JSON-RPC.
const (
	methodSend      = "SendMessage"
	methodStream    = "SendStreamingMessage"
	methodSubscribe = "SubscribeToTask"
	methodGet       = "GetTask"
	methodCancel    = "CancelTask"
)

// request is a call that a scripted peer got.
type request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	header http.Header
	ctx    context.Context //nolint:containedctx // that of the request
}

// message returns the message that a call sent.
func (c *request) message(t *testing.T) *a2a.Message {
	t.Helper()
	var params a2a.SendMessageRequest
	if err := json.Unmarshal(c.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Message
}

// reply answers a call.
type reply func(w http.ResponseWriter, c *request)

// script is a peer that answers the calls of each method as it is told, one after
// another. The last answer is given again and again.
type script struct {
	*host

	mu      sync.Mutex
	replies map[string][]reply
	calls   []*request
}

func newScript(t *testing.T, replies map[string][]reply) *script {
	t.Helper()
	s := &script{host: newHost(t), replies: replies}
	s.answer(nil, s.serve)
	return s
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	c := &request{header: r.Header, ctx: r.Context()}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client goes away
	s.mu.Lock()
	s.calls = append(s.calls, c)
	next := s.replies[c.Method]
	if len(next) > 1 {
		s.replies[c.Method] = next[1:]
	}
	s.mu.Unlock()
	if len(next) == 0 {
		fault(-32601, "method not found")(w, c)
		return
	}
	next[0](w, c)
}

// got returns the calls of a method so far.
func (s *script) got(method string) []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*request
	for _, c := range s.calls {
		if c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

// result answers with one result.
func result(v any) reply {
	return func(w http.ResponseWriter, _ *request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, envelope("result", v))
	}
}

// fault answers with an error of the protocol.
func fault(code int, message string) reply {
	return func(w http.ResponseWriter, _ *request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, envelope("error", map[string]any{"code": code, "message": message}))
	}
}

func envelope(field string, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%q:%s}`, sameID, field, data)
}

// answers answers with a status of HTTP.
func answers(code int, headers ...string) reply {
	return func(w http.ResponseWriter, _ *request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// streamOf answers with a stream of events, and closes it.
func streamOf(events ...a2a.Event) reply {
	return func(w http.ResponseWriter, _ *request) { sendEvents(w, events...) }
}

// cutStream answers with a stream of events, and breaks the connection.
func cutStream(events ...a2a.Event) reply {
	return func(w http.ResponseWriter, _ *request) {
		sendEvents(w, events...)
		panic(http.ErrAbortHandler)
	}
}

// openStream answers with a stream of events that stays open until the client
// goes away.
func openStream(events ...a2a.Event) reply {
	return func(w http.ResponseWriter, c *request) {
		sendEvents(w, events...)
		<-c.ctx.Done()
	}
}

func hang(_ http.ResponseWriter, c *request) { <-c.ctx.Done() }

// broken breaks the connection without an answer.
func broken(http.ResponseWriter, *request) { panic(http.ErrAbortHandler) }

func sendEvents(w http.ResponseWriter, events ...a2a.Event) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", envelope("result", a2a.StreamResponse{Event: ev}))
	}
	_ = http.NewResponseController(w).Flush()
}

// sent is the result of SendMessage.
func sent(ev a2a.Event) reply { return result(a2a.StreamResponse{Event: ev}) }

const (
	taskID    = a2a.TaskID("task-1")
	contextID = "context-1"
)

// task returns the task in a state, with one artifact of a text.
func task(state a2a.TaskState, text string) *a2a.Task {
	t := &a2a.Task{ID: taskID, ContextID: contextID, Status: a2a.TaskStatus{State: state}}
	if text != "" {
		t.Artifacts = []*a2a.Artifact{{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
	}
	return t
}

// turned returns the event of a state, with what the agent says of it.
func turned(state a2a.TaskState, text string) *a2a.TaskStatusUpdateEvent {
	ev := &a2a.TaskStatusUpdateEvent{TaskID: taskID, ContextID: contextID, Status: a2a.TaskStatus{State: state}}
	if text != "" {
		ev.Status.Message = said(text)
	}
	return ev
}

func said(text string) *a2a.Message {
	return &a2a.Message{ID: "said: " + text, Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}, TaskID: taskID, ContextID: contextID}
}

// chunk returns the event of a piece of an artifact.
func chunk(id a2a.ArtifactID, more bool, parts ...*a2a.Part) *a2a.TaskArtifactUpdateEvent {
	return &a2a.TaskArtifactUpdateEvent{TaskID: taskID, ContextID: contextID, Append: more, Artifact: &a2a.Artifact{ID: id, Parts: parts}}
}

func words(text string) *a2a.TaskArtifactUpdateEvent { return chunk("a", true, a2a.NewTextPart(text)) }

const (
	working   = a2a.TaskStateWorking
	completed = a2a.TaskStateCompleted
)

// turnHost is what a turn is run with. It keeps what happens.
type turnHost struct {
	mu      sync.Mutex
	events  []event.Data
	kept    []tools.Artifact
	refuse  error
	emitted func(event.Data)
	session
}

// session is the rest of a session.
type session = tools.Session

var _ backend.Host = (*turnHost)(nil)

func (h *turnHost) Emit(data event.Data) {
	h.mu.Lock()
	h.events = append(h.events, data)
	h.mu.Unlock()
	if h.emitted != nil {
		h.emitted(data)
	}
}

func (h *turnHost) Delegate(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
	panic("a turn at a peer delegates nothing")
}

func (h *turnHost) HandOff(context.Context, string) (*spec.Agent, *backend.Environment, error) {
	panic("a turn at a peer is not handed off")
}

func (h *turnHost) Session() tools.Session { return h }

func (h *turnHost) FlushSession() {}

func (h *turnHost) KeepArtifact(a tools.Artifact) (string, error) {
	if h.refuse != nil {
		return "", h.refuse
	}
	h.kept = append(h.kept, a)
	return a.ID, nil
}

// text returns the text that was shown and not taken back.
func (h *turnHost) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	begin := 0 // of the step
	for _, data := range h.events {
		switch d := data.(type) {
		case *event.StepStart:
			begin = b.Len()
		case *event.TextDelta:
			b.WriteString(d.Delta)
		case *event.StreamReset:
			kept := b.String()[:begin]
			b.Reset()
			b.WriteString(kept)
		}
	}
	return b.String()
}

// types returns the kinds of the events.
func (h *turnHost) types() []event.Type {
	h.mu.Lock()
	defer h.mu.Unlock()
	types := make([]event.Type, len(h.events))
	for i, data := range h.events {
		types[i] = data.Type()
	}
	return types
}

// token is what the turns show the peer.
const token = "s3cret-t0ken"

// rig is a turn at a scripted peer.
type rig struct {
	t      *testing.T
	script *script
	remote *remote
	host   *turnHost
	job    *backend.Job
}

func newRig(t *testing.T, replies map[string][]reply) *rig {
	t.Helper()
	s := newScript(t, replies)
	e := s.endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: token}
	e.Timeout = new(spec.Duration(20 * time.Second))
	return &rig{t: t, script: s, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}, job: newJob()}
}

// remoteOf returns the backend of an endpoint that waits for milliseconds where
// it would for seconds.
func remoteOf(t *testing.T, e *spec.Endpoint) *remote {
	t.Helper()
	p := reach(t, e)
	p.options.pollInterval, p.options.maxPollInterval = time.Millisecond, 4*time.Millisecond
	return &remote{peer: p}
}

func newJob() *backend.Job {
	return &backend.Job{
		TurnID: "turn-1", SessionID: "session-1", Agent: &spec.Agent{ID: "far"}, Input: []model.Message{model.User("hello")},
		MaxDepth: 5,
	}
}

// run runs the turn. Its state must be one that can be kept.
func (r *rig) run(ctx context.Context) (*backend.Result, error) {
	r.t.Helper()
	res, err := r.remote.Execute(ctx, r.job, r.host)
	if res == nil {
		r.t.Fatal("there is no result")
	}
	if res.State != nil {
		res.State = stored(r.t, res.State)
	}
	return res, err
}

// stored returns a state as it comes back from a store.
func stored(t *testing.T, s *backend.State) *backend.State {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := backend.DecodeState(data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return back
}

// leave closes the connections of the process.
func (r *rig) leave() {
	if err := r.remote.peer.close(); err != nil {
		r.t.Error(err)
	}
}

// next makes the turn go on from a state, in another process.
func (r *rig) next(state *backend.State, answers ...plugins.Resolution) {
	r.t.Helper()
	state = stored(r.t, state)
	for _, a := range answers {
		if err := state.Resolve(a); err != nil {
			r.t.Fatal(err)
		}
	}
	e := *r.remote.peer.endpoint
	r.leave()
	r.remote = remoteOf(r.t, &e)
	job := *r.job
	job.State = state
	r.job = &job
}

// termination returns how the turn ended.
func termination(res *backend.Result, err error) event.Termination {
	if err != nil {
		return backend.TerminationOf(err)
	}
	return res.Termination
}
