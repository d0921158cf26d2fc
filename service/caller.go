package service

import (
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// Caller is the sender of a request. To a caller, records of other callers appear not to exist.
type Caller struct {
	// Tenant is a team or customer, and Subject a person or program of that tenant. Both are
	// required.
	Tenant  string
	Subject string
	// Agents are the agents that the caller may use; nil means all. Records of other agents appear
	// not to exist.
	Agents *AgentSet
	// Scopes are the kinds of requests that the caller may make; nil means all, and an empty list
	// those that need no scope.
	Scopes []string
	// ExtraScopes are additional scopes of the caller: nil Scopes do not include those of the
	// configuration.
	ExtraScopes []string
	// operator sees everything.
	operator bool
}

// Operator returns the caller that sees everything: the local user, and the runtime itself. Its
// records have an owner that no other caller has.
func Operator() Caller { return Caller{Tenant: "operator", Subject: "operator", operator: true} }

// IsOperator reports whether the caller sees everything.
func (c Caller) IsOperator() bool { return c.operator }

// HasScope reports whether the caller has a scope. Every caller has the empty scope; scopes from
// the configuration must be listed. Callers limited to some agents never have the metrics scope,
// because metrics cover all agents.
func (c Caller) HasScope(scope string) bool {
	if scope == settings.ScopeMetricsRead && c.Agents != nil {
		return false
	}
	if scope == "" || c.Scopes == nil && !settings.ExplicitScope(scope) {
		return true
	}
	named := func(s string) bool { return slices.Contains(c.Scopes, s) || slices.Contains(c.ExtraScopes, s) }
	return named(scope) || named(settings.WiderScope(scope))
}

// ErrNoCaller means that a request has no caller.
var ErrNoCaller = errors.New("the caller has no tenant or no subject")

func (c Caller) toScope() (store.Scope, error) {
	switch {
	case c.operator:
		return store.Everything, nil
	case c.Tenant == "" || c.Subject == "":
		return store.Scope{}, ErrNoCaller
	default:
		return store.Of(c.toOwner()), nil
	}
}

func (c Caller) toOwner() store.Owner { return store.Owner{Tenant: c.Tenant, Subject: c.Subject} }

// seesTurnsOf reports whether the caller sees the records of an agent's turns. Agents that turns
// bring along belong only to the turn's owner: no set names them.
func (c Caller) seesTurnsOf(agentID string) bool {
	return agentID == spec.EphemeralAgent || c.Agents.Has(agentID)
}
