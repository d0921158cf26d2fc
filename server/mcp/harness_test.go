package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/agentruntime/agentruntime/event/interaction"
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
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// echoModel is a model whose answer depends on the last message of the user.
type echoModel struct{ hung chan struct{} }

func (m *echoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		text, calls := mouthAnswer(req)
		if text == "hang" {
			m.hung <- struct{}{}
			<-ctx.Done()
			m.hung <- struct{}{}
			yield(model.Event{}, ctx.Err())
			return
		}
		if text == "break" {
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the model does not like it"})
			return
		}
		reason := model.FinishStop
		if text != "" && !yield(model.Event{Type: model.EventText, Delta: text}, nil) {
			return
		}
		for i, name := range calls {
			reason = model.FinishToolCalls
			if !yield(model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("c%d", i), Name: name}, nil) ||
				!yield(model.Event{Type: model.EventToolCallEnd, Index: i, Delta: "{}"}, nil) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
	}
}

// mouthAnswer calls the tools that a prompt "call a b" names, and then quotes their
// results.
func mouthAnswer(req *model.Request) (text string, calls []string) {
	prompt, said := "", []string{}
	for i := range req.Messages {
		switch m := &req.Messages[i]; m.Role {
		case model.RoleUser:
			prompt, said = m.Text(), nil
		case model.RoleTool:
			for _, p := range m.Parts {
				if p.Type == model.PartToolResult {
					said = append(said, p.ToolResult.Text())
				}
			}
		}
	}
	names, isCall := strings.CutPrefix(prompt, "call ")
	switch {
	case isCall && len(said) == 0:
		return "", strings.Fields(names)
	case isCall:
		return "It is " + strings.Join(said, " and ") + ".", nil
	case prompt == "hang" || prompt == "break":
		return prompt, nil
	case prompt == "history":
		var all []string
		for i := range req.Messages {
			if req.Messages[i].Role != model.RoleSystem {
				all = append(all, req.Messages[i].Text())
			}
		}
		return strings.Join(all, "|"), nil
	case strings.HasPrefix(prompt, "{") || strings.HasPrefix(prompt, "["):
		return prompt, nil
	default:
		return "You said " + prompt, nil
	}
}

// effect is a tool that counts its calls.
type effect struct {
	mu sync.Mutex
	n  int
}

func (*effect) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (e *effect) Call(context.Context, *tools.Call) (tools.Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	return tools.TextResult("paid"), nil
}

func (e *effect) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// asking is a tool that asks a person.
type asking struct{ question interaction.Request }

func (asking) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (a asking) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{a.question}, AnswerIsResult: true}}, nil
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

// everybody is the caller of a server without keys.
type everybody struct{}

func (everybody) Authenticate(*http.Request) (*server.Principal, error) {
	return &server.Principal{Caller: service.Caller{Tenant: "acme", Subject: "local"}}, nil
}

// world is a server of the surface.
type world struct {
	t         testing.TB
	service   *service.Service
	surface   *Surface
	http      *server.Server
	url       string
	echoModel *echoModel
	pay       *effect
	logs      *observer.ObservedLogs
}

// object and list are the forms of answers.
const (
	object = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	list   = `{"type":"array","items":{"type":"integer"}}`
)

func serving(t testing.TB) *world {
	t.Helper()
	return servingFor(t, who{})
}

func servingFor(t testing.TB, callers server.Authenticator) *world {
	t.Helper()
	w := &world{t: t, echoModel: &echoModel{hung: make(chan struct{})}, pay: &effect{}}
	agent := func(id string, change func(*spec.Agent)) spec.Agent {
		a := spec.Agent{ID: id, ModelID: "fast", Description: "Does what " + id + " does.", AllowedTools: spec.Names{}}
		change(&a)
		return a
	}
	b := builder.New()
	if _, open := callers.(everybody); open { // for the conformance suite, which calls it without a message
		b.WithAgentSpec(agent("test_error_handling", func(*spec.Agent) {}))
	}
	rt, err := b.WithProvider("main", w.echoModel).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "m"}).
		WithAvailablePlugin("permission", permission.New()).WithTool("look", &effect{}).WithTool("pay", w.pay).
		WithTool("ask", asking{interaction.Request{Action: tools.ActionAsk, Message: "Which city?", ResponseSchema: json.RawMessage(`{"type":"string"}`)}}).
		WithTool("login", asking{interaction.Request{
			Action: tools.ActionAuthorize, Message: "Sign in.", Parameters: json.RawMessage(`{"url":"https://login.example/"}`), ResponseSchema: json.RawMessage(`{"type":"boolean"}`),
		}}).
		WithAgentSpec(agent("clerk", func(a *spec.Agent) {
			a.AllowedTools, a.PluginIDs = spec.Names{"look", "pay", "ask", "login"}, []string{"permission"}
			a.Sections = spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"pay","behavior":"ask"}]}`)}
		})).
		WithAgentSpec(agent("plain", func(*spec.Agent) {})).
		WithAgentSpec(agent("team:object", func(a *spec.Agent) { a.OutputSchema = &spec.OutputSchema{Schema: json.RawMessage(object)} })).
		WithAgentSpec(agent("list", func(a *spec.Agent) { a.OutputSchema = &spec.OutputSchema{Schema: json.RawMessage(list)} })).
		WithAgentSpec(agent("greeter", func(a *spec.Agent) {
			a.SystemPrompt, a.Variables = "Greet in ${turn.language}.", json.RawMessage(`{"type":"object","properties":{"language":{"type":"string"}},"required":["language"]}`)
		})).Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	w.service = service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 8})})
	if err := w.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	var srv *server.Server
	core, logs := observer.New(zap.InfoLevel)
	w.logs = logs
	w.surface, err = New(Settings{
		Logger:  zap.New(core),
		Service: w.service, PublicURL: func() string { return srv.URL() }, Origins: []string{"https://console.example"}, Issuer: func() string { return "https://issuer.example" },
		KeepAlive: 50 * time.Millisecond,
		Prompts: []settings.MCPPrompt{
			{Name: "greet", Description: "Greets.", Arguments: []settings.MCPArgument{{Name: "name", Required: true}, {Name: "how"}}, Text: "Greet {{name}} {{how}}"},
			{Name: "test_simple_prompt", Description: "Has no arguments.", Text: "This is a simple prompt for testing."},
			{
				Name: "test_prompt_with_arguments", Description: "Has two.", Arguments: []settings.MCPArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}},
				Text: "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
			},
		},
		Resources: []settings.MCPResource{
			{URI: "doc://rules", Name: "rules", Description: "The rules.", MIMEType: "text/plain", Text: "Be nice."},
			{URI: "test://static-text", Name: "static", Description: "A text.", MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv, err = server.New(server.Settings{Address: "127.0.0.1:0", Authenticator: callers, Logger: zap.New(core)})
	if err == nil {
		err = srv.Mount(ctx, w.surface)
	}
	if err == nil {
		err = srv.Listen(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.http, w.url = srv, srv.LocalURL()
	until, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(until) }()
	t.Cleanup(func() {
		end()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := errors.Join(<-ended, srv.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
		w.service.Close()
		w.surface.Close()
		_ = kept.Close()
	})
	return w
}

// in returns the world for a subtest.
func (w *world) in(t testing.TB) *world {
	other := *w
	other.t = t
	return &other
}

// withKey adds a key to requests.
type withKey struct {
	key  string
	base *http.Transport
}

func (k *withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.base.RoundTrip(r)
}

// eras are the versions of clients with and without a handshake.
var eras = map[string]string{"stateful": "2025-11-25", "stateless": ""}

// connect connects a client of the SDK.
func (w *world) connect(key, path, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	transport := &http.Transport{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.url + path, HTTPClient: &http.Client{Transport: &withKey{key, transport}}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = session.Close()
		transport.CloseIdleConnections()
	})
	return session
}

// call returns the result of a call that is not an error of the protocol.
func (w *world) call(session *mcp.ClientSession, tool string, arguments map[string]any) *mcp.CallToolResult {
	w.t.Helper()
	result, err := session.CallTool(w.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// say calls a tool with a message and returns its text.
func (w *world) say(session *mcp.ClientSession, tool, message string) string {
	w.t.Helper()
	return textOf(w.call(session, tool, map[string]any{"message": message}))
}

func textOf(r *mcp.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "|")
}

func toolNames(t testing.TB, session *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// post sends a message over HTTP and returns the response.
func (w *world) post(key, path, body string, header ...string) (int, http.Header, string) {
	w.t.Helper()
	return w.send(http.MethodPost, key, path, body, header...)
}

func (w *world) send(method, key, path, body string, header ...string) (int, http.Header, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	transport := openapitest.Transport(w.t, &http.Transport{DisableKeepAlives: true}, w.http.OpenAPI)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}
