package admin

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// paths are the paths of a document's registries.
var paths = map[string]string{
	"agents": "agents", "models": "models", "model_pools": "pools", "tools": "tools", "providers": "providers", "plugins": "plugins",
	"agent_providers": "agent_providers", "workflows": "workflows",
}

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	const read, write = settings.ScopeConfigRead, settings.ScopeConfigWrite
	var routes []server.Route
	for _, registry := range fleet.Registries {
		at := Prefix + "/" + paths[registry]
		entries := entries{s, registry}
		routes = append(routes,
			server.Handle("GET "+at, read, entries.list).WithQuery(pageQueryNames...),
			server.Handle("GET "+at+"/{id}", read, entries.read),
			server.HandleProgress("PUT "+at+"/{id}", write, entries.put).WithQuery(changeQueryNames...),
			server.HandleProgress("DELETE "+at+"/{id}", write, entries.remove).WithQuery(changeQueryNames...),
		)
	}
	routes = append(routes, s.historyRoutes(Prefix, read, write)...)
	routes = append(routes, s.variableRoutes()...)
	routes = append(routes, s.loginRoutes()...)
	return append(routes, s.tenantRoutes()...)
}

// historyRoutes returns the routes of the base and each tenant.
func (s *Surface) historyRoutes(at, read, write string) []server.Route {
	return append(s.patchRoutes(at, read, write),
		server.Handle("GET "+at+"/agents/{id}/explain", read, s.explainAgent),
		server.Handle("POST "+at+"/agents/{id}/check-call", read, s.checkCall),
		server.Handle("GET "+at+"/diagnostics", read, s.listDiagnostics),
		server.Handle("POST "+at+"/validate", read, forAllAgents(s.validateDocument)),
		server.Handle("GET "+at+"/revisions", read, forAllAgents(s.listRevisions)).WithQuery(pageQueryNames...),
		server.Handle("GET "+at+"/revisions/{hash}", read, forAllAgents(s.readRevision)),
		server.Handle("GET "+at+"/revisions/{hash}/diff", read, forAllAgents(s.diffRevision)).WithQuery("from"),
		server.Handle("GET "+at+"/attempts", read, forAllAgents(s.listAttempts)).WithQuery(pageQueryNames...),
		server.HandleProgress("POST "+at+"/revisions", write, s.publishDocument).WithQuery(changeQueryNames...),
		server.HandleProgress("POST "+at+"/revisions/{hash}/rollback", write, s.rollBack).WithQuery(changeQueryNames...),
	)
}

// tenantRoutes returns the routes for tenants' overlays.
func (s *Surface) tenantRoutes() []server.Route {
	const read, write = settings.ScopeOwnConfigRead, settings.ScopeOwnConfigWrite
	const at = Prefix + "/tenants"
	routes := []server.Route{
		server.Handle("GET "+at, read, forAllAgents(s.listTenants)).WithQuery(pageQueryNames...),
		server.Handle("GET "+at+"/{tenant}", read, forAllAgents(s.readTenant)),
	}
	return append(routes, s.historyRoutes(at+"/{tenant}", read, write)...)
}

// OpenAPI describes the protocol.
func (s *Surface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{Title: "Admin"}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}
