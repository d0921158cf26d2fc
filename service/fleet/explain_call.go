package fleet

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
)

// CallCheck describes what would happen to a tool call.
type CallCheck struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Decision is allow, ask, deny, terminate or unavailable.
	Decision string `json:"decision"`
	// Rule decides, and Path locates it; both are empty if no rule applies. Conditions explain why
	// a rule about arguments applies.
	Rule       string   `json:"rule,omitempty"`
	Path       string   `json:"path,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
	// Problem describes how the arguments violate the tool's schema.
	Problem string `json:"arguments_problem,omitempty"`
	// Undecided are plugins that decide only when the call happens.
	Undecided []string `json:"undecided_plugins,omitempty"`
}

// ExplainCall describes what would happen to an agent's call in the running revision: a CallCheck
// as JSON, without the values of variables. It returns a *NotFoundError for unknown agents, and an
// *InvalidError for agents that do not resolve or run elsewhere.
func (h *History) ExplainCall(ctx context.Context, agentID, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	rev := h.settings.Runtime.AcquireRevision()
	defer rev.Release()
	return h.checkCall(ctx, rev, agentID, tool, arguments)
}

// ExplainCall describes what would happen to a call for the tenant, like Fleet.ExplainCall.
func (t *Tenant) ExplainCall(ctx context.Context, agentID, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	rev, err := t.fleet.AcquireTenant(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	return t.fleet.checkCall(ctx, rev, agentID, tool, arguments)
}

func (c *core) checkCall(ctx context.Context, rev *registry.Revision, agentID, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	e, problem, err := explainAgent(ctx, rev, agentID)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(problem, e.Local()); err != nil {
		return nil, &InvalidError{Findings: c.redactFindings(diag.FromError(err))}
	}
	v := e.Call(tool, arguments)
	check := CallCheck{
		Agent: agentID, Tool: tool, Decision: v.Decision(), Rule: v.Gate.Rule, Conditions: v.Gate.Conditions, Problem: v.Problem, Undecided: v.Silent,
	}
	choice := e.Tool(tool)
	switch {
	case choice == nil:
		check.Rule, check.Conditions, check.Undecided = "", nil, nil
	case !choice.Rule.Visible:
		check.Rule, check.Conditions = choice.Rule.Rule(), nil
		if choice.Rule.Field != "" {
			check.Path = e.Origin.Path(e.Path, diag.Index(string(choice.Rule.Field), choice.Rule.Index))
		}
	case v.Gate.Path != "":
		check.Path = e.Origin.Path(e.Path, v.Gate.Path)
	}
	return redactJSON(check, c.redactors())
}
