package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/plugins"
)

// policy is a compiled section. It is shared by all turns of a revision and never modified.
type policy struct {
	// fallback is the behavior for calls that no rule matches.
	fallback Behavior
	entries  []entry
}

// entry is one rule of a section.
type entry struct {
	Rule
	behavior Behavior
	// scope is the widest scope that a person may grant.
	scope Scope
	// rank is the specificity of the rule.
	rank []int
	// name is the rule for display, text its spelling in the section, and path its path relative
	// to the agent.
	name, text, path string
}

func newEntry(i int, text string, rule Rule, behavior Behavior, scope Scope) entry {
	return entry{
		Rule: rule, behavior: behavior, scope: scope, rank: rule.specificity(),
		name: fmt.Sprintf("rules[%d] %q %s", i, text, behavior), text: text,
		path: fmt.Sprintf("sections.%s.rules[%d].tool", SectionKey, i),
	}
}

// isDenial reports whether the rule denies matching calls.
func (e *entry) isDenial() bool { return e.behavior == Deny || e.behavior == Terminate }

// overrides reports whether the rule applies when both match.
func (e *entry) overrides(other *entry) bool {
	switch {
	case other == nil:
		return true
	case e.isDenial() != other.isDenial():
		return e.isDenial()
	case e.isDenial() && e.behavior != other.behavior:
		return e.behavior == Terminate
	}
	if c := slices.Compare(e.rank, other.rank); c != 0 {
		return c > 0
	}
	if e.behavior == Ask && other.behavior == Ask {
		return e.scope == Once && other.scope != Once
	}
	return e.behavior == Ask && other.behavior == Allow
}

// outcome is a policy's decision on a call.
type outcome struct {
	behavior Behavior
	// entry is the rule that applies; nil for the default.
	entry *entry
	// fault is set if the call cannot be judged.
	fault error
}

// ruleText returns the text of the rule that applies; "" for the default.
func (o outcome) ruleText() string {
	if o.entry == nil {
		return ""
	}
	return o.entry.text
}

// grantableScopes returns the scopes that a person may grant.
func (o outcome) grantableScopes() []Scope {
	if o.entry != nil && o.entry.scope == Once {
		return onlyOnce
	}
	return anyScope
}

// mayAsk reports whether any call requires asking a person.
func (p *policy) mayAsk() bool {
	return p.fallback == Ask || slices.ContainsFunc(p.entries, func(e entry) bool { return e.behavior == Ask })
}

func (p *policy) outcomeOf(best *entry) outcome {
	if best == nil {
		return outcome{behavior: p.fallback}
	}
	return outcome{behavior: best.behavior, entry: best}
}

// decideCall judges a call. It reads the arguments only if a rule for the tool does, or a person
// would have to.
func (p *policy) decideCall(tool string, raw json.RawMessage) outcome {
	return p.matchRules(tool, raw).denyUnreadable(raw)
}

// denyUnreadable denies a call that would need approval but is unreadable for a person.
func (o outcome) denyUnreadable(raw json.RawMessage) outcome {
	if o.behavior != Ask {
		return o
	}
	if _, err := decodeArguments(raw); err != nil {
		return outcome{behavior: Deny, fault: err}
	}
	return o
}

// matchRules returns the outcome of the rule that applies to a call. If it is undecidable whether
// an asking rule matches, that rule applies only if it is no less strict than the outcome without
// it, because the call may be outside its scope.
func (p *policy) matchRules(tool string, raw json.RawMessage) outcome {
	best, conditional := p.findUnconditional(tool)
	if !conditional || best != nil && best.behavior == Terminate {
		return p.outcomeOf(best)
	}
	sure := best
	var args *arguments
	for i := range p.entries {
		e := &p.entries[i]
		if !e.Conditional() || !e.MatchesTool(tool) || !e.overrides(best) && !e.overrides(sure) {
			continue
		}
		if args == nil {
			var err error
			if args, err = decodeArguments(raw); err != nil {
				return p.denyUndecodable(best, err)
			}
		}
		fits := e.matchesArguments(args, e.behavior != Allow)
		if !args.spend(1) {
			return p.denyUndecodable(best, errTooMuchWork)
		}
		if !fits {
			continue
		}
		if e.overrides(best) {
			best = e
		}
		if e.overrides(sure) && (e.behavior != Ask || e.matchesArguments(args, false)) {
			sure = e
		}
	}
	if args != nil && !args.spend(0) {
		return p.denyUndecodable(best, errTooMuchWork)
	}
	if p.strictness(best) < p.strictness(sure) {
		best = sure
	}
	return p.outcomeOf(best)
}

// strictness ranks the effect of a rule or the default on a call, most permissive first. A rule
// whose approval covers single calls only is stricter, because the person must approve again.
func (p *policy) strictness(e *entry) int {
	behavior, once := p.fallback, false
	if e != nil {
		behavior, once = e.behavior, e.scope == Once
	}
	switch {
	case behavior == Allow:
		return 0
	case behavior == Ask && !once:
		return 1
	case behavior == Ask:
		return 2
	case behavior == Deny:
		return 3
	default:
		return 4
	}
}

// findUnconditional returns the rule that applies among those without conditions on arguments, and
// whether other rules have conditions.
func (p *policy) findUnconditional(tool string) (best *entry, conditional bool) {
	for i := range p.entries {
		e := &p.entries[i]
		switch {
		case !e.MatchesTool(tool):
		case e.Conditional():
			conditional = true
		case e.overrides(best):
			best = e
		}
	}
	return best, conditional
}

// denyUndecodable is the outcome of a call whose arguments cannot be judged.
func (p *policy) denyUndecodable(best *entry, err error) outcome {
	if best != nil && best.isDenial() {
		return p.outcomeOf(best)
	}
	return outcome{behavior: Deny, fault: err}
}

// toolVerdict returns the verdict on a tool without a call, given the behavior by default.
func (p *policy) toolVerdict(tool string, fallback Behavior) plugins.Verdict {
	best, conditional := p.findUnconditional(tool)
	final := plugins.Verdict{Access: fallback.toAccess(), Rule: p.entryName(best), Path: p.entryPath(best)}
	if best != nil {
		final.Access = best.behavior.toAccess()
	}
	if !conditional {
		return final
	}
	// Rules with conditions on arguments matter if they would apply and change the access.
	var names []string
	for i := range p.entries {
		e := &p.entries[i]
		if e.Conditional() && e.MatchesTool(tool) && e.overrides(best) && e.behavior.toAccess() != final.Access {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return final
	}
	return plugins.Verdict{Access: plugins.AccessDepends, Rule: strings.Join(names, ", ") + ", else " + final.Rule}
}

// entryName names a rule, or the default.
func (p *policy) entryName(e *entry) string {
	if e == nil {
		return "default_behavior " + string(p.fallback)
	}
	return e.name
}

func (p *policy) entryPath(e *entry) string {
	if e == nil {
		return "sections." + SectionKey + ".default_behavior"
	}
	return e.path
}

func (b Behavior) toAccess() plugins.Access {
	switch b {
	case Allow:
		return plugins.AccessAllow
	case Ask:
		return plugins.AccessAsk
	default:
		return plugins.AccessDeny
	}
}
