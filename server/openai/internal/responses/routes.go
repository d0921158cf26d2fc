package responses

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// Routes returns the routes of responses and conversations.
func Routes(b *surfacekit.Base) []server.Route {
	route := func(pattern, scope string, answer func(*run.Call) (any, error)) server.Route {
		return run.NewRoute(b, pattern, scope, answer)
	}
	return []server.Route{
		server.Typed[Request, Response](route("POST /v1/responses", settings.ScopeRunsWrite, createResponse)).WithNewTurn().WithStream(),
		server.Typed[surfacekit.None, Response](route("GET /v1/responses/{id}", settings.ScopeRunsRead, onResponse(readResponse))).WithStream(),
		server.Typed[surfacekit.None, Response](route("POST /v1/responses/{id}/cancel", settings.ScopeRunsWrite, onResponse(cancelResponse))).WithAudit(server.AuditCancelTurn),
		server.Typed[surfacekit.None, DeletedView](route("DELETE /v1/responses/{id}", settings.ScopeRunsWrite, onResponse(deleteResponse))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, ItemList](route("GET /v1/responses/{id}/input_items", settings.ScopeRunsRead, onResponse(listInput))),
		server.Typed[conversationRequest, ConversationView](route("POST /v1/conversations", settings.ScopeSessionsWrite, createConversation)).WithAudit(server.AuditCreateSession),
		server.Typed[surfacekit.None, ConversationView](route("GET /v1/conversations/{id}", settings.ScopeSessionsRead, onConversation(readConversation))),
		server.Typed[conversationRequest, ConversationView](route("POST /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation(updateConversation))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, DeletedView](route("DELETE /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation(deleteConversation))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, ItemList](route("GET /v1/conversations/{id}/items", settings.ScopeSessionsRead, onConversation(listItems))),
		server.Typed[conversationRequest, ItemList](route("POST /v1/conversations/{id}/items", settings.ScopeSessionsWrite, onConversation(createItems))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, json.RawMessage](route("GET /v1/conversations/{id}/items/{item}", settings.ScopeSessionsRead, onConversation(readItem))),
		server.Typed[surfacekit.None, ConversationView](route("DELETE /v1/conversations/{id}/items/{item}", settings.ScopeSessionsWrite, onConversation(deleteItem))).WithAudit(server.AuditUpdateSession),
	}
}
