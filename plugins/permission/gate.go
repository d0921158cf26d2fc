package permission

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// gate enforces a policy on the calls of an agent and its delegates.
type gate struct {
	agent  string
	policy *policy
}

var (
	_ plugins.StaticGate      = (*gate)(nil)
	_ plugins.CallGate        = (*gate)(nil)
	_ plugins.CeilingDiffGate = (*gate)(nil)
	_ plugins.SchemaGate      = (*gate)(nil)
	_ plugins.DiffGate        = (*gate)(nil)
)

// Check decides on a call of the agent. A call with a person's answer is judged again, because no
// answer allows a call that a rule denies.
func (g *gate) Check(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	o := g.policy.decideCall(p.Call.Name, p.Call.Arguments)
	if o.behavior == Ask && g.isGranted(p, o) {
		return plugins.Decision{Kind: plugins.Allow}, nil
	}
	return g.newDecision(p, o, o.grantableScopes()), nil
}

// Ceiling decides on a delegate's call. The agent's default applies only if it denies; if no rule
// matches, asking is up to the delegate. Session grants apply to the agent, not to its delegates.
func (g *gate) Ceiling(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	o := g.policy.matchRules(p.Call.Name, p.Call.Arguments)
	if o.entry == nil && o.fault == nil && o.behavior == Ask {
		return plugins.Decision{}, nil
	}
	return g.newDecision(p, o.denyUnreadable(p.Call.Arguments), onlyOnce), nil
}

// Verdict returns the decision on a tool, to the extent that it is independent of arguments.
func (g *gate) Verdict(toolID string) plugins.Verdict {
	return g.policy.toolVerdict(toolID, g.policy.fallback)
}

// CeilingVerdict returns the decision on a tool called by the agent's delegates, to the extent that
// it is independent of arguments. The default does not ask for them.
func (g *gate) CeilingVerdict(toolID string) plugins.Verdict {
	fallback := g.policy.fallback
	if fallback == Ask {
		fallback = Allow
	}
	return g.policy.toolVerdict(toolID, fallback)
}

// Explain returns the decision on a call before a person decides.
func (g *gate) Explain(toolID string, arguments json.RawMessage) plugins.Verdict {
	o := g.policy.decideCall(toolID, arguments)
	if o.fault != nil {
		return plugins.Verdict{Access: plugins.AccessDeny, Rule: fmt.Sprintf("%v, so the call cannot be judged", o.fault)}
	}
	v := plugins.Verdict{
		Access: o.behavior.toAccess(), Rule: g.policy.entryName(o.entry), Path: g.policy.entryPath(o.entry), Terminate: o.behavior == Terminate,
	}
	if o.entry != nil && o.entry.Conditional() {
		if args, err := decodeArguments(arguments); err == nil {
			v.Conditions = o.entry.explainMatch(args)
		}
	}
	return v
}

func (g *gate) newDecision(p *plugins.PhaseContext, o outcome, scopes []Scope) plugins.Decision {
	switch {
	case o.fault != nil:
		return blockCall("permission denied: %v, so this call cannot be judged", o.fault)
	case o.behavior == Allow:
		return plugins.Decision{Kind: plugins.Allow}
	case o.behavior == Ask:
		return g.useAnswer(p, o, scopes)
	case o.entry == nil:
		return blockCall("permission denied: no rule allows this call of tool %q", p.Call.Name)
	}
	d := blockCall("permission denied: the rule %q forbids this call", o.entry.text)
	d.Terminate = o.behavior == Terminate
	return d
}

// useAnswer decides on a call that needs a person's approval: it returns the person's decision, or
// else the question.
func (g *gate) useAnswer(p *plugins.PhaseContext, o outcome, scopes []Scope) plugins.Decision {
	request, answer := p.Answered(Action)
	if answer == nil || !isAbout(request, answer, p.Call) {
		return g.askPerson(p.Call, o, scopes)
	}
	c, err := consentOf(answer)
	switch {
	case err != nil:
		return blockCall("permission denied: the answer to the question whether this call may be made cannot be read: %v", err)
	case c.Approved:
		return plugins.Decision{Kind: plugins.Allow}
	case c.Reason != "":
		return blockCall("permission denied: a person refused this call: %s", c.Reason)
	default:
		return blockCall("permission denied: a person refused this call")
	}
}

func blockCall(format string, args ...any) plugins.Decision {
	return plugins.Decision{Kind: plugins.Block, Reason: fmt.Sprintf(format, args...)}
}

// askPerson returns the decision that makes a call wait for a person.
func (g *gate) askPerson(call *model.ToolCall, o outcome, scopes []Scope) plugins.Decision {
	message := fmt.Sprintf("Agent %s wants to call tool %s. No rule covers it, so it needs your approval.", g.agent, call.Name)
	if o.entry != nil {
		message = fmt.Sprintf("Agent %s wants to call tool %s. By the rule %q that needs your approval.", g.agent, call.Name, o.entry.text)
	}
	parameters, err := json.Marshal(subject{Agent: g.agent, Tool: call.Name, Rule: o.ruleText(), Scopes: scopes})
	if err != nil {
		return blockCall("permission denied: %v", err)
	}
	return plugins.Decision{Kind: plugins.Suspend, Reason: message, Interaction: &interaction.Request{
		ID: "perm_" + call.ID, Action: Action, Message: message, Parameters: parameters,
		ResponseSchema: responses[scopes[len(scopes)-1]], Mode: interaction.ReplayToolCall,
	}}
}
