package fleet_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	commandtool "github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/dns/dnsmessage"
)

// callsTool returns a model that calls a tool in each turn, and then ends.
func callsTool(id string) *turntest.Answerer {
	return &turntest.Answerer{Answer: func(_ context.Context, _ string, n int) turntest.Answer {
		if n%2 == 0 {
			return turntest.Calls(fmt.Sprint("c", n), id, "{}")
		}
		return turntest.Answer{Text: "done"}
	}}
}

// startWithTools starts a process that knows the kinds of tools that tenants may add.
func startWithTools(t *testing.T, may string, exec *turntest.Answerer) *process {
	p := program{
		store: newStore(t), fromStore: true, exec: exec, dir: t.TempDir(),
		tools: []tools.Kind{httptool.Kind(), mcptool.Kind(), commandtool.Kind()},
	}
	return p.start(t, `
version: 1
providers: {p: {type: fake}}
models: {m: {provider_id: p, upstream_model: up}}
agents:
  clerk: {model_id: m, system_prompt: base, allowed_tools: []}
tenants: {may: `+may+`}
`)
}

// bringing returns an overlay that adds a tool and offers it to the clerk.
func bringing(id, tool string, offered string) string {
	return fmt.Sprintf(`{"version":1,"tools":{%q:%s},"patches":{"agents":{"clerk":{"allowed_tools":[%q]}}}}`, id, tool, offered)
}

// lastResult returns the last call result that the model received.
func (p *process) lastResult() string {
	text := ""
	for _, m := range p.exec.LastMessages("up") {
		if m.Role == model.RoleTool {
			data, err := json.Marshal(m)
			if err != nil {
				p.t.Fatal(err)
			}
			text = string(data)
		}
	}
	return text
}

// A tenant's tool of kind http makes real requests, only in turns of that tenant.
func TestATenantBringsAnHTTPTool(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = w.Write([]byte("forty-two"))
	}))
	t.Cleanup(server.Close)
	one := startWithTools(t, `{kinds: [http], allow_private: ["127.0.0.1"]}`, callsTool("crm"))
	one.mustPublishFor("acme", bringing("crm", fmt.Sprintf(`{"type":"http","description":"Finds.","url":%q,"allow_private":["127.0.0.1"]}`, server.URL), "crm"))
	one.expectOwnTool("forty-two", &calls)
}

// expectOwnTool expects calls to reach a server only for the tenant that added the tool.
func (p *process) expectOwnTool(answer string, calls *atomic.Int32) {
	p.t.Helper()
	if turn := p.run(alice, "clerk"); turn.Status != store.Succeeded || calls.Load() != 1 || !strings.Contains(p.lastResult(), answer) {
		p.t.Errorf("the turn is %s after %d calls: %s", turn.Status, calls.Load(), p.lastResult())
	}
	if turn := p.run(bob, "clerk"); turn.Status != store.Succeeded || calls.Load() != 1 || strings.Contains(p.lastResult(), answer) {
		p.t.Errorf("of another tenant, the turn is %s after %d calls: %s", turn.Status, calls.Load(), p.lastResult())
	}
}

// A tenant's MCP server is queried for its tools and called only in turns of that tenant.
func TestATenantBringsAnMCPServer(t *testing.T) {
	var calls atomic.Int32
	files := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(files, &mcp.Tool{Name: "read", Description: "Reads."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		calls.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "forty-two"}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return files }, nil))
	t.Cleanup(server.Close)
	one := startWithTools(t, `{kinds: [mcp], allow_private: ["127.0.0.1"]}`, callsTool("mcp__files__read"))
	one.mustPublishFor("acme", bringing("files", fmt.Sprintf(`{"type":"mcp","url":%q}`, server.URL), "mcp__files__read"))
	one.expectOwnTool("forty-two", &calls)
	one.stop()
}

// Tenant tools reach no private address that the base does not list, and no programs unless the
// base allows them.
func TestToolsOfTenantsAreBoundedByTheBase(t *testing.T) {
	for _, tt := range []struct {
		name, may, tool, path string
		code                  diag.Code
	}{
		{"http on this machine", `{kinds: [http]}`, `{"type":"http","url":"http://127.0.0.1:1/"}`, "tools.x.url", diag.InvalidValue},
		{"http on this machine, by name", `{kinds: [http]}`, `{"type":"http","url":"http://localhost:1/"}`, "tools.x.url", diag.InvalidValue},
		{"http in the cloud", `{kinds: [http]}`, `{"type":"http","url":"http://169.254.169.254/latest"}`, "tools.x.url", diag.InvalidValue},
		{"http that allows itself", `{kinds: [http]}`, `{"type":"http","url":"http://10.0.0.1/","allow_private":["10.0.0.0/8"]}`, "tools.x.allow_private[0]", diag.WidenedAccess},
		{"http that allows itself more", `{kinds: [http], allow_private: ["10.0.0.1"]}`, `{"type":"http","url":"http://10.0.0.1/","allow_private":["10.0.0.1","10.0.0.0/8"]}`, "tools.x.allow_private[1]", diag.WidenedAccess},
		{"mcp on this machine", `{kinds: [mcp]}`, `{"type":"mcp","url":"http://127.0.0.1:1/"}`, "tools.x.url", diag.InvalidValue},
		{"mcp on this machine, by name", `{kinds: [mcp]}`, `{"type":"mcp","url":"http://localhost:1/"}`, "tools.x.url", diag.InvalidValue},
		{"mcp on another port", `{kinds: [mcp], allow_private: ["127.0.0.1:2"]}`, `{"type":"mcp","url":"http://127.0.0.1:1/"}`, "tools.x.url", diag.InvalidValue},
		{"mcp where http is allowed", `{kinds: [http]}`, `{"type":"mcp","url":"https://mcp.example/"}`, "tools.x.type", diag.WidenedAccess},
		{"a program that speaks MCP", `{kinds: [mcp]}`, `{"type":"mcp","command":["ls"]}`, "tools.x.command", diag.WidenedAccess},
		{"a command", `{kinds: [http, mcp]}`, `{"type":"command","command":["ls"]}`, "tools.x.type", diag.WidenedAccess},
		{"a directory", `{kinds: [http]}`, `{"type":"http","url":"https://a.example/","$dir":"/etc"}`, `tools.x["$dir"]`, diag.WidenedAccess},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := startWithTools(t, tt.may, answersDone())
			_, err := one.publishFor("acme", bringing("x", tt.tool, "x"))
			invalid, ok := errors.AsType[*fleet.InvalidError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if errs := invalid.Findings.Errors(); errs[0].Path != tt.path || errs[0].Code != tt.code {
				t.Errorf("%v at %q", errs, errs[0].Path)
			}
			attempts, err := one.fleet.Tenant("acme").Attempts(t.Context(), fleet.Page{})
			if err != nil || len(attempts.Attempts) != 1 || attempts.Attempts[0].Outcome != store.RevisionRefused {
				t.Errorf("the attempts are %+v: %v", attempts, err)
			}
		})
	}
	for name, tt := range map[string]struct{ may, tool string }{
		"a command that is allowed":              {`{kinds: [command]}`, `{"type":"command","command":["true"],"description":"Does nothing."}`},
		"a program that is allowed":              {`{kinds: [mcp, command]}`, `{"type":"mcp","command":["false"]}`},
		"a private address that is allowed":      {`{kinds: [http], allow_private: ["10.0.0.0/8"]}`, `{"type":"http","description":"Finds.","url":"http://10.0.0.1/","allow_private":["10.0.0.0/8"]}`},
		"a public address":                       {`{kinds: [http]}`, `{"type":"http","description":"Finds.","url":"http://93.184.215.14/"}`},
		"a name, whatever it may resolve to":     {`{kinds: [http]}`, `{"type":"http","description":"Finds.","url":"http://crm.example/"}`},
		"the headers and the query of a request": {`{kinds: [http]}`, `{"type":"http","description":"Finds.","url":"http://crm.example/","headers":{"X-A":"{{q}}"},"query":{"q":"{{q}}"},"parameters":{"type":"object","properties":{"q":{"type":"string"}}}}`},
	} {
		one := startWithTools(t, tt.may, answersDone())
		if _, err := one.publishFor("acme", bringing("x", tt.tool, "x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		one.stop()
	}
}

// A name that resolves to a public address at publication and to this machine when the tool is
// called is rejected at the call: the dialed address counts.
func TestANameThatLeadsElsewhereLaterIsRefused(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const public, here = 93<<24 | 184<<16 | 215<<8 | 14, 127<<24 | 1
	var address atomic.Uint32
	lookedUp := answerNames(t, &address)
	for kind, offered := range map[string]string{"http": "crm", "mcp": "mcp__crm__find"} {
		one := startWithTools(t, `{kinds: [http, mcp]}`, callsTool(offered))
		tool := fmt.Sprintf(`{"type":%q,"url":"http://crm.acme.example:%s/"}`, kind, port)
		address.Store(public)
		if kind == "mcp" { // its server is queried for tools, and must not be external
			address.Store(here)
		}
		out, err := one.publishFor("acme", bringing("crm", tool, offered))
		if kind == "http" && err != nil {
			t.Fatal(err)
		}
		address.Store(here)
		if turn := one.run(alice, "clerk"); turn.Status != store.Succeeded || calls.Load() != 0 || strings.Contains(one.lastResult(), "127.0.0.1") {
			t.Errorf("%s: the turn is %s after %d calls: %s; %+v", kind, turn.Status, calls.Load(), one.lastResult(), out)
		}
		if kind == "http" && !strings.Contains(one.lastResult(), "crm.acme.example") {
			t.Errorf("the result is %s", one.lastResult())
		}
		one.stop()
	}
	if lookedUp.Load() == 0 {
		t.Error("the name was never looked up")
	}
}

// answerNames resolves all names in this process to an address until the test ends.
func answerNames(t *testing.T, address *atomic.Uint32) (asked *atomic.Int32) {
	asked = new(atomic.Int32)
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			asked.Add(1)
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte(binary.BigEndian.AppendUint32(nil, address.Load()))}}}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = conn.Close()
		<-ended
	})
	return asked
}
