package mcp

import (
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// Settings configures the surface. Service is required and must have a runtime.
type Settings struct {
	Service *service.Service
	// PublicURL returns the server's public URL; nil over stdio.
	PublicURL func() string
	// Origins are other sites whose pages may use the server; * allows all.
	Origins []string
	// Issuer returns the authorization server of OAuth clients; nil or empty if absent.
	Issuer func() string
	// Draining reports whether the server is shutting down; nil means never.
	Draining func() bool
	// Prompts and Resources are offered to all clients.
	Prompts   []settings.MCPPrompt
	Resources []settings.MCPResource
	// Version is the program version shown to clients.
	Version string
	// KeepAlive is the interval of comments on an idle stream; 0 means server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

const (
	// sessionIdle is how long an MCP session without requests stays open.
	sessionIdle = 30 * time.Minute
	// maxSessions bounds the MCP sessions of one key.
	maxSessions = 256
	// replayBytes limits the messages kept for resumed streams.
	replayBytes = 10 << 20
)

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	settings Settings
	server   *mcp.Server
	// stateful serves the protocol versions with a handshake, stateless the later ones.
	stateful, stateless http.Handler
	// taskAfter is how long a call takes before it becomes a task.
	taskAfter time.Duration

	mu sync.Mutex
	// owners maps the ids of open MCP sessions to the keys that opened them.
	owners  map[string]string
	closed  bool
	waiting sync.WaitGroup
}

// Close ends all MCP sessions and waits for them. Their turns continue.
func (s *Surface) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for session := range s.server.Sessions() {
		_ = session.Close() // the client may be gone
	}
	s.waiting.Wait()
}

// isClosed reports whether Close was called.
func (s *Surface) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
