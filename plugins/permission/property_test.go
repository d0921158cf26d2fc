package permission_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"pgregory.net/rapid"
)

var strictness = []permission.Behavior{permission.Allow, permission.Ask, permission.Deny, permission.Terminate}

type generated struct {
	Tool     string              `json:"tool"`
	Behavior permission.Behavior `json:"behavior"`
}

func rules() *rapid.Generator[[]generated] {
	tool := rapid.SampledFrom([]string{"t", "u", "t*", "?", "{t,u}", "/t/", "/./", "*"})
	value := rapid.SampledFrom([]string{"x", "y", "x*", "*", "[xy]"})
	path := rapid.SampledFrom([]string{"a", "b", "a.b", "a[0]", "a[*]", "*", "my-field"})
	operator := rapid.SampledFrom([]string{"~", "=", "=~", "!~", "!=", "!=~"})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) generated {
		text := tool.Draw(t, "tool")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 1:
			text += "(" + value.Draw(t, "primary") + ")"
		case 2, 3:
			conditions := make([]string, rapid.IntRange(1, 2).Draw(t, "conditions"))
			for i := range conditions {
				v := value.Draw(t, "value")
				op := operator.Draw(t, "operator")
				if strings.HasSuffix(op, "=~") {
					v = strings.ReplaceAll(v, "*", ".*")
				}
				conditions[i] = path.Draw(t, "path") + " " + op + ` "` + v + `"`
			}
			text += "(" + strings.Join(conditions, ", ") + ")"
		}
		return generated{text, rapid.SampledFrom(strictness).Draw(t, "behavior")}
	}), 0, 5)
}

func call(t *rapid.T) (tool, args string) {
	tool = rapid.SampledFrom([]string{"t", "u", "tt"}).Draw(t, "called")
	args = rapid.SampledFrom([]string{
		`{}`, `{"a":"x"}`, `{"a":"y","b":"x"}`, `{"a":{"b":"x"}}`, `{"a":["x","y"]}`, `{"my-field":"xy"}`, `{"a":1}`, `{`, `{"a":1,"a":2}`,
	}).Draw(t, "arguments")
	return tool, args
}

func gateFor(t *testing.T, fallback permission.Behavior, rules []generated) plugins.CeilingGate {
	t.Helper()
	text, err := json.Marshal(map[string]any{"default_behavior": fallback, "rules": append([]generated{}, rules...)})
	if err != nil {
		t.Fatal(err)
	}
	return gateOf(t, string(text))
}

// TestPropertyDenialsNeverWiden proves that adding a rule that denies never
// lets a call through that was refused, and that it refuses what it fits.
func TestPropertyDenialsNeverWiden(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := rules().Draw(rt, "rules")
		fallback := rapid.SampledFrom(strictness[:3]).Draw(rt, "default")
		tool, args := call(rt)
		before := behaviorOf(check(t, gateFor(t, fallback, list), tool, args))

		added := rules().Filter(func(r []generated) bool { return len(r) > 0 }).Draw(rt, "added")[0]
		added.Behavior = rapid.SampledFrom(strictness[2:]).Draw(rt, "added behavior")
		at := rapid.IntRange(0, len(list)).Draw(rt, "at")
		after := behaviorOf(check(t, gateFor(t, fallback, slices.Insert(slices.Clone(list), at, added)), tool, args))

		if slices.Index(strictness, after) < slices.Index(strictness, before) {
			rt.Fatalf("%v makes %s %s of %s", added, tool, after, before)
		}
		alone := behaviorOf(check(t, gateFor(t, permission.Allow, []generated{added}), tool, args))
		if alone != permission.Allow && after == permission.Allow {
			rt.Fatalf("%v denies %s by itself, but not among others", added, tool)
		}
	})
}

// TestPropertyOrderDoesNotMatter proves that the order of rules changes nothing.
func TestPropertyOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := rules().Draw(rt, "rules")
		tool, args := call(rt)
		want := behaviorOf(check(t, gateFor(t, permission.Ask, list), tool, args))
		shuffled := rapid.Permutation(list).Draw(rt, "shuffled")
		if got := behaviorOf(check(t, gateFor(t, permission.Ask, shuffled), tool, args)); got != want {
			rt.Fatalf("%v gives %s, %v gives %s", list, want, shuffled, got)
		}
	})
}

// TestPropertyVerdictsHold proves that what is told about a tool before a call
// is true of every call.
func TestPropertyVerdictsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := rules().Draw(rt, "rules")
		tool, args := call(rt)
		gate := gateFor(t, rapid.SampledFrom(strictness[:3]).Draw(rt, "default"), list)
		got := behaviorOf(check(t, gate, tool, args))
		broken := !json.Valid([]byte(args)) || strings.Count(args, `"a"`) > 1
		switch v := gate.(plugins.StaticGate).Verdict(tool); v.Access {
		case plugins.AccessAllow, plugins.AccessAsk:
			if string(got) != v.Access.String() && !broken {
				rt.Fatalf("%v: verdict %s by %s, but %s %s is %s", list, v.Access, v.Rule, tool, args, got)
			}
		case plugins.AccessDeny:
			if got != permission.Deny && got != permission.Terminate {
				rt.Fatalf("%v: verdict deny by %s, but %s %s is %s", list, v.Rule, tool, args, got)
			}
		case plugins.AccessDepends:
		}
	})
}

// TestPropertyRoundTrip proves that a rule survives being written and read.
func TestPropertyRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		for _, g := range rules().Draw(rt, "rules") {
			rule, err := permission.ParseRule(g.Tool)
			if err != nil {
				rt.Fatal(err)
			}
			again, err := permission.ParseRule(rule.String())
			if err != nil || again.String() != rule.String() || again.Conditional() != rule.Conditional() {
				rt.Fatalf("%q is written %q and read as %q, %v", g.Tool, rule, again, err)
			}
		}
		value := rapid.String().Draw(rt, "value")
		text := `t(a = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `")`
		rule, err := permission.ParseRule(text)
		if err != nil || rule.String() != text {
			rt.Fatalf("%q is written %q, %v", text, rule, err)
		}
	})
}

// TestPropertyWhatIsExplainedIsDecided proves that what is told about a call is
// what becomes of it.
func TestPropertyWhatIsExplainedIsDecided(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := rules().Draw(rt, "rules")
		tool, args := call(rt)
		gate := gateFor(t, rapid.SampledFrom(strictness[:3]).Draw(rt, "default"), list)
		v := gate.(plugins.CallGate).Explain(tool, json.RawMessage(args))
		told := permission.Behavior(v.Access.String())
		if v.Terminate {
			told = permission.Terminate
		}
		if got := behaviorOf(check(t, gate, tool, args)); got != told {
			rt.Fatalf("%v: %s %s is told to be %s, by %s, but is %s", list, tool, args, told, v.Rule, got)
		}
		if v.Rule == "" {
			rt.Fatalf("%v: %s %s is %s for no reason", list, tool, args, told)
		}
	})
}
