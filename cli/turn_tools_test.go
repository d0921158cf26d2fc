package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// bring makes a turn's own tool, in a program that may reach hosts on private networks.
func bring(t *testing.T, private []string, kind, description string) []resolve.EphemeralTool {
	t.Helper()
	c := shipped.Components()
	maker := c.TurnTools(&config.File{Server: settings.Server{AgentRuns: settings.ServerAgentRuns{AllowPrivate: private}}}, zap.NewNop())
	made, release, err := maker.Make(t.Context(), []service.EphemeralTool{{Kind: kind, Config: json.RawMessage(description)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return made
}

// quiet drops the output of running tools. The tools use no other method of it.
type quiet struct{ tools.Host }

func (quiet) Progress(string) {}

// say calls a tool with arguments and returns the text of its result.
func say(t *testing.T, made []resolve.EphemeralTool, id, arguments string) (string, error) {
	t.Helper()
	i := slices.IndexFunc(made, func(m resolve.EphemeralTool) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("there is no tool %s among %v", id, made)
	}
	got, err := made[i].Tool.Call(t.Context(), &tools.Call{ID: "call_1", Tool: id, Arguments: json.RawMessage(arguments), IdempotencyKey: "key_1", Host: quiet{}, Session: tools.NoSession})
	if err != nil || len(got.Content) == 0 {
		return "", err
	}
	return got.Content[0].Text, nil
}

// loopback lists the hosts that tests may reach.
var loopback = []string{"127.0.0.1"}

func TestARunReachesTheAgentThatItNames(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, guarded, oneReply)
	at := func(path, key string) string {
		return `{"kind": "a2a", "name": "clerk", "agentCardUrl": "` + s.LocalURL() + path + `", "headers": {"Authorization": "Bearer ` + key + `"}}`
	}
	agent := func(key string) string { return at("/a2a/a/.well-known/agent-card.json", key) }
	for path, about := range map[string]string{
		"/a2a/a/.well-known/agent-card.json":                    "version 1.0",
		"/api/a2a/default/agents/a/.well-known/agent-card.json": "version 0.3",
		"/api/a2a/default/agents/a":                             "version 0.3 without a card",
	} {
		if got, err := say(t, bring(t, loopback, "a2a", at(path, rightKey)), "clerk", `{"message": "Hello"}`); err != nil || got != "Hi." {
			t.Errorf("the agent by %s says %q, %v", about, got, err)
		}
	}
	if _, err := say(t, bring(t, loopback, "a2a", agent("ark_wrong-wrong")), "clerk", `{"message": "Hello"}`); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "ark_wrong") {
		t.Errorf("the error is %v", err)
	}
	if _, err := say(t, bring(t, nil, "a2a", agent(rightKey)), "clerk", `{"message": "Hello"}`); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("the error is %v", err)
	}
}

func TestARunReachesTheServerOfToolsThatItNames(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	shop := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(shop.Close)
	description := `{"kind": "mcp", "name": "shop", "url": "` + shop.URL + `"}`
	if got, err := say(t, bring(t, loopback, "mcp", description), "shop_greet", `{"name": "Ada"}`); err != nil || got != "Hello, Ada" {
		t.Errorf("the tool says %q, %v", got, err)
	}
	if _, err := say(t, bring(t, nil, "mcp", description), "shop_unavailable", `{}`); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("the error is %v", err)
	}
}
