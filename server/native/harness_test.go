package native

import (
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
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

// echoModel is a model that repeats its prompt, word by word; the prompt "pay" makes it
// call the first tool, "hang" makes it answer something and wait, and "pay much" makes
// it call the first tool with more than fits into an event of a stream.
type echoModel struct{}

func (echoModel) Vendor() string { return "openai" }

func (echoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		reason := model.FinishStop
		var events []model.Event
		switch text := last.Text(); {
		case last.Role == model.RoleTool:
			events = words("It is done.")
		case text == "pay":
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: "call 1/2", Name: "pay"},
				{Type: model.EventToolCallEnd, Delta: `{"amount":12}`},
			}
		case text == "pay much":
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: "call", Name: "pay"},
				{Type: model.EventToolCallEnd, Delta: `{"amount":"` + much + `"}`},
			}
		case text == "hang":
			if yield(model.Event{Type: model.EventText, Delta: "well"}, nil) {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
			}
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

// much is an amount of 2 MiB.
var much = strings.Repeat("1000", 1<<19)

func words(text string) []model.Event {
	var events []model.Event
	for _, word := range strings.SplitAfter(text, " ") {
		events = append(events, model.Event{Type: model.EventText, Delta: word})
	}
	return events
}

// pay is a tool that needs the consent of a person.
type pay struct{}

func (pay) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (pay) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult("paid"), nil
}

// who are the callers of the tests: alice and bob are of one tenant, eve is of
// another, ann is alice with a key for the agent boss alone, and joe has no scopes.
type who struct{}

func (who) Authenticate(r *http.Request) (*server.Principal, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p := &server.Principal{Caller: service.Caller{Tenant: "acme", Subject: name}, KeyID: name}
	switch name {
	case "alice", "bob":
	case "ann":
		p.Caller.Subject, p.Caller.Agents = "alice", service.NewAgentSet([]string{"boss"})
	case "eve":
		p.Caller.Tenant = "other"
	case "joe":
		p.Caller.Scopes = []string{}
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// world is a server of sessions and turns.
type world struct {
	t       testing.TB
	service *service.Service
	url     string
	// describe returns the description of the server.
	describe func() ([]byte, error)
	// drain ends the HTTP server, once.
	drain func() error
}

// setting changes what a world is made of.
type setting func(*service.Settings, *server.SurfaceSettings)

// serving returns a world that lives as long as the test.
func serving(t testing.TB, set ...setting) *world {
	t.Helper()
	rt, err := builder.New().WithProvider("main", echoModel{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-5.5", Pricing: &spec.Pricing{InputPerMillion: 100, OutputPerMillion: 200}}).
		WithAvailablePlugin("permission", permission.New()).WithTool("pay", pay{}).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "fast", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)},
		}).
		WithAgentSpec(spec.Agent{ID: "boss", ModelID: "fast"}).Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	settings := service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 8})}
	var surface server.SurfaceSettings
	for _, s := range set {
		s(&settings, &surface)
	}
	w := &world{t: t, service: service.New(settings)}
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	surface.Service = w.service
	w.listen(surface)
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

func (w *world) listen(settings server.SurfaceSettings) {
	t := w.t
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	surface, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Settings{Authenticator: who{}, Address: "127.0.0.1:0", Limits: server.Limits{MaxBodyBytes: 1 << 20}})
	if err == nil {
		err = srv.Mount(ctx, surface)
	}
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
	w.drain = sync.OnceValue(func() error {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(<-ended, srv.Shutdown(ctx))
	})
}

// transport returns what carries requests of a test, and holds the answers against
// the description.
func (w *world) transport() http.RoundTripper {
	t := newTransport()
	w.t.Cleanup(t.CloseIdleConnections)
	return openapitest.Transport(w.t, t, w.describe)
}

// client returns a client of somebody.
func (w *world) client(name string) *Client {
	w.t.Helper()
	c, err := NewClient(ClientSettings{URL: w.url, Key: name, Patience: 10 * time.Second, Transport: w.transport()})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// answerTo sends a request of alice, as a method and a path, and returns the answer.
func (w *world) answerTo(request, body string, header ...string) (int, string) {
	w.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+Prefix+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	t := newTransport()
	defer t.CloseIdleConnections()
	resp, err := openapitest.AnswerTransport(w.t, t, w.describe).RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// begin makes a turn of somebody in a session of its own.
func begin(t testing.TB, c *Client, agent, text string) *Turn {
	t.Helper()
	s, err := c.CreateSession(t.Context(), CreateSession{AgentID: agent})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := c.CreateTurn(t.Context(), says(s.ID, text))
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// says is a turn of a session whose input is one message.
func says(session, text string) CreateTurn {
	return CreateTurn{SessionID: session, Input: []model.Message{model.User(text)}}
}

// until waits for a turn to be in a state.
func until(t testing.TB, c *Client, id string, status store.Status) *Turn {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		turn, err := c.GetTurn(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if turn.Status == status {
			return turn
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("turn %s is %s, not %s", id, turn.Status, status)
		}
	}
}

// followed returns the events of a turn after a sequence number, as "seq type".
func followed(t testing.TB, c *Client, id string, after uint64) []string {
	t.Helper()
	var list []string
	for record, err := range c.Events(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s", record.Seq, record.Type))
	}
	return list
}
