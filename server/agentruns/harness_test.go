package agentruns

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/dispatch/local"
	"github.com/agentruntime/agentruntime/internal/openapitest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

// mouth is a model that does what it is told last:
//
//	say TEXT      says it, word by word
//	think TEXT    thinks first
//	call N        calls the first N tools that it is offered, and says what came of it
//	use A B       calls these tools, one after the other, and says what came of the last
//	again         calls the first tool for as long as it may
//	cut TEXT      is cut off by the output limit
//	fail CLASS    fails
//	hang          says something, and waits
//	recall        says all that it was told
//
// Once it may not call tools any more, it says so.
type mouth struct{}

func (mouth) Vendor() string { return "openai" }

func (mouth) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		order := lastOrder(req.Messages)
		verb, rest, _ := strings.Cut(order, " ")
		var events []model.Event
		reason := model.FinishStop
		switch {
		case req.ToolChoice.Mode == model.ToolsNone:
			events = words("in the end")
		case verb == "again" && len(req.Tools) > 0 || verb == "call" && last.Role != model.RoleTool:
			reason = model.FinishToolCalls
			n := 1
			_, _ = fmt.Sscan(rest, &n)
			for i, offered := range req.Tools[:min(n, len(req.Tools))] {
				events = append(events,
					model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("call%d_%d", len(req.Messages), i), Name: offered.Name},
					model.Event{Type: model.EventToolCallEnd, Index: i, Delta: `{"message":"x"}`})
			}
		case verb == "use" && made(req.Messages) < len(strings.Fields(rest)):
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: fmt.Sprintf("call%d", len(req.Messages)), Name: strings.Fields(rest)[made(req.Messages)]},
				{Type: model.EventToolCallEnd, Delta: `{}`},
			}
		case verb == "call", verb == "use":
			events = append(events, words(resultsOf(last))...)
		case verb == "recall":
			var texts []string
			for i := range req.Messages {
				texts = append(texts, string(req.Messages[i].Role)+": "+req.Messages[i].Text())
			}
			events = append(events, words(strings.Join(texts, " | "))...)
		case verb == "think":
			events = append(append(events, model.Event{Type: model.EventReasoning, Delta: "hm"}), words(rest)...)
		case verb == "cut":
			reason, events = model.FinishMaxTokens, words(rest)
		case verb == "fail":
			yield(model.Event{}, &model.Error{Class: model.ErrorClass(rest), Message: "it went wrong"})
			return
		case verb == "hang":
			if yield(model.Event{Type: model.EventText, Delta: "well"}, nil) {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
			}
			return
		default:
			events = words(rest)
		}
		for _, ev := range append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// lastOrder returns the latest message of the user that orders something, which
// those of the runtime do not.
func lastOrder(messages []model.Message) string {
	last := ""
	for i := range messages {
		if verb, _, _ := strings.Cut(messages[i].Text(), " "); messages[i].Role == model.RoleUser && verbs[verb] {
			last = messages[i].Text()
		}
	}
	return last
}

// made returns how many answers with calls there are.
func made(messages []model.Message) int {
	n := 0
	for i := range messages {
		if messages[i].HasToolCalls() {
			n++
		}
	}
	return n
}

var verbs = map[string]bool{"use": true, "say": true, "think": true, "call": true, "again": true, "cut": true, "fail": true, "hang": true, "recall": true}

func resultsOf(m *model.Message) string {
	var texts []string
	for i := range m.Parts {
		texts = append(texts, model.PartsText(m.Parts[i].ToolResult.Content))
	}
	return strings.Join(texts, ", ")
}

func words(text string) []model.Event {
	var events []model.Event
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" {
			events = append(events, model.Event{Type: model.EventText, Delta: word})
		}
	}
	return events
}

// who are the callers of the tests: alice and bob are of different tenants, ann is
// of alice's, eve may use no agent, rob and
// al, who is alice with another key, only one of them, and joe nothing that needs a scope.
type who struct{}

func (who) Authenticate(r *http.Request) (*server.Principal, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p := &server.Principal{Caller: runtime.Caller{Tenant: name + "s", Subject: name}, KeyID: name}
	switch name {
	case "alice", "bob":
	case "ann":
		p.Caller.Tenant = "alices"
	case "eve":
		p.Agents = []string{}
	case "rob":
		p.Agents = []string{"narrow"}
	case "al":
		p.Caller, p.Agents = runtime.Caller{Tenant: "alices", Subject: "alice"}, []string{"narrow"}
	case "joe":
		p.Scopes = []string{}
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// world is a server of runs.
type world struct {
	t       testing.TB
	service *runtime.Service
	url     string
	// client holds what it sends and gets against the description of the server.
	client *http.Client
	// lax holds the answers alone against it.
	lax *http.Client
	as  string
	// drain ends the server, once, and stop all of it.
	drain func() error
	stop  func()
}

type setup struct {
	settings Settings
	service  runtime.ServiceSettings
	server   server.Settings
	// more declares what else there is.
	more func(*builder.AgentRuntimeBuilder)
}

// serving returns a world that lives as long as the test.
func serving(t testing.TB, options ...func(*setup)) *world {
	t.Helper()
	s := setup{settings: Settings{LocalToolTimeout: time.Minute}}
	s.service.TurnTools = NewTurnTools(TurnToolsSettings{CallPeer: func(_ context.Context, call PeerCall) (string, error) {
		return "peer says " + call.Message, nil
	}})
	for _, set := range options {
		set(&s)
	}
	b := builder.New().WithProvider("main", mouth{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-5.5"}).
		WithTool("weather", weather{}).WithAgentSpec(spec.Agent{ID: "clerk", Description: "Answers.", ModelID: "fast", SystemPrompt: "Answer."})
	if s.more != nil {
		s.more(b)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	s.service.Runtime = rt
	if s.service.Store == nil {
		kept := memory.New(store.Settings{})
		t.Cleanup(func() { _ = kept.Close() })
		s.service.Store = kept
	}
	if s.service.Dispatcher == nil {
		s.service.Dispatcher = local.New(local.Settings{Concurrency: 8})
	}
	w := &world{t: t, as: "alice", service: runtime.NewService(s.service)}
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.settings.Service = w.service
	w.listen(&s)
	w.stop = sync.OnceFunc(func() {
		if err := w.drain(); err != nil {
			t.Errorf("the server does not end: %v", err)
		}
		w.service.Close()
	})
	t.Cleanup(w.stop)
	return w
}

func (w *world) listen(s *setup) {
	t := w.t
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	surface, err := New(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	s.server.Authenticator, s.server.Address = who{}, "127.0.0.1:0"
	srv, err := server.New(s.server)
	if err == nil {
		err = srv.Mount(ctx, surface)
	}
	if err == nil {
		err = srv.Listen(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.url = srv.LocalURL()
	w.client = &http.Client{Transport: openapitest.Transport(t, http.DefaultTransport, srv.OpenAPI)}
	w.lax = &http.Client{Transport: openapitest.AnswerTransport(t, http.DefaultTransport, srv.OpenAPI)}
	until, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(until) }()
	w.drain = sync.OnceValue(func() error {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(<-ended, srv.Shutdown(ctx))
	})
}

// beyond returns the world for requests that are taken though nothing describes
// them.
func (w *world) beyond() *world {
	lax := *w
	lax.client = w.lax
	return &lax
}

// weather is a tool of the server.
type weather struct{}

func (weather) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (weather) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult("sunny"), nil
}

// request sends a request of the caller to a path below the workspace, or at the
// root.
func (w *world) request(method, path, body string, header ...string) *http.Response {
	w.t.Helper()
	if !strings.HasPrefix(path, "/api/") {
		path = "/api/v1/workspaces/" + w.as + "s" + path
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.as != "" {
		req.Header.Set("Authorization", "Bearer "+w.as)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// do sends a request and reads the answer, a JSON object.
func (w *world) do(method, path, body string, header ...string) (int, map[string]any) {
	w.t.Helper()
	resp := w.request(method, path, body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		w.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, data)
	}
	return resp.StatusCode, answer
}

// must sends a request that is to have a status.
func (w *world) must(status int, method, path, body string) map[string]any {
	w.t.Helper()
	got, answer := w.do(method, path, body)
	if got != status {
		w.t.Fatalf("%s %s: %d %v", method, path, got, answer)
	}
	return answer
}

// begin begins a run and returns its id.
func (w *world) begin(order, more string) string {
	w.t.Helper()
	answer := w.must(http.StatusAccepted, http.MethodPost, "/agent-runs", fmt.Sprintf(`{"systemPrompt":"Obey.","prompt":%q%s}`, order, more))
	id, _ := answer["runId"].(string)
	if want := "/api/v1/workspaces/" + w.as + "s/agent-runs/" + id + "/stream"; id == "" || answer["streamUrl"] != want {
		w.t.Fatalf("the run is %v", answer)
	}
	return id
}

// wireEvent is an event as a client reads it that looks at the data alone.
type wireEvent struct {
	id, event string
	data      map[string]any
}

func (e *wireEvent) seq() int { return int(e.data["seq"].(float64)) }

func (e *wireEvent) kind() string { return e.data["type"].(string) }

// follow follows a run with the query of its stream. The error says that it ended
// before its terminal event.
func (w *world) follow(id, query string) iter.Seq2[wireEvent, error] {
	return func(yield func(wireEvent, error) bool) {
		resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream"+query, "")
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.Header.Get("Cache-Control") != "no-cache, no-transform" {
			yield(wireEvent{}, fmt.Errorf("%s %v", resp.Status, resp.Header))
			return
		}
		for ev, err := range eventsOf(resp.Body) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// eventsOf reads server-sent events as a client would that knows nothing else.
func eventsOf(body io.Reader) iter.Seq2[wireEvent, error] {
	return func(yield func(wireEvent, error) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 8<<20)
		var ev wireEvent
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case lines.Text() == "" && ev.data != nil:
				if !yield(ev, nil) {
					return
				}
				ev = wireEvent{}
			case name == "id":
				ev.id = value
			case name == "event":
				ev.event = value
			case name == "data":
				if err := json.Unmarshal([]byte(value), &ev.data); err != nil {
					yield(ev, err)
					return
				}
			}
		}
		if lines.Err() != nil {
			yield(wireEvent{}, lines.Err())
		}
	}
}

// events returns all events of a run from a query on.
func (w *world) events(id, query string) []wireEvent {
	w.t.Helper()
	var list []wireEvent
	for ev, err := range w.follow(id, query) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, ev)
	}
	return list
}

// kinds returns the types of events.
func kinds(list []wireEvent) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].kind()
	}
	return strings.Join(names, " ")
}

// answered follows a run and answers its calls with what reply returns: the fields
// of the body behind the id.
func (w *world) answered(id string, reply func(call map[string]any) string) []wireEvent {
	w.t.Helper()
	var list []wireEvent
	for ev, err := range w.follow(id, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, ev)
		if ev.kind() == typeLocalToolCall {
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", fmt.Sprintf(`{"toolUseId":%q%s}`, ev.data["toolUseId"], reply(ev.data)))
		}
	}
	return list
}

// recorder takes in a response that no server sends.
type recorder struct{ *httptest.ResponseRecorder }

func newRecorder() recorder { return recorder{httptest.NewRecorder()} }

func (recorder) request() *http.Request {
	return httptest.NewRequest(http.MethodGet, "/", nil)
}
