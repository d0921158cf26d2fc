package permission

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/plugins"
)

// gate holds the calls of an agent, and of its delegates, to a policy.
type gate struct{ policy *policy }

var (
	_ plugins.StaticGate  = (*gate)(nil)
	_ plugins.CeilingGate = (*gate)(nil)
)

// Check decides about a call of the agent.
func (g *gate) Check(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	return g.decision(p, g.policy.decide(p.Call.Name, p.Call.Arguments)), nil
}

// Ceiling decides about a call of a delegate. The agent's default counts only
// when it denies: asking about what no rule speaks of is the delegate's own
// affair.
func (g *gate) Ceiling(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	o := g.policy.decide(p.Call.Name, p.Call.Arguments)
	if o.entry == nil && o.fault == nil && o.behavior == Ask {
		return plugins.Decision{}, nil
	}
	return g.decision(p, o), nil
}

// Verdict tells what will be decided about a tool, as far as it does not depend
// on arguments.
func (g *gate) Verdict(toolID string) plugins.Verdict { return g.policy.verdict(toolID) }

func (g *gate) decision(p *plugins.PhaseContext, o outcome) plugins.Decision {
	switch {
	case o.fault != nil:
		return block("permission denied: %v, so the rules for this tool cannot be checked", o.fault)
	case o.behavior == Allow:
		return plugins.Decision{Kind: plugins.Allow}
	case o.behavior == Ask:
		return g.ask(p, o)
	case o.entry == nil:
		return block("permission denied: no rule allows this call of tool %q", p.Call.Name)
	}
	d := block("permission denied: the rule %q forbids this call", o.entry.text)
	d.Terminate = o.behavior == Terminate
	return d
}

// ask is the decision on a call that a person has to agree to. No run can ask a
// person yet, so it refuses the call; once interactions exist, it is a Suspend
// with a Ticket for this call, and a call that comes back with a person's
// consent is let through here.
func (g *gate) ask(p *plugins.PhaseContext, o outcome) plugins.Decision {
	const nobody = "needs a person's approval, and this run has nobody to ask"
	if o.entry == nil {
		return block("permission denied: calling tool %q %s", p.Call.Name, nobody)
	}
	return block("permission denied: by the rule %q this call %s", o.entry.text, nobody)
}

func block(format string, args ...any) plugins.Decision {
	return plugins.Decision{Kind: plugins.Block, Reason: fmt.Sprintf(format, args...)}
}
