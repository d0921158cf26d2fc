package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newLarge returns a server with as many tools as a server may have.
func newLarge() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "large", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"The query."},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["query"]}`)
	for i := range maxTools {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Searches something.", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return textResult("done"), nil
		})
	}
	return s
}

// largePeer serves newLarge over HTTP.
func largePeer(b *testing.B) *peer {
	b.Helper()
	p := &peer{fakes: []*mcp.Server{newLarge()}}
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.fakes[0] }, nil)
	p.handler.Store(&h)
	p.listen(b)
	return p
}

// connectPlain connects the library's client to a server.
func connectPlain(b *testing.B, p *peer) *mcp.ClientSession {
	b.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: p.URL}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return session
}

// BenchmarkListing compares how long the library takes to list 512 tools, and how long the
// runtime takes until an agent could use them.
func BenchmarkListing(b *testing.B) {
	p := largePeer(b)
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			session := connectPlain(b, p)
			if r, err := session.ListTools(b.Context(), nil); err != nil || len(r.Tools) != maxTools {
				b.Fatal(err)
			}
			_ = session.Close()
		}
	})
	start := func(b *testing.B, c *config) {
		made, err := newTools(tools.Settings{ID: "large"}, c)
		if err != nil {
			b.Fatal(err)
		}
		s := made.(*server)
		if !s.Known() {
			if err := s.Refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if members, _ := s.Members(); len(members) != maxTools {
			b.Fatal(len(members))
		}
		_ = s.Close()
	}
	b.Run("runtime without a catalog", func(b *testing.B) {
		for b.Loop() {
			start(b, &config{URL: p.URL, Catalog: filepath.Join(b.TempDir(), "c.json")})
		}
	})
	b.Run("runtime with a catalog", func(b *testing.B) {
		c := &config{URL: p.URL, Catalog: filepath.Join(b.TempDir(), "c.json")}
		for b.Loop() {
			start(b, c)
		}
	})
}

// BenchmarkCall compares a call of the library with one of the runtime.
func BenchmarkCall(b *testing.B) {
	p := largePeer(b)
	b.Run("library", func(b *testing.B) {
		session := connectPlain(b, p)
		for b.Loop() {
			if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "tool_1", Arguments: json.RawMessage(`{"query":"x"}`)}); err != nil {
				b.Fatal(err)
			}
		}
		_ = session.Close()
	})
	b.Run("runtime", func(b *testing.B) {
		made, err := newTools(tools.Settings{ID: "large"}, &config{URL: p.URL, Catalog: filepath.Join(b.TempDir(), "c.json")})
		if err != nil {
			b.Fatal(err)
		}
		s := made.(*server)
		if err := s.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
		members, _ := s.Members()
		entry, _ := toolset.Compile(members[1].ID, members[1].Tool, toolset.Source{Kind: toolset.SourceGlobal})
		h := new(host)
		for b.Loop() {
			if r := entry.Execute(b.Context(), &tools.Call{ID: "call_1", Tool: entry.ID, Arguments: json.RawMessage(`{"query":"x"}`), Host: h}); r.IsError {
				b.Fatal(r.Content)
			}
		}
		_ = s.Close()
	})
}
