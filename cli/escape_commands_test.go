package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/testkit/escapetest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const attackConfig = `version: 1
store: {driver: sqlite, dsn: ./runtime.db}
providers: {d: {type: scripted, script: ./replies.yaml}}
models: {m: {provider_id: d, upstream_model: "x` + escapetest.Attack + `"}}
tools:
  look: {type: command, description: "Looks.` + escapetest.Attack + `", command: [printf, 'a\033[2J\302\2338m\rb']}
agents:
  a: {model_id: m, description: "Helps.` + escapetest.Attack + `", system_prompt: "Help.` + escapetest.Attack + `"}
`

const attackReplies = `replies:
  - match: Go
    tool_calls: [{id: call_1, name: look, arguments: {"x": "` + escapetest.Attack + `"}}]
  - {match: Fail, error: {class: invalid_request, message: "no` + escapetest.Attack + `"}}
fallback: {text: "before` + escapetest.Attack + `after"}
`

// attackedCommands has, for each command, command lines that attack the terminal: SERVER is a
// server with attacking answers, TURN a turn with an attacking model and tool, and ESC an attacking
// argument. Without any, the command shows no foreign text.
var attackedCommands = map[string][]string{
	"": {"ESC"}, "init": nil, "schema": nil, "models": {"models ESC"}, "man": nil, "version": nil, "help": nil, "keys": nil, "keys new": nil,
	"completion": nil, "completion bash": nil, "completion zsh": nil, "completion fish": nil, "completion powershell": nil,
	"provider": nil, "revisions": nil, "tenants": nil, "tenants variables": nil,
	"workflows": nil, "workflows runs": nil, "workflows schedules": nil, "workflows triggers": nil,

	"validate":         {"validate bad.yaml", "validate bad.yaml --format github", "validate bad.yaml --format json", "validate bad.yaml --format sarif", "validate config.yaml --agent ESC", "validate live.yaml --online", "validate peers.yaml --online"},
	"explain":          {"explain config.yaml a", "explain config.yaml a --format json", "explain bad.yaml b", "explain a --server SERVER", "explain live.yaml a", "explain live.yaml a --format json"},
	"diff":             {"diff bad.yaml config.yaml", "diff config.yaml --server SERVER"},
	"eval":             {"eval config.yaml cases.yaml --live", "eval config.yaml cases.yaml --live --format json", "eval config.yaml cases.yaml --live --format github", "eval config.yaml bad-cases.yaml"},
	"eval add":         {"eval add config.yaml ESC", "eval add --server SERVER x"},
	"eval schema":      nil,
	"mcp":              {"mcp bad.yaml", "mcp config.yaml ESC"},
	"doctor":           {"doctor SERVER --allow-private 127.0.0.1"},
	"run":              {"run config.yaml a Go", "run config.yaml a Go --format json", "run config.yaml a Go --format events", "run config.yaml a Fail", "run --server SERVER a Go"},
	"chat":             {"chat config.yaml a --plain --message Go", "chat config.yaml a --plain --message Fail", "chat --server SERVER a --plain"},
	"serve":            {"serve bad.yaml"},
	"provider serve":   {"provider serve bad.yaml"},
	"sessions":         {"sessions config.yaml --format json --agent a", "sessions --server SERVER"},
	"sessions export":  {"sessions export config.yaml S", "sessions export --server SERVER S"},
	"sessions import":  {"sessions import --server SERVER"},
	"turns":            {"turns --server SERVER"},
	"turns create":     {"turns create bad.yaml b Go", "turns create --server SERVER a Go"},
	"turns cancel":     {"turns cancel config.yaml ESC", "turns cancel --server SERVER x"},
	"turns resolve":    {"turns resolve config.yaml ESC call --approve", "turns resolve --server SERVER x call --approve"},
	"turns transcript": {"turns transcript config.yaml TURN", "turns transcript config.yaml TURN --format json", "turns transcript --server SERVER x"},
	"events":           {"events config.yaml TURN", "events config.yaml TURN --format json", "events config.yaml TURN --follow", "events --server SERVER x"},
	"migrate":          {"migrate bad.yaml"},
	"keys refresh":     {"keys refresh config.yaml ESC"},
	"login":            {"login config.yaml ESC", "login ESC --server SERVER"},
	"logout":           {"logout config.yaml ESC", "logout ESC --server SERVER"},
	"apply":            {"apply bad.yaml --server SERVER", "apply config.yaml --server SERVER"},

	"revisions list": {"revisions list --server SERVER"}, "revisions show": {"revisions show 7 --server SERVER"},
	"revisions diff": {"revisions diff 7 8 --server SERVER"}, "revisions rollback": {"revisions rollback 7 --server SERVER"},
	"tenants list": {"tenants list --server SERVER"}, "tenants show": {"tenants show acme --server SERVER"},
	"tenants check": {"tenants check acme --server SERVER"}, "tenants variables list": {"tenants variables list acme --server SERVER"},
	"tenants variables set": {"tenants variables set acme X --server SERVER"}, "tenants variables delete": {"tenants variables delete acme X --server SERVER"},
	"workflows publish":   {"workflows publish --server SERVER --type x --source y"},
	"workflows runs list": {"workflows runs list --server SERVER"}, "workflows runs show": {"workflows runs show x --server SERVER"},
	"workflows runs cancel":    {"workflows runs cancel x --server SERVER"},
	"workflows runs answer":    {"workflows runs answer x call --server SERVER --approve"},
	"workflows schedules list": {"workflows schedules list --server SERVER"}, "workflows schedules show": {"workflows schedules show x --server SERVER"},
	"workflows schedules create": {"workflows schedules create --server SERVER --cron @daily --agent a --prompt Go"},
	"workflows schedules update": {"workflows schedules update x --server SERVER --cron @daily"},
	"workflows schedules delete": {"workflows schedules delete x --server SERVER"}, "workflows schedules pause": {"workflows schedules pause x --server SERVER"},
	"workflows schedules resume": {"workflows schedules resume x --server SERVER"},
	"workflows triggers list":    {"workflows triggers list --server SERVER"}, "workflows triggers show": {"workflows triggers show x --server SERVER"},
	"workflows triggers create": {"workflows triggers create --server SERVER --type x --agent a --prompt Go"},
	"workflows triggers update": {"workflows triggers update x --server SERVER --source y"},
	"workflows triggers delete": {"workflows triggers delete x --server SERVER"}, "workflows triggers pause": {"workflows triggers pause x --server SERVER"},
	"workflows triggers resume": {"workflows triggers resume x --server SERVER"},
}

// TestNoCommandLetsOthersControlTheTerminal runs each command with a configuration, a
// model, a tool, arguments or a server that attack the terminal.
func TestNoCommandLetsOthersControlTheTerminal(t *testing.T) {
	t.Chdir(filesIn(t, map[string]string{
		"config.yaml": attackConfig, "replies.yaml": attackReplies,
		"cases.yaml":     "version: 1\ncases: {c: {agent: a, tools: {look: {real: true}}, turns: [{prompt: Go, expect: {text: {equals: \"x" + escapetest.Attack + "\"}}}]}}\n",
		"bad-cases.yaml": "version: 1\ncases: {c: {agent: a, turns: [{prompt: Go}], \"x" + escapetest.Attack + "\": 1}}\n",
		"bad.yaml":       "version: 1\nproviders: {d: {type: scripted}}\nmodels: {m: {provider_id: d, upstream_model: x}}\nagents: {b: {model_id: \"gpt" + escapetest.Attack + "\"}}\nstore: {driver: sqlite, dsn: ./bad.db, \"x" + escapetest.Attack + "\": 1}\n",
	}))
	t.Setenv("GESTALT_PLUGIN_SOCKET", "unix://"+t.TempDir()+"/socket")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.URL.Path, ".well-known") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, `{"name": "peer`+escapetest.Attack+`\n`+escapetest.ForgedLine+`", "error": {"code": "bad_request", "message": "no`+escapetest.Attack+`\n`+escapetest.ForgedLine+`"}}`)
	}))
	t.Cleanup(server.Close)
	writeLive(t, server.URL)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	execute := func(line string) string {
		var out, errs bytes.Buffer
		in := strings.NewReader(`{"x": "y"}`)
		run(ctx, strings.Fields(line), terminal.Streams{In: in, Out: &out, Err: &errs})
		return out.String() + errs.String()
	}
	execute("run config.yaml a Go --session S")
	execute("validate live.yaml --online") // learns the tools
	var list struct {
		Turns []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(execute("turns config.yaml --format json")), &list); err != nil || len(list.Turns) != 1 {
		t.Fatalf("turns %v: %v", list, err)
	}
	words := strings.NewReplacer("SERVER", server.URL, "TURN", list.Turns[0].ID, "ESC", "\x1b[2J\u202e")
	root := newRoot(silentProgram())
	var known []string
	for _, cmd := range shownCommands(root) {
		path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), root.Name()))
		known = append(known, path)
		lines, ok := attackedCommands[path]
		if !ok {
			t.Errorf("say with which command lines others attack the terminal through %q", path)
		}
		if lines == nil && cmd.Runnable() && cmd.Flags().Lookup("server") != nil {
			t.Errorf("%q shows what a server answers", path)
		}
		for _, line := range lines {
			shown := execute(words.Replace(line))
			if !escapetest.IsInert(shown) {
				t.Errorf("%s controls the terminal: %q", line, shown)
			}
			if strings.Contains("\n"+shown, "\n"+escapetest.ForgedLine) {
				t.Errorf("%s lets others forge a line: %s", line, shown)
			}
			if !strings.Contains(shown, escapetest.Mark) && !slices.Contains(silentLines, line) {
				t.Errorf("%s does not show the attack: %q", line, shown)
			}
		}
	}
	for path := range attackedCommands {
		if !slices.Contains(known, path) {
			t.Errorf("there is no command %q", path)
		}
	}
}

// silentLines are command lines that show ids, which cannot hold an attack, or no text from peers
// and tool servers.
var silentLines = []string{"sessions config.yaml --format json --agent a", "explain live.yaml a", "explain live.yaml a --format json", "validate live.yaml --online", "validate peers.yaml --online"}

// writeLive writes live.yaml, whose agents are at a peer and have MCP tools that attack the
// terminal.
func writeLive(t *testing.T, peer string) {
	t.Helper()
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools" + escapetest.Text, Version: escapetest.Text}, &mcp.ServerOptions{Instructions: escapetest.Text})
	mcp.AddTool(tools, &mcp.Tool{Name: "look", Title: escapetest.Text, Description: "Looks." + escapetest.Text}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New(escapetest.Text)
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(server.Close)
	text := "version: 1\nproviders: {d: {type: scripted}}\nmodels: {m: {provider_id: d, upstream_model: x}}\ntools: {live: {type: mcp, url: " + server.URL + "}}\n" +
		"agents: {a: {model_id: m}}\n"
	peers := "version: 1\nagents: {far: {endpoint: {backend: a2a, base_url: " + peer + "}}}\nremote_agents: [{name: peers, backend: a2a, base_url: " + peer + "}]\n"
	for name, text := range map[string]string{"live.yaml": text, "peers.yaml": peers} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
