// Package admin is the HTTP protocol for reading and changing the configuration of a running
// server: its parts, its revisions and its known problems. A credential must have the scope
// config:read or config:write.
package admin

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// Prefix is the start of the protocol's paths.
const Prefix = "/runtime/v1"

// Settings configures the surface. All fields are required.
type Settings struct {
	Fleet     *fleet.Fleet
	Variables TenantVariables
	Logins    LoginSource

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use. Close it after use.
type Surface struct {
	fleet     *fleet.Fleet
	variables TenantVariables
	logins    *pendingLogins
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)

// New returns the surface. It fails if a setting is missing.
func New(s Settings) (*Surface, error) {
	if s.Fleet == nil || s.Variables == nil || s.Logins == nil {
		return nil, errors.New("the settings have no fleet, or nothing that keeps variables or logins")
	}
	return &Surface{fleet: s.Fleet, variables: s.Variables, logins: newPendingLogins(s.Logins)}, nil
}

// Close ends the logins that wait for a browser.
func (s *Surface) Close() { s.logins.close() }

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

// OpenAPI describes the protocol.
func (s *Surface) OpenAPI() []byte { return server.Describe("Admin", s.Routes()) }

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

// Codes of rejected requests, in addition to the server's.
const (
	codeConflict   = "revision_conflict"
	codeInUse      = "in_use"
	codeWidened    = "widened"
	codeLost       = "lost"
	codeFromFiles  = "configuration_from_files"
	codeNotStored  = "not_stored"
	codeInvalidDoc = "invalid_document"
	codeNoTenants  = "no_tenants"
	codeBroken     = "tenants_break"
	codeNoKey      = "no_encryption_key"
)

// refuse converts a fleet error for callers.
func refuse(err error) error {
	if e, ok := errors.AsType[*fleet.NotFoundError](err); ok {
		return &service.NotFoundError{Kind: e.Kind, ID: e.ID}
	}
	if e, ok := errors.AsType[*fleet.ConflictError](err); ok {
		r := &server.Refusal{Status: http.StatusConflict, Code: codeConflict, Message: e.Error()}
		if e.Current != nil {
			r.Details = server.Details{Revision: e.Current.Number, Hash: e.Current.Hash}
		}
		return r
	}
	if e, ok := errors.AsType[*fleet.InUseError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeInUse, Message: e.Error(), Details: server.Details{Kind: e.Kind, ID: e.ID, UsedBy: e.UsedBy}}
	}
	if e, ok := errors.AsType[*fleet.WidenedError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeWidened, Message: e.Error()}
	}
	if e, ok := errors.AsType[*fleet.LostError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeLost, Message: e.Error()}
	}
	if e, ok := errors.AsType[*fleet.InvalidError](err); ok {
		return &server.Refusal{
			Status: http.StatusBadRequest, Code: codeInvalidDoc, Message: "the document has errors: see the findings", Details: server.Details{Findings: e.Findings},
		}
	}
	if e, ok := errors.AsType[*config.PlainSecretError](err); ok {
		return &server.Refusal{Status: http.StatusBadRequest, Code: codeInvalidDoc, Message: e.Error(), Details: server.Details{Findings: e.Findings()}}
	}
	if e, ok := errors.AsType[*fleet.BrokenTenantsError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeBroken, Message: e.Error(), Details: server.Details{Tenants: tenantNames(e.Broken)}}
	}
	switch {
	case errors.Is(err, fleet.ErrNoTenants):
		return &server.Refusal{Status: http.StatusConflict, Code: codeNoTenants, Message: fleet.ErrNoTenants.Error()}
	case errors.Is(err, fleet.ErrFromFiles):
		return &server.Refusal{Status: http.StatusConflict, Code: codeFromFiles, Message: fleet.ErrFromFiles.Error()}
	case errors.Is(err, fleet.ErrNotStored):
		return &server.Refusal{Status: http.StatusConflict, Code: codeNotStored, Message: fleet.ErrNotStored.Error()}
	}
	return err
}
