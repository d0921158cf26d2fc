package runsclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func TestAnAgentOfTheClientIsAsked(t *testing.T) {
	t.Parallel()
	card := object{"name": "Peer", "description": "Knows itself.", "skills": []any{object{"id": "s", "name": "Self", "colour": "red"}}, "colour": object{"of": "mine"}}
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		peer := runsclient.LocalAgent("peer", card, func(_ context.Context, message string) (string, error) {
			return "I am the peer, and was asked " + message, nil
		})
		events := succeeds(t, c, ask("agent", "Go.", peer), "It is the peer.")
		expect(t, events, "local_tool_call", object{"name": "peer", "kind": "a2a_local", "args": object{"message": "who are you?"}, "agentCard": card})
		expect(t, events, "local_tool_result_in", object{"result": "I am the peer, and was asked who are you?"})
	})
}

func TestAServerOfTheClientIsCalled(t *testing.T) {
	t.Parallel()
	tools := []object{
		{"name": "read-file", "description": "Reads.", "annotations": object{"readOnlyHint": true}, "colour": "red"},
		{"name": "write", "inputSchema": object{"type": "object"}},
	}
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		server := runsclient.LocalServer("fs", tools, func(_ context.Context, tool string, args object) (string, error) {
			if tool != "read-file" || args["extra"] != true {
				t.Errorf("%s is called with %v", tool, args)
			}
			return "the notes", nil
		})
		events := succeeds(t, c, ask("local_server", "Go.", server), "I read the notes.")
		expect(t, events, "local_tool_call", object{
			"name": "read-file", "kind": "mcp_local", "mcpServer": "fs", "mcpToolName": "read-file", "mcpServerInfo": object{"name": "fs", "version": "1"},
		})
		delete(server.Ref, "serverInfo")
		events = succeeds(t, c, ask("local_server", "Go.", server), "I read the notes.")
		expect(t, events, "local_tool_call", object{"mcpServerInfo": nil})
	})
}

// remoteFiles starts an MCP server with two tools that records its clients' keys.
func remoteFiles(t *testing.T) (url string, seen *keys) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	type path struct {
		Path string `json:"path"`
	}
	for _, name := range []string{"read", "erase"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, path) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the notes"}}}, nil, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	seen = new(keys)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.Header.Get("X-Key"))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		remote.CloseClientConnections()
		remote.Close()
	})
	return remote.URL, seen
}

func TestAToolOfAPluginIsCalled(t *testing.T) {
	t.Parallel()
	url, _ := remoteFiles(t)
	plugin := filepath.Join(t.TempDir(), "plugin.yaml")
	if err := os.WriteFile(plugin, fmt.Appendf(nil, "version: 1\ntools: {files: {type: mcp, url: %q}}\n", url), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveAlone(t, plugin).client(runsclient.Go)
	for _, name := range []string{"@files/read", "mcp__files__read"} {
		events := succeeds(t, c, ask("plugin", "Go.", runsclient.Tool{Ref: object{"kind": "mantyx_plugin", "name": name}}), "I read the notes.")
		expect(t, events, "tool_call", object{"name": "mcp__files__read", "input": object{"path": "notes"}})
		expect(t, events, "tool_result", object{"ok": true, "result": "the notes"})
	}
	_, err := c.Create(t.Context(), ask("plugin", "Go.", runsclient.Tool{Ref: object{"kind": "mantyx_plugin", "name": "@files/nothing"}}))
	refused(t, err, 400, "invalid_plugin")
}

func TestAnMCPServerIsCalled(t *testing.T) {
	t.Parallel()
	url, seen := remoteFiles(t)
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		files := runsclient.Tool{Ref: object{"kind": "mcp", "name": "files", "url": url, "headers": object{"X-Key": "secret-1"}, "toolFilter": []string{"read"}}}
		r, err := c.Run(t.Context(), ask("remote_server", "Go.", files))
		if err != nil || r.Text != "I read the notes." {
			t.Fatal(err, shown(r))
		}
		expect(t, r.Events, "tool_call", object{"toolUseId": "call_a", "name": "files_read"})
		expect(t, r.Events, "tool_result", object{"toolUseId": "call_a", "name": "files_read", "ok": true, "result": "the notes"})
		keptSecret(t, c, r.RunID)
		if got := seen.only(); got != "secret-1" {
			t.Errorf("the server was shown %q", got)
		}
	})
}

// keptSecret checks that a run does not expose its secret.
func keptSecret(t *testing.T, c *runsclient.Client, runID string) {
	t.Helper()
	resp, err := c.Do(t.Context(), http.MethodGet, c.Path("agent-runs", runID), nil)
	if err != nil || strings.Contains(string(resp.Body), "secret-1") {
		t.Errorf("the snapshot is %s, %v", resp.Body, err)
	}
}

func TestAnMCPServerThatIsAwayIsATool(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	files := runsclient.Tool{Ref: object{"kind": "mcp", "name": "files", "url": gone.URL}}
	events := succeeds(t, serve(t).client(runsclient.Go), ask("away", "Go.", files), "The files are away.")
	expect(t, events, "tool_call", object{"name": "files_unavailable"})
	expect(t, events, "tool_result", object{"name": "files_unavailable"})
}

// keys are the headers received by a server.
type keys struct {
	mu  sync.Mutex
	all []string
}

func (k *keys) add(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, key)
}

// only returns the value common to all requests.
func (k *keys) only() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.all {
		if key != k.all[0] {
			return strings.Join(k.all, ", ")
		}
	}
	return strings.Join(k.all[:min(len(k.all), 1)], "")
}

func TestAPeerIsAskedWhereItAnswers(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	for name, p := range map[string]*peer{
		"JSON-RPC": {path: "/"}, "rpc": {path: "/rpc"}, "REST": {path: "/message:send"}, "REST with a slash": {path: "/message/send"}, "1.0": {path: "/", latest: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := httptest.NewServer(p)
			defer remote.Close()
			tool := runsclient.Tool{Ref: object{
				"kind": "a2a", "name": "peer", "agentCardUrl": remote.URL + "/.well-known/agent-card.json", "headers": object{"X-Key": "secret-1"}, "contextId": "ctx-1",
			}}
			r, err := c.Run(t.Context(), ask("agent", "Go.", tool))
			if err != nil || r.Text != "It is the peer." {
				t.Fatal(err, shown(r))
			}
			expect(t, r.Events, "tool_call", object{"name": "peer", "input": object{"message": "who are you?"}})
			expect(t, r.Events, "tool_result", object{"name": "peer", "ok": true, "result": "I am the peer."})
			keptSecret(t, c, r.RunID)
			if p.seen.only() != "secret-1" {
				t.Errorf("the peer was shown %q", p.seen.only())
			}
			if p.context != "ctx-1" || p.asked != "who are you?" {
				t.Errorf("the peer was asked %q in the context %q", p.asked, p.context)
			}
		})
	}
}

func TestAnAgentIsAPeer(t *testing.T) {
	t.Parallel()
	p := serve(t)
	c := p.client(runsclient.Go)
	reply, err := c.Ask(t.Context(), "helper", "Hi.")
	if err != nil {
		t.Fatal(err)
	}
	if reply.Kind != "message" || reply.Role != "agent" || reply.MessageID == "" || len(reply.Parts) != 1 || reply.Parts[0].Text != "Hello there, whoever you are." {
		t.Errorf("the reply is %+v", reply)
	}
	want := object{
		"tokens": object{"inputTokens": 20.0, "cachedTokens": 5.0, "outputTokens": 8.0, "reasoningTokens": 2.0}, "turns": 1.0,
		"model": object{"id": "platform:hello", "provider": "hello", "vendorModelId": "hello-1"},
	}
	if diff := cmp.Diff(want, reply.Metadata.Mantyx); diff != "" {
		t.Errorf("the cost differs (-want +got):\n%s", diff)
	}
	if _, err := c.Ask(t.Context(), "nobody", "Hi."); err == nil {
		t.Error("nobody answers")
	}
	_, err = p.with(old).Ask(t.Context(), "helper", "Hi.")
	refused(t, err, 401, "unauthorized")
	for _, path := range []string{"/api/a2a/acme/discovery", "/api/a2a/acme/agents/helper/.well-known/agent-card.json"} {
		resp, err := c.Do(t.Context(), http.MethodGet, path, nil)
		if err != nil || resp.Status != http.StatusOK || !strings.Contains(string(resp.Body), "helper") {
			t.Errorf("%s: %+v, %v", path, resp, err)
		}
	}
}
