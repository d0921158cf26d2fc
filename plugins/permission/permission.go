// Package permission decides which tool calls an agent may make, by rules in
// its section "permission".
//
// A rule names a tool, exactly, by a glob or by a /regular expression/, and may
// look at the arguments:
//
//	wc                               the tool wc, whatever its arguments
//	mcp__*                           tools by glob
//	/^(read|write)_/                 tools by regular expression
//	bash(rm *)                       a glob over the one argument
//	http(url ~ "https://*", method != "DELETE")
//	                                 conditions on arguments; all must hold
//
// The globs are those of the rest of the configuration: '*' matches anything,
// '/' included. A condition has a path, as in files[*].name or *.url, and one of
// the operators ~ (glob), = (equal), =~ (regular expression), !~, != and !=~.
// Values that are no text are compared as JSON. A path that leads to nothing
// makes a condition false, a negative one too. When it leads to several values
// a positive condition needs one that fits, and a negative one needs that none
// does.
//
// The glob over the one argument is matched against the argument's value when
// the call has exactly one, else against all arguments as one JSON object with
// sorted keys. So that a needless argument does not get a call past a rule,
// rules that do not allow fit as well when the value of any argument does. In
// such a glob a parenthesis without its partner, and an operator or quote that
// would make it read like a condition, is written with a '\' before it, as in
// bash(NODE_ENV\=test npm *). Blanks around the glob do not count.
//
// A rule that denies wins over all others; among the rest the most specific
// one counts, and one that asks before one that allows. What no rule speaks of
// is decided by default_behavior, which is ask.
//
// A call that is asked about waits for a person, who approves or refuses it, and
// may change its arguments. It is then judged again, so nothing that is denied
// becomes possible by approval. A person may also grant the tool for the rest of
// the session; the grant holds as long as the same rule asks about the tool. It
// is all that is stored: rules always are those of the agent's revision.
package permission

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/plugins"
)

// SectionKey is the section that the plugin claims.
const SectionKey = "permission"

// Plugin is the permission plugin.
type Plugin struct{}

var _ plugins.Plugin = (*Plugin)(nil)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Descriptor describes the plugin.
func (*Plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{
		Summary: "Allows, denies, or asks a person about tool calls, by rules.",
		Sections: []plugins.Section{
			plugins.NewSection(SectionKey, "Which tool calls the agent may make.", schema, decode),
		},
	}
}

// Register adds the gate and, where a person may be asked, what keeps that
// person's grants.
func (*Plugin) Register(r *plugins.Registrar) error {
	policy, ok := plugins.Config[*policy](r, SectionKey)
	if !ok || policy == nil {
		// Without its rules the plugin must not let anything through.
		return errors.New("the settings of section permission are missing")
	}
	g := &gate{agent: r.Agent().ID, policy: policy}
	r.ToolGate(g)
	if policy.asks() {
		r.StateKey(grantsKey)
		r.Hook(plugins.BeforeToolExecute, func(_ context.Context, p *plugins.PhaseContext) error { return g.record(p) })
	}
	return nil
}
