package sessions

import (
	"bufio"
	"cmp"
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
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/plugins/toolsearch"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

// echoModel is a model that repeats its prompt, word by word. "tools" makes it list the
// tools that it is offered, "pay" and "read" make it call the tool, "find" makes it search
// for tools and list those that it is offered then, and "hang" makes it answer something
// and wait.
type echoModel struct{}

func (echoModel) Vendor() string { return "openai" }

func (echoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		reason := model.FinishStop
		var events []model.Event
		switch text := last.Text(); {
		case last.Role == model.RoleTool && last.Parts[0].ToolResult.Name == toolsearch.ToolID, text == "tools":
			var names []string
			for i := range req.Tools {
				names = append(names, req.Tools[i].Name)
			}
			slices.Sort(names)
			events = words(cmp.Or(strings.Join(names, " "), "no tools"))
		case last.Role == model.RoleTool:
			events = words("Done.")
		case text == "model":
			events = words(req.Model)
		case text == "pay" || text == "read":
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: "call_1", Name: text},
				{Type: model.EventToolCallEnd, Delta: `{"amount":12}`},
			}
		case text == "find":
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: "call_1", Name: "tool_search"},
				{Type: model.EventToolCallEnd, Delta: `{"query":"read","max_results":1}`},
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
	case "ann":
		p.Caller.Subject, p.Caller.Agents = "alice", service.NewAgentSet([]string{"boss"})
	case "amy":
		p.Caller.Agents = service.NewAgentSet([]string{"writer"})
	case "eve":
		p.Caller.Tenant = "other"
	default:
		return nil, &server.CredentialError{Missing: name == "", Problem: "who is that?"}
	}
	return p, nil
}

// world is a server of sessions and turns.
type world struct {
	t        testing.TB
	service  *service.Service
	url      string
	describe func() ([]byte, error)
	surface  *Surface
}

// twoProviders are clerk, which has an agent and is the default, and plain, which has
// none.
var twoProviders = map[string]settings.SessionProvider{
	"clerk": {Agent: "clerk", Default: true, Aliases: map[string]string{"quick": "fast"}},
	"plain": {DefaultModel: "deep"},
}

// serving returns a world that lives as long as the test.
func serving(t testing.TB, providers map[string]settings.SessionProvider, change ...func(*service.Settings)) *world {
	t.Helper()
	return servingOn(t, memory.New(store.Settings{}), providers, change...)
}

// servingOn returns a world on a store, which it closes.
func servingOn(t testing.TB, kept store.Store, providers map[string]settings.SessionProvider, change ...func(*service.Settings)) *world {
	t.Helper()
	ask := json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)
	rt, err := builder.New().WithProvider("main", echoModel{}).
		WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-fast"}).
		WithModel(spec.Model{ID: "deep", ProviderID: "main", UpstreamModel: "gpt-deep"}).
		WithAvailablePlugin("permission", permission.New()).WithAvailablePlugin(toolsearch.PluginID, toolsearch.New()).
		WithTool("read", deed(tools.Read)).WithTool("list", deed(tools.Read)).WithTool("pay", deed(tools.Once)).WithTool("burn", deed(tools.Once)).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "fast", PluginIDs: []string{"permission"}, Sections: spec.Sections{"permission": ask},
			ExcludedTools: spec.Names{"burn"}, Delegates: []string{"boss"},
		}).
		WithAgentSpec(spec.Agent{ID: "boss", ModelID: "fast", AllowedTools: spec.Names{}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	made := service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 8})}
	for _, apply := range change {
		apply(&made)
	}
	w := &world{t: t, service: service.New(made)}
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	drain := w.listen(Settings{Service: w.service, Providers: providers})
	t.Cleanup(func() {
		if err := drain(); err != nil {
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
	srv, err := server.New(server.Settings{Authenticator: who{}, Address: "127.0.0.1:0", Limits: server.Limits{MaxBodyBytes: 4 << 20}})
	if err == nil {
		err = srv.Mount(ctx, surface)
	}
	if err == nil {
		err = srv.Listen(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.url, w.describe, w.surface = srv.LocalURL(), srv.OpenAPI, surface
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

// send sends a request of somebody, as a method and a path below /api/v1.
func (w *world) send(name, request, body string, header ...string) *http.Response {
	w.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+"/api/v1"+path, strings.NewReader(body))
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

// do is ask for a request of alice that succeeds, whose answer is decoded.
func do[T any](w *world, request, body string, header ...string) (out T) {
	w.t.Helper()
	return doAs[T](w, "alice", request, body, header...)
}

// doAs is do for a request of somebody else.
func doAs[T any](w *world, name, request, body string, header ...string) (out T) {
	w.t.Helper()
	status, text := w.ask(name, request, body, header...)
	if status >= http.StatusMultipleChoices {
		w.t.Fatalf("%s: %d %s", request, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		w.t.Fatalf("%s: %v in %s", request, err, text)
	}
	return out
}

// begin makes a session from a body, and a turn with a text in it.
func (w *world) begin(session, text string) turnView {
	w.t.Helper()
	s := do[sessionView](w, "POST /agent/sessions", session)
	return w.say(s.ID, text, "")
}

// say makes a turn with a text, and more fields, in a session.
func (w *world) say(session, text, more string) turnView {
	w.t.Helper()
	return do[turnView](w, "POST /agent/sessions/"+session+"/turns", `{"messages":[{"role":"user","text":"`+text+`"}]`+more+`}`)
}

// until waits for a turn to be in a state.
func (w *world) until(id, status string) turnView {
	w.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		t := do[turnView](w, "GET /agent/turns/"+id, "")
		if t.Status == status {
			return t
		}
		select {
		case <-again.C:
		case <-deadline.C:
			w.t.Fatalf("turn %s is %s, not %s: %s", id, t.Status, status, t.StatusMessage)
		}
	}
}

// stream reads the events of a turn to the end of the stream, and returns them with the
// ids of their frames.
func (w *world) stream(path string, header ...string) (events []eventView, ids []string) {
	w.t.Helper()
	resp := w.send("alice", "GET "+path, "", header...)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		w.t.Fatalf("%s: %s %s", path, resp.Status, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	first := true
	for lines.Scan() {
		line := lines.Text()
		if first && line != ": stream-open" {
			w.t.Errorf("the stream begins with %q", line)
		}
		first = false
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e eventView
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				w.t.Fatalf("%v in %s", err, data)
			}
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	return events, ids
}

// typesOf returns the types of events.
func typesOf(events []eventView) string {
	list := make([]string, len(events))
	for i := range events {
		list[i] = events[i].Type
	}
	return strings.Join(list, " ")
}
