package sessions

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	hosts "github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// openHosted returns a provider that runs at an address, as a configuration names it.
func openHosted(t *testing.T, id string, fake *providertest.Provider) backend.AgentProvider {
	t.Helper()
	return openHostedAs(t, hosts.Kinds(), id, fake)
}

// openHostedAs is openHosted with the kinds of providers.
func openHostedAs(t *testing.T, kinds []backend.AgentProviderKind, id string, fake *providertest.Provider) backend.AgentProvider {
	t.Helper()
	at := fake.Serve(t)
	for _, k := range kinds {
		if k.Type != "address" {
			continue
		}
		config := k.NewConfig()
		data, err := json.Marshal(map[string]any{"address": at.Provider, "host_address": at.Host, "health_interval": "1h", "drain_timeout": "1s"})
		if err == nil {
			err = json.Unmarshal(data, config)
		}
		if err != nil {
			t.Fatal(err)
		}
		hosted, err := k.Create(backend.AgentProviderSettings{ID: id, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, config)
		if err != nil {
			t.Fatal(err)
		}
		return hosted
	}
	t.Fatal("there is no kind address")
	return nil
}

// answerHosted works on the turns of hosted agents: "tools" lists the tools, "model" tells
// the model, "call X" calls one, and anything else is the answer.
func answerHosted(ctx context.Context, t *providertest.Turn) {
	text := t.Request.GetMessages()[len(t.Request.GetMessages())-1].GetText()
	listed, err := t.Tools(ctx, "")
	if err != nil && text == "tools" {
		t.Fail(err.Error())
		return
	}
	switch name, isCall := strings.CutPrefix(text, "call "); {
	case text == "tools":
		var names []string
		for _, l := range listed {
			names = append(names, l.GetMcpName())
		}
		slices.Sort(names)
		t.Succeed(strings.Join(names, " "))
	case text == "model":
		t.Succeed(t.Request.GetModel())
	case isCall:
		answer, err := t.Call(ctx, name, map[string]any{})
		if err != nil {
			t.Fail(err.Error())
			return
		}
		t.Succeed(answer.GetBody())
	default:
		t.Succeed(`{"said":"` + text + `"}`)
	}
}

// hostedProviders are sessions of agents at hosted providers: at an able one, and at one
// that can do nothing but answer.
var hostedProviders = map[string]settings.SessionProvider{
	"able": {Agent: "writer", Default: true, Aliases: map[string]string{"quick": "vendor/fast"}},
	"mute": {Agent: "mute"},
}

// hosting returns a world whose agents are at hosted providers.
func hosting(t *testing.T, change ...func(*service.Settings)) *world {
	t.Helper()
	can := &providerproto.AgentProviderCapabilities{
		StreamingText: true, ToolCalls: true, StructuredOutput: true, ReasoningSummaries: true, SupportsPreparedWorkspace: true,
		SupportedToolSources: []providerproto.AgentToolSourceMode{providerproto.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG},
	}
	rules := json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"burn","behavior":"deny"}]}`)
	at := func(target string) *spec.Endpoint { return &spec.Endpoint{Backend: spec.HostedBackend, Target: target} }
	rt, err := builder.New().
		WithAgentProvider("able", openHosted(t, "able", &providertest.Provider{Work: answerHosted, Capabilities: can})).
		WithAgentProvider("mute", openHosted(t, "mute", &providertest.Provider{Work: answerHosted})).
		WithAvailablePlugin("permission", permission.New()).
		WithTool("read", deed(tools.Read)).WithTool("list", deed(tools.Read)).WithTool("pay", deed(tools.Once)).WithTool("burn", deed(tools.Once)).
		WithAgentSpec(spec.Agent{
			ID: "writer", Endpoint: at("able"), PluginIDs: []string{"permission"}, Sections: spec.Sections{"permission": rules}, ExcludedTools: spec.Names{"list"},
		}).
		WithAgentSpec(spec.Agent{ID: "mute", Endpoint: at("mute")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return serving(t, hostedProviders, append(change, func(s *service.Settings) { s.Runtime = rt })...)
}

func TestATurnOfAHostedAgentHasWhatItsRequestNames(t *testing.T) {
	t.Parallel()
	w := hosting(t)
	for name, tt := range map[string]struct{ session, text, more, want string }{
		"the model of the turn":       {`{}`, "model", `,"model":"vendor/deep"`, "vendor/deep"},
		"the model of the session":    {`{"model":"vendor/slow"}`, "model", ``, "vendor/slow"},
		"an alias":                    {`{"model":"quick"}`, "model", ``, "vendor/fast"},
		"the model of the provider":   {`{}`, "model", ``, ""},
		"the safe tools":              {`{}`, "tools", ``, "read"},
		"a tool besides":              {`{}`, "tools", `,"toolRefs":[{"plugin":"pay"}]`, "pay read"},
		"a tool alone":                {`{}`, "tools", `,"toolSource":"explicit","toolRefs":[{"appName":"pay"}]`, "pay"},
		"no tools":                    {`{}`, "tools", `,"toolRefs":[]`, ""},
		"all of the agent's":          {`{}`, "tools", `,"toolRefs":[{"plugin":"*"}]`, "pay read"},
		"a call":                      {`{}`, "call pay", `,"toolRefs":[{"plugin":"pay"}]`, `{"done":true}`},
		"a call that was not granted": {`{}`, "call pay", `,"toolRefs":[]`, `there is no tool "pay"`},
		"a provider without tools":    {`{"provider":"mute"}`, "hello", `,"toolRefs":[]`, `{"said":"hello"}`},
		"one that names nothing":      {`{"provider":"mute","model":"any"}`, "model", ``, "any"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := do[sessionView](w, "POST /agent/sessions", tt.session)
			if got := w.until(w.say(s.ID, tt.text, tt.more).ID, "succeeded").OutputText; got != tt.want {
				t.Errorf("it answers %q and should answer %q", got, tt.want)
			}
		})
	}
	s := do[sessionView](w, "POST /agent/sessions", `{}`)
	if got := w.until(w.say(s.ID, "call burn", `,"toolRefs":[{"plugin":"burn"}]`).ID, "succeeded").OutputText; got != `there is no tool "burn"` {
		t.Errorf("a call against the rules answers %q", got)
	}
}

func TestWhatAHostedProviderCannotDoIsRefused(t *testing.T) {
	t.Parallel()
	w := hosting(t)
	for name, tt := range map[string]struct {
		provider, more string
		status         int
		text           string
	}{
		"tools":                  {"mute", `,"toolRefs":[{"plugin":"read"}]`, http.StatusPreconditionFailed, "tool_calls"},
		"a tool source":          {"mute", `,"toolSource":"mcp_catalog"`, http.StatusPreconditionFailed, "tool_calls"},
		"a form of the answer":   {"mute", `,"responseSchema":{"type":"object"}`, http.StatusPreconditionFailed, "structured_output"},
		"an excluded tool":       {"able", `,"toolRefs":[{"plugin":"list"}]`, http.StatusNotFound, `tool "list" not found`},
		"a tool that is unknown": {"able", `,"toolRefs":[{"plugin":"reed"}]`, http.StatusNotFound, `did you mean "read"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := do[sessionView](w, "POST /agent/sessions", `{"provider":"`+tt.provider+`"}`)
			code, text := w.ask("alice", "POST /agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"x"}]`+tt.more+`}`)
			if code != tt.status || !strings.Contains(text, strings.ReplaceAll(tt.text, `"`, `\"`)) {
				t.Errorf("it is answered with %d: %s", code, text)
			}
		})
	}
	s := do[sessionView](w, "POST /agent/sessions", `{}`)
	turn := w.until(w.say(s.ID, "x", `,"responseSchema":{"type":"object"}`).ID, "succeeded")
	if string(turn.StructuredOutput) != `{"said":"x"}` {
		t.Errorf("the answer is %s", turn.StructuredOutput)
	}
}

func TestProvidersShowWhatTheyCanDo(t *testing.T) {
	t.Parallel()
	type list struct {
		Providers []struct {
			Name         string
			Capabilities map[string]any
		}
	}
	manager, err := workspace.New(workspace.Settings{
		Dir: t.TempDir(), Store: "test", Repositories: []string{"git.example.com/a/*"}, Protocols: []string{"https"}, Timeout: time.Minute, MaxBytes: 1 << 20, Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	withSpaces := func(s *service.Settings) { s.Workspaces = manager }
	shown := make(map[string]map[string]any)
	spaces := hosting(t, withSpaces)
	for prefix, w := range map[string]*world{"hosted/": hosting(t), "spaces/": spaces, "local/": serving(t, twoProviders)} {
		for _, p := range do[list](w, "GET /agent/providers", "").Providers {
			shown[prefix+p.Name] = p.Capabilities
		}
	}
	for name, want := range map[string]string{
		"local/clerk": "boundedListHydration interactions parallelToolCalls reasoningSummaries resumableTurns streamingText structuredOutput supportsSessionStart toolCalls",
		"hosted/able": "boundedListHydration interactions reasoningSummaries streamingText structuredOutput supportsSessionStart toolCalls",
		"spaces/able": "boundedListHydration interactions reasoningSummaries streamingText structuredOutput supportsPreparedWorkspace supportsSessionStart toolCalls",
		"hosted/mute": "boundedListHydration supportsSessionStart",
		"spaces/mute": "boundedListHydration supportsSessionStart",
	} {
		var has []string
		for key, value := range shown[name] {
			if value == true {
				has = append(has, key)
			}
		}
		slices.Sort(has)
		if got := strings.Join(has, " "); got != want {
			t.Errorf("%s has %s, and should have %s", name, got, want)
		}
	}
	if sources := shown["hosted/mute"]["supportedToolSources"]; len(sources.([]any)) != 0 {
		t.Errorf("a provider without tools has the sources %v", sources)
	}
	asked := workspace.Request{Checkouts: []workspace.Checkout{{URL: "https://git.example.com/a/b", Path: "b"}}, Cwd: "b"}
	body := strings.Replace(workspaceBody(t, asked), "{", `{"provider":"mute",`, 1)
	if code, text := spaces.ask("alice", "POST /agent/sessions", body); code != http.StatusPreconditionFailed || !strings.Contains(text, "supports_prepared_workspace") {
		t.Errorf("a workspace at a provider that works in none: %d %s", code, text)
	}
}

// TestATurnIsSuspendedWhileItsProviderCreatesIt has a provider that does not keep its turns call a
// tool inside CreateTurn, which somebody has to approve.
func TestATurnIsSuspendedWhileItsProviderCreatesIt(t *testing.T) {
	t.Parallel()
	fake := &providertest.Provider{
		Work:         func(_ context.Context, turn *providertest.Turn) { turn.Succeed("Done.") },
		Capabilities: &providerproto.AgentProviderCapabilities{ToolCalls: true},
	}
	creates, paid := 0, ""
	fake.Intercept = func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if create, ok := in.(*providerproto.CreateAgentProviderTurnRequest); ok {
			creates++
			paid = fake.CallFor(ctx, create, "c1", "pay", map[string]any{})
		}
		return handle(ctx, in)
	}
	rt, err := builder.New().WithAgentProvider("able", openHosted(t, "able", fake)).
		WithAvailablePlugin("permission", permission.New()).WithTool("pay", deed(tools.Once)).
		WithAgentSpec(spec.Agent{
			ID: "writer", Endpoint: &spec.Endpoint{Backend: spec.HostedBackend, Target: "able"},
			PluginIDs: []string{"permission"}, Sections: spec.Sections{"permission": json.RawMessage(`{"default_behavior":"ask"}`)},
		}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	w := serving(t, map[string]settings.SessionProvider{"able": {Agent: "writer", Default: true}}, func(s *service.Settings) { s.Runtime = rt })
	s := do[sessionView](w, "POST /agent/sessions", `{}`)
	turn := w.say(s.ID, "Go.", `,"toolRefs":[{"plugin":"pay"}]`)
	w.until(turn.ID, "waiting_for_input")
	asked := do[[]interactionView](w, "GET /agent/turns/"+turn.ID+"/interactions", "")
	if len(asked) != 1 {
		t.Fatalf("there are %d interactions", len(asked))
	}
	do[any](w, "POST /agent/turns/"+turn.ID+"/interactions/"+asked[0].ID+"/resolve", `{"resolution":{"approved":true}}`)
	if got := w.until(turn.ID, "succeeded").OutputText; got != "Done." || creates != 1 || paid != `{"done":true}` {
		t.Errorf("the turn answers %q after %d requests, and the tool returned %s", got, creates, paid)
	}
}
