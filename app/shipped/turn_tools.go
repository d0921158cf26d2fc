package shipped

import (
	"context"

	a2acall "github.com/agentruntime/agentruntime/backend/a2a/call"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
	"go.uber.org/zap"
)

// newTurnTools creates the tools in requests for runs: tools executed by clients, and tools of MCP
// servers and agents named in a request.
func newTurnTools(f *config.File, logger *zap.Logger) service.TurnTools {
	private := f.Server.AgentRuns.AllowPrivate
	return agentruns.NewTurnTools(agentruns.TurnToolsSettings{
		Logger: logger,
		CallPeer: func(ctx context.Context, c agentruns.PeerCall) (string, error) {
			call := a2acall.Request{
				CardURL: c.CardURL, Headers: c.Headers, ContextID: c.ContextID, Text: c.Message, MessageID: c.MessageID, AllowPrivate: private,
			}
			return call.Ask(ctx)
		},
		ConnectMCP: func(ctx context.Context, s agentruns.MCPServer) ([]tools.Member, func(), error) {
			visit := mcptool.Visit{Name: s.Name, URL: s.URL, Headers: s.Headers, Tools: s.Tools, AllowPrivate: private}
			return visit.Members(ctx)
		},
	})
}
