package permission

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/plugins"
)

// grant is a person's permission for the rest of a session.
type grant struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Rule is the rule that asked; a grant has no effect if another rule, or none, asks.
	Rule string `json:"rule,omitempty"`
}

// maxGrants limits the grants of a session. The oldest are dropped: a person must approve again.
const maxGrants = 64

var grantsKey = plugins.NewKey("permission.grants", plugins.ScopeSession, plugins.Merge(mergeGrants))

// mergeGrants returns all grants, the first list's before the second's.
func mergeGrants(committed, own []grant) []grant {
	all := slices.Clone(committed)
	for _, g := range own {
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all[max(0, len(all)-maxGrants):]
}

// isGranted reports whether a person has granted the call.
func (g *gate) isGranted(p *plugins.PhaseContext, o outcome) bool {
	return slices.Contains(o.grantableScopes(), Session) &&
		slices.Contains(grantsKey.Get(p), grant{Agent: g.agent, Tool: p.Call.Name, Rule: o.ruleText()})
}

// recordGrant stores a person's grant for the session, once the call is allowed. It covers only
// calls for which this agent's rules still ask, by the rule shown to the person.
func (g *gate) recordGrant(p *plugins.PhaseContext) error {
	request, answer := p.Answered(Action)
	if answer == nil || !isAbout(request, answer, p.Call) {
		return nil
	}
	c, err := consentOf(answer)
	if err != nil || !c.Approved || c.Scope != Session {
		return nil //nolint:nilerr // the gate has refused the call
	}
	o := g.policy.decideCall(p.Call.Name, p.Call.Arguments)
	var shown subject
	if err := json.Unmarshal(request.Parameters, &shown); err != nil {
		return nil //nolint:nilerr // without its parameters an interaction grants the one call
	}
	fits := o.behavior == Ask && slices.Contains(o.grantableScopes(), Session) && shown.Agent == g.agent && shown.Rule == o.ruleText()
	if fits && !g.isGranted(p, o) {
		grantsKey.Set(p, mergeGrants(grantsKey.Get(p), []grant{{Agent: g.agent, Tool: p.Call.Name, Rule: o.ruleText()}}))
	}
	return nil
}
