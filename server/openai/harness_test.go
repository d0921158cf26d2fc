package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// mouth is a model whose answer depends on the last message of the user.
type mouth struct{}

func (mouth) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		events, reason := mouthAnswer(req)
		for _, ev := range events {
			if ev.Type == hang {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
				return
			}
			if ev.Type == broken {
				yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the model does not like it"})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		usage := &model.Usage{Input: 10, Output: 5, CacheRead: 4, Reasoning: 2}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: usage}, nil)
	}
}

// The ends of answers that do not come.
const (
	hang   model.EventType = 100
	broken model.EventType = 101
)

func mouthAnswer(req *model.Request) ([]model.Event, model.FinishReason) {
	results, prompt, last := 0, "", &req.Messages[len(req.Messages)-1]
	for i := range req.Messages {
		switch m := &req.Messages[i]; m.Role {
		case model.RoleTool:
			results++
		case model.RoleUser:
			results, prompt = 0, m.Text()
		}
	}
	text := func(text ...string) []model.Event { // in one piece, which no clock can split
		return []model.Event{{Type: model.EventText, Delta: strings.Join(text, "")}}
	}
	calls := func(names ...string) (list []model.Event) {
		for i, name := range names {
			list = append(list,
				model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("c%d_%d", results, i), Name: name},
				model.Event{Type: model.EventToolCallEnd, Index: i, Delta: `{"city":"Bern"}`})
		}
		return list
	}
	rounds := map[string]int{"weather": 1, "weather twice": 1, "weather again": 2, "look": 1, "mixed": 1, "pay": 1, "ask": 1}[prompt]
	if results >= rounds && rounds > 0 {
		var said []string
		for _, p := range last.Parts {
			if p.Type == model.PartToolResult {
				said = append(said, p.ToolResult.Text())
			} else {
				said = append(said, p.Text)
			}
		}
		return text("It is ", strings.Join(said, " and "), "."), model.FinishStop
	}
	switch prompt {
	case "weather", "weather again":
		return calls("get_weather"), model.FinishToolCalls
	case "weather twice":
		return calls("get_weather", "get_weather"), model.FinishToolCalls
	case "look":
		return append(text("Let me look."), calls("look")...), model.FinishToolCalls
	case "mixed":
		return calls("look", "get_weather"), model.FinishToolCalls
	case "pay":
		return calls("pay"), model.FinishToolCalls
	case "ask":
		return []model.Event{
			{Type: model.EventToolCallStart, ID: "q", Name: "ask"}, {Type: model.EventToolCallEnd, ID: "q", Delta: `{"question":"Which city?"}`},
		}, model.FinishToolCalls
	case "think":
		return append([]model.Event{{Type: model.EventReasoning, Delta: "Hm, yes."}}, text("Yes.")...), model.FinishStop
	case "json":
		return text(`{"name":"Ada",`, `"age":36}`), model.FinishStop
	case "long":
		return text("It never"), model.FinishMaxTokens
	case "hang":
		return append(text("well"), model.Event{Type: hang}), ""
	case "break":
		return append(text("well"), model.Event{Type: broken}), ""
	case "choice":
		offered := make([]string, len(req.Tools))
		for i := range req.Tools {
			offered[i] = req.Tools[i].Name
		}
		slices.Sort(offered)
		return text(fmt.Sprintf("%s %s of %v", req.ToolChoice.Mode, req.ToolChoice.Name, offered)), model.FinishStop
	case "who are you":
		return text("I was told: " + req.Messages[0].Text()), model.FinishStop
	case "history":
		var all []string
		for i := range req.Messages {
			all = append(all, string(req.Messages[i].Role)+":"+req.Messages[i].Text())
		}
		return text(strings.Join(all, "|")), model.FinishStop
	default:
		return text("You said " + prompt), model.FinishStop
	}
}

// effect is a tool that counts its calls.
type effect struct {
	name string
	mu   sync.Mutex
	n    int
}

func (*effect) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (e *effect) Call(context.Context, *tools.Call) (tools.Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	return tools.TextResult(e.name + " done"), nil
}

func (e *effect) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// asking is a tool that asks a person.
type asking struct{}

func (asking) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (asking) Call(context.Context, *tools.Call) (tools.Result, error) {
	question := interaction.Request{Action: tools.ActionAsk, Message: "Which city?", ResponseSchema: json.RawMessage(`{"type":"string"}`)}
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{question}, AnswerIsResult: true}}, nil
}

// who are the callers of the tests: alice and bob are of one tenant, ann is alice with a
// key for the agent plain alone, and joe has no scopes.
type who struct{}

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

// world is a server of the surface.
type world struct {
	t         testing.TB
	service   *service.Service
	server    *server.Server
	url       string
	client    *http.Client
	look, pay *effect
	// drain ends the HTTP server, once.
	drain func() error
}

func serving(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, look: &effect{name: "look"}, pay: &effect{name: "pay"}}
	rt, err := builder.New().WithProvider("main", mouth{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "m"}).
		WithAvailablePlugin("permission", permission.New()).WithTool("look", w.look).WithTool("pay", w.pay).WithTool("ask", asking{}).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "fast", SystemPrompt: "Answer.", Description: "Answers.", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)},
		}).
		WithAgentSpec(spec.Agent{ID: "plain", ModelID: "fast", AllowedTools: spec.Names{}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	w.service = service.New(service.Settings{
		Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 8}), TurnTools: agentruns.NewTurnTools(agentruns.TurnToolsSettings{}),
	})
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.listen()
	t.Cleanup(func() {
		if err := w.drain(); err != nil {
			t.Error(err)
		}
		w.service.Close()
		_ = kept.Close()
		w.client.CloseIdleConnections()
	})
	return w
}

func (w *world) listen() {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	surface, err := New(Settings{Service: w.service})
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
	w.server, w.url = srv, srv.LocalURL()
	w.client = &http.Client{Transport: openapitest.AnswerTransport(w.t, &http.Transport{}, srv.OpenAPI)}
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

// send sends a request with a key.
func (w *world) send(ctx context.Context, key, request, body string, header ...string) (*http.Response, error) {
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
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
	return w.client.Do(req)
}

// ask sends a request and wants a status.
func (w *world) ask(key, request, body string, want int, header ...string) []byte {
	w.t.Helper()
	resp, err := w.send(w.t.Context(), key, request, body, header...)
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

// get decodes the answer to a request of alice.
func get[T any](w *world, request, body string) (out T) {
	w.t.Helper()
	data := w.ask("alice", request, body, http.StatusOK)
	if err := json.Unmarshal(data, &out); err != nil {
		w.t.Fatalf("%v: %s", err, data)
	}
	return out
}

// failing wants an error, and returns its code and parameter.
func (w *world) failing(key, request, body string, status int) string {
	w.t.Helper()
	var got errorBody
	if err := json.Unmarshal(w.ask(key, request, body, status), &got); err != nil {
		w.t.Fatal(err)
	}
	said := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	if got.Error.Message == "" || got.Error.Type == "" {
		w.t.Errorf("%s: %+v", request, got)
	}
	return said(got.Error.Code) + " " + said(got.Error.Param)
}

var (
	cores = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`"(created|created_at|completed_at)":[0-9]+`)
)

// golden compares an answer with a file, in which ids are numbered and times are 0.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	seen := map[string]string{}
	got = cores.ReplaceAllFunc(got, func(id []byte) []byte {
		if seen[string(id)] == "" {
			seen[string(id)] = fmt.Sprintf("T%d", len(seen)+1)
		}
		return []byte(seen[string(id)])
	})
	got = times.ReplaceAll(got, []byte(`"$1":0`))
	got = append(bytes.TrimSpace(got), '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
