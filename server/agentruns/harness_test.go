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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

// who are the callers of the tests: alice and bob are of different tenants, ann is
// of alice's, eve may use no agent, rob and al, who is alice with another key, only
// one of them, and joe nothing that needs a scope.
type who struct{}

func (who) Authenticate(r *http.Request) (*server.Principal, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p := &server.Principal{Caller: service.Caller{Tenant: name + "s", Subject: name}, KeyID: name}
	switch name {
	case "alice", "bob":
	case "ann":
		p.Caller.Tenant = "alices"
	case "eve":
		p.Caller.Agents = service.NewAgentSet([]string{})
	case "rob":
		p.Caller.Agents = service.NewAgentSet([]string{"narrow"})
	case "al":
		p.Caller = service.Caller{Tenant: "alices", Subject: "alice", Agents: service.NewAgentSet([]string{"narrow"})}
	case "joe":
		p.Caller.Scopes = []string{}
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// world is a server of runs.
type world struct {
	t       testing.TB
	service *service.Service
	store   store.Store
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
	service  service.Settings
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
	b := builder.New().WithProvider("main", echoModel{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-5.5"}).
		WithTool("weather", weather{}).WithAgentSpec(spec.Agent{ID: "clerk", Description: "Answers.", ModelID: "fast", SystemPrompt: "Answer."})
	b.WithDefaults(spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{resolve.RetryKey: json.RawMessage(`{"max_retries":0}`)}}})
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
	w := &world{t: t, as: "alice", service: service.New(s.service), store: s.service.Store}
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

func (e *wireEvent) eventKind() string { return e.data["type"].(string) }

// follow follows a run with the query of its stream. It fails if the stream ends before
// the terminal event.
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
		names[i] = list[i].eventKind()
	}
	return strings.Join(names, " ")
}

// answered follows a run and answers its calls with what reply returns: the fields of
// the body after the id.
func (w *world) answered(id string, reply func(call map[string]any) string) []wireEvent {
	w.t.Helper()
	var list []wireEvent
	for ev, err := range w.follow(id, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, ev)
		if ev.eventKind() == typeLocalToolCall {
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", fmt.Sprintf(`{"toolUseId":%q%s}`, ev.data["toolUseId"], reply(ev.data)))
		}
	}
	return list
}
