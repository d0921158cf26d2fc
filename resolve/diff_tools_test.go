package resolve_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// TestDiffOfRulesAboutOtherTools changes rules about tools that the agent does not have, such as
// those that clients bring. Its only tool is rm, about which nothing changes.
func TestDiffOfRulesAboutOtherTools(t *testing.T) {
	t.Parallel()
	about := func(behavior string, names ...string) (rules []rule) {
		for _, name := range append([]string{"rm"}, names...) {
			rules = append(rules, rule{name, behavior})
		}
		return rules
	}
	for name, tt := range map[string]struct {
		before, after        string
		beforeThat, thenThat []rule
		widened              bool
	}{
		"nothing":                         {"deny", "deny", about("ask"), about("ask"), false},
		"the default allows":              {"deny", "allow", about("ask"), about("ask"), true},
		"the default asks":                {"deny", "ask", about("ask"), about("ask"), true},
		"the default denies":              {"ask", "deny", about("ask"), about("ask"), false},
		"a rule about a glob is gone":     {"allow", "allow", about("deny", "pay_*"), about("deny"), true},
		"a regular expression is gone":    {"allow", "allow", about("deny", "/^pay[_-]+(in|out)?.$/"), about("deny"), true},
		"a glob is narrower":              {"allow", "allow", about("deny", "pay_*"), about("deny", "pay_out*"), true},
		"a glob is wider":                 {"allow", "allow", about("deny", "pay_*"), about("deny", "pay*"), false},
		"a name is allowed":               {"deny", "deny", about("ask"), append(about("ask"), rule{"pay", "allow"}), true},
		"a glob is allowed":               {"deny", "deny", about("ask"), append(about("ask"), rule{"pay_*", "allow"}), true},
		"a regular expression is allowed": {"deny", "deny", about("ask"), append(about("ask"), rule{"/^pay/", "allow"}), true},
		"all are allowed":                 {"deny", "deny", about("deny"), append(about("deny"), rule{"*", "allow"}), true},
		"all are allowed but denied":      {"allow", "allow", about("deny", "*"), append(about("deny", "*"), rule{"*", "allow"}), false},
		"arguments are compared":          {"allow", "allow", about("deny", "/^pay$/(to = 1)"), about("deny", "/^pay$/(to = 2)"), true},
		"a rule that asks denies":         {"allow", "allow", about("ask", "/^pay$/"), append(about("ask"), rule{"/^pay$/", "deny"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(fallback string, rules []rule) *registry.Revision {
				return revision(t, tool("rm"), plugin("permission", permission.New()), agent("a", ruled(fallback, rules...)))
			}
			diffs, err := resolve.Widening(t.Context(), with(tt.before, tt.beforeThat), with(tt.after, tt.thenThat))
			if err != nil || len(diffs) > 0 != tt.widened {
				t.Errorf("widened is %t: %+v, %v", !tt.widened, diffs, err)
			}
		})
	}
}

// TestDiffOfRulesAboutAddedTools allows tools that come with the change.
func TestDiffOfRulesAboutAddedTools(t *testing.T) {
	t.Parallel()
	before := revision(t, tool("rm"), plugin("permission", permission.New()), agent("a", ruled("deny", rule{"rm", "ask"})))
	for allowed, other := range map[string]bool{"crm_*": false, "crm_find": false, "*": true} {
		after := revision(t, tool("rm", "crm_find"), plugin("permission", permission.New()), agent("a", ruled("deny", rule{"rm", "ask"}, rule{allowed, "allow"})))
		diffs, err := resolve.Widening(t.Context(), before, after)
		if err != nil || len(diffs) != 1 {
			t.Fatalf("%s: %+v, %v", allowed, diffs, err)
		}
		for _, c := range diffs[0].Changes {
			if c.Field == "other tools" && !other {
				t.Errorf("%s: %+v", allowed, c)
			}
		}
	}
}
