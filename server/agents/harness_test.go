package agents

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/tools"
)

// echoModel is a model that repeats its prompt, word by word. "tools" makes it list the
// tools that it is offered, "pay" and "read" make it call the tool, and "hang" makes it
// answer something and wait.
type echoModel struct{}

func (echoModel) Vendor() string { return "openai" }

func (echoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		reason := model.FinishStop
		var events []model.Event
		switch text := last.Text(); {
		case last.Role == model.RoleTool:
			events = words("Done.")
		case text == "tools":
			var names []string
			for i := range req.Tools {
				names = append(names, req.Tools[i].Name)
			}
			slices.Sort(names)
			events = words(strings.Join(names, " "))
		case text == "model":
			events = words(req.Model)
		case text == "pay" || text == "read":
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: "call_1", Name: text},
				{Type: model.EventToolCallEnd, Delta: `{"amount":12}`},
			}
		case text == "hang":
			if yield(model.Event{Type: model.EventText, Delta: "well"}, nil) {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
			}
			return
		case text == "fail":
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the vendor is not amused"})
			return
		default:
			events = words(text)
		}
		for _, ev := range append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, Output: 5}}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func words(text string) []model.Event {
	var events []model.Event
	for _, word := range strings.SplitAfter(text, " ") {
		events = append(events, model.Event{Type: model.EventText, Delta: word})
	}
	return events
}

// deed is a tool with an effect.
type deed tools.Effect

func (d deed) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Effect(d)} }

func (deed) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult(`{"done":true}`), nil
}

// who are the callers of the tests: alice and bob are of one tenant, eve is of another,
// ann is alice with a key for the agent boss alone.
type who struct{}

func (who) Authenticate(r *http.Request) (*server.Principal, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p := &server.Principal{Caller: service.Caller{Tenant: "acme", Subject: name}, KeyID: name}
	switch name {
	case "alice", "bob":
	case "reads", "writes":
		p.Caller.Subject, p.Caller.Scopes = "alice", scopesOf[name]
	case "ann":
		p.Caller.Subject, p.Caller.Agents = "alice", service.NewAgentSet([]string{"boss"})
	case "eve":
		p.Caller.Tenant = "other"
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// world is a server of agents.
type world struct {
	t        testing.TB
	service  *service.Service
	drain    func() error
	server   *server.Server
	url      string
	describe func() ([]byte, error)
	// waits gets a value when a request begins to wait for a snapshot.
	waits chan struct{}
}

// noticing is the surface, which tells when requests wait for snapshots.
type noticing struct {
	*Surface
	waits chan<- struct{}
}

// Routes returns the routes of the surface.
func (n noticing) Routes() []server.Route {
	routes := n.Surface.Routes()
	for i, route := range routes {
		if strings.HasSuffix(route.Pattern, "/waitForSnapshot") {
			routes[i].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case n.waits <- struct{}{}:
				default: // the test does not look
				}
				route.Handler.ServeHTTP(w, r)
			})
		}
	}
	return routes
}

// maxBody is how many bytes the body of a request may have.
const maxBody = 4 << 20

// serving returns a world that lives as long as the test.
func serving(t testing.TB) *world {
	t.Helper()
	kept, work := onMemory(t)
	return servingOn(t, kept, work)
}

// servingOn returns a world on a store, which it closes.
func servingOn(t testing.TB, kept store.Store, work dispatch.Dispatcher, more ...spec.Agent) *world {
	t.Helper()
	ask := json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)
	b := builder.New()
	for i := range more {
		b.WithAgentSpec(more[i])
	}
	rt, err := b.WithProvider("main", echoModel{}).
		WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-fast"}).
		WithModel(spec.Model{ID: "deep", ProviderID: "main", UpstreamModel: "gpt-deep"}).
		WithAvailablePlugin("permission", permission.New()).
		WithTool("read", deed(tools.Read)).WithTool("list", deed(tools.Read)).WithTool("pay", deed(tools.Once)).WithTool("burn", deed(tools.Once)).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "fast", PluginIDs: []string{"permission"}, Sections: spec.Sections{"permission": ask},
			ExcludedTools: spec.Names{"burn"}, Delegates: []string{"boss"},
		}).
		WithAgentSpec(spec.Agent{ID: "boss", ModelID: "fast", AllowedTools: spec.Names{}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, waits: make(chan struct{}, 1), service: service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: work})}
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.drain = w.listen(Settings{Service: w.service})
	t.Cleanup(func() {
		if err := w.drain(); err != nil {
			t.Errorf("the server does not end: %v", err)
		}
		w.service.Close()
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) listen(s Settings) (drain func() error) {
	t := w.t
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	surface, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Settings{Authenticator: who{}, Address: "127.0.0.1:0", Limits: server.Limits{MaxBodyBytes: maxBody}})
	if err == nil {
		err = srv.Mount(ctx, noticing{surface, w.waits})
	}
	w.server = srv
	if err == nil {
		err = srv.Listen(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.url, w.describe = srv.LocalURL(), srv.OpenAPI
	until, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(until) }()
	return sync.OnceValue(func() error {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(<-ended, srv.Shutdown(ctx))
	})
}

// send sends a request of somebody, as a method and a path.
func (w *world) send(name, request, body string, header ...string) *http.Response {
	w.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if name != "" {
		req.Header.Set("Authorization", "Bearer "+name)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := openapitest.AnswerTransport(w.t, transport, w.describe).RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// ask sends a request, and returns the status and the body of the answer.
func (w *world) ask(name, request, body string, header ...string) (int, string) {
	w.t.Helper()
	resp := w.send(name, request, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}
