package surfacetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// who authenticates the test callers: alice and bob belong to one tenant, ann is alice with a key
// only for the agent plain, and joe has no scopes.
type who struct{}

// Authenticate returns the principal of a key.
func (who) Authenticate(r *http.Request) (*server.Principal, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p := &server.Principal{Caller: service.Caller{Tenant: "acme", Subject: name}, KeyID: name}
	switch name {
	case "alice", "bob":
	case "ann":
		p.Caller.Subject, p.Caller.Agents = "alice", service.NewAgentSet([]string{"plain"})
	case "joe":
		p.Caller.Scopes = []string{}
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// World is a server of the surface.
type World struct {
	t         testing.TB
	Service   *service.Service
	Server    *server.Server
	URL       string
	Client    *http.Client
	Look, Pay *Effect
	// Drain shuts down the HTTP server, once.
	Drain func() error
	mount func(*service.Service) (server.Surface, error)
	// TurnReads counts reads of turns from the store.
	TurnReads *atomic.Int64
	// BeforeTurns and AfterTurns are called once, before and after a session's turns are listed.
	BeforeTurns, AfterTurns atomic.Pointer[func()]
}

// countingStore is a store that counts reads of turns.
type countingStore struct {
	*memory.Store
	world *World
}

// Turns lists turns.
func (c countingStore) Turns(ctx context.Context, q store.TurnQuery) (store.TurnPage, error) {
	if q.SessionID == "" || q.Statuses != nil {
		return c.Store.Turns(ctx, q)
	}
	call := func(hook *atomic.Pointer[func()]) {
		if f := hook.Swap(nil); f != nil {
			(*f)()
		}
	}
	call(&c.world.BeforeTurns)
	defer call(&c.world.AfterTurns)
	return c.Store.Turns(ctx, q)
}

// Turn returns a turn.
func (c countingStore) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	c.world.TurnReads.Add(1)
	return c.Store.Turn(ctx, scope, id)
}

// Serve serves a surface until the test ends.
func Serve(t testing.TB, mount func(*service.Service) (server.Surface, error), more ...func(*builder.AgentRuntimeBuilder)) *World {
	t.Helper()
	w := &World{t: t, Look: &Effect{name: "look"}, Pay: &Effect{name: "pay"}, mount: mount, TurnReads: new(atomic.Int64)}
	b := builder.New().WithProvider("main", mouth{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "m"}).
		WithAvailablePlugin("permission", permission.New()).WithTool("look", w.Look).WithTool("pay", w.Pay).WithTool("ask", asking{}).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "fast", SystemPrompt: "Answer.", Description: "Answers.", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)},
		}).
		WithAgentSpec(spec.Agent{ID: "plain", ModelID: "fast", AllowedTools: spec.Names{}})
	for _, add := range more {
		add(b)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	w.Service = service.New(service.Settings{
		Runtime: rt, Store: countingStore{kept, w}, Dispatcher: local.New(local.Settings{Concurrency: 8}), TurnTools: agentruns.NewTurnTools(agentruns.TurnToolsSettings{}),
	})
	if err := w.Service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Listen()
	t.Cleanup(func() {
		if err := w.Drain(); err != nil {
			t.Error(err)
		}
		w.Service.Close()
		_ = kept.Close()
		w.Client.CloseIdleConnections()
	})
	return w
}

// Listen begins to serve. Serve calls it, so a test calls it only after Drain.
func (w *World) Listen() {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	surface, err := w.mount(w.Service)
	if err != nil {
		w.t.Fatal(err)
	}
	srv, err := server.New(server.Settings{Address: "127.0.0.1:0", Authenticator: who{}})
	if err == nil {
		err = srv.Mount(ctx, surface)
	}
	if err == nil {
		err = srv.Listen(ctx)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.Server, w.URL = srv, srv.LocalURL()
	w.Client = &http.Client{Transport: openapitest.AnswerTransport(w.t, &http.Transport{}, srv.OpenAPI)}
	until, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(until) }()
	w.Drain = sync.OnceValue(func() error {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(<-ended, srv.Shutdown(ctx))
	})
}

// Send sends a request with a key.
func (w *World) Send(ctx context.Context, key, request, body string, header ...string) (*http.Response, error) {
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.Client.Do(req)
}

// Ask sends a request and checks the status.
func (w *World) Ask(key, request, body string, want int, header ...string) []byte {
	w.t.Helper()
	resp, err := w.Send(w.t.Context(), key, request, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s: %v after %s", request, err, data)
	}
	if resp.StatusCode != want || resp.Header.Get("X-Request-Id") == "" {
		w.t.Fatalf("%s %s: %d %s", request, body, resp.StatusCode, data)
	}
	return data
}

// Get decodes the answer to a request of alice.
func Get[T any](w *World, request, body string) (out T) {
	w.t.Helper()
	data := w.Ask("alice", request, body, http.StatusOK)
	if err := json.Unmarshal(data, &out); err != nil {
		w.t.Fatalf("%v: %s", err, data)
	}
	return out
}
