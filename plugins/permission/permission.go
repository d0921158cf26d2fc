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
//	refund(amount > 1000)            numbers are compared exactly
//	bash(cmd ~ command:"git *")      the simple commands of a shell
//	read(file ~ path:"/srv/data/*")  cleaned paths of files
//
// Globs work as in the rest of the configuration: '*' matches anything, including '/'. A
// condition has a path, such as files[*].name or *.url, an operator and a value:
//
//	== !=          equal to a "text", a number, true, false or null, strictly
//	> >= < <=      a number compared with a number
//	in             equal to one of a list: in ["a", "b", 3]
//	~ !~           a glob over the text, path:"glob" or command:"glob"
//	=~ !=~         a regular expression
//	=              as ==, but a "text" is compared with the text of the value, as it
//	               is by != and a "text"; what is no text is compared as JSON
//
// Undecidable arguments fail closed: a missing, mistyped or unreadable argument never satisfies
// an allowing rule, and never escapes a denying or asking rule. If a path leads to several
// values, a denying or asking rule needs one that satisfies its condition, and an allowing rule
// needs all; with ~, = and =~, one text is enough. An empty list has no values.
//
// A path matcher compares the path as cleaned by path.Clean, without following symbolic links. It
// cannot decide about paths that leave their starting directory, or when only one of path and
// pattern is absolute. A command matcher compares each simple command that a shell would run. An
// allowing rule needs all of them to match, without assignments and redirections to files; a
// denying or asking rule needs one. It cannot decide about shell expansions, text that POSIX
// shells and Bash parse differently, and commands that run others.
//
// The glob over the one argument is matched against the argument's value when
// the call has exactly one, else against all arguments as one JSON object with
// sorted keys; path: or command: before it takes the matchers in its place. So
// that a needless argument does not get a call past a rule, rules that do not
// allow fit as well when the value of any argument does. In such a glob a
// parenthesis without its partner, and an operator or quote that would make it
// read like a condition, is written with a '\' before it, as in
// bash(NODE_ENV\=test npm *). Blanks around the glob do not count.
//
// A denying rule overrides all others. Otherwise the most specific rule applies, and asking
// precedes allowing. If no rule matches, default_behavior applies, which is ask.
//
// A call that needs approval waits for a person, who may also change its arguments. It is then
// judged again, so approval never permits a denied call. A person may also grant the tool for the
// rest of the session; the grant holds as long as the same rule asks about the tool. Only the
// grant is stored: rules always come from the agent's revision.
package permission

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/plugins"
)

// SectionKey is the section that the plugin claims.
const SectionKey = "permission"

// plugin is the permission plugin.
type plugin struct{}

var _ plugins.Plugin = (*plugin)(nil)

// New returns the plugin.
func New() plugins.Plugin { return &plugin{} }

// Descriptor describes the plugin.
func (*plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{
		Summary: "Allows, denies, or asks a person about tool calls, by rules.",
		Sections: []plugins.Section{
			plugins.NewSection(SectionKey, "Which tool calls the agent may make.", schema, decodeSection).AsGuard(),
		},
	}
}

// Register adds the gate and, if a person may be asked, the storage of grants.
func (*plugin) Register(r *plugins.Registrar) error {
	policy, ok := plugins.Config[*policy](r, SectionKey)
	if !ok || policy == nil {
		// Without rules the plugin must not let anything through.
		return errors.New("the settings of section permission are missing")
	}
	g := &gate{agent: r.Agent().ID, policy: policy}
	r.ToolGate(g)
	if policy.mayAsk() {
		r.StateKey(grantsKey)
		r.Hook(plugins.BeforeToolExecute, func(_ context.Context, p *plugins.PhaseContext) error { return g.recordGrant(p) })
	}
	return nil
}
