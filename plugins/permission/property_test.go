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
	typed := rapid.SampledFrom([]string{
		`== "x"`, `== 1`, `!= 1`, `> 1`, `>= 1`, `>= 2`, `< 2`, `<= 1`, `in ["x", "y"]`, `in ["x"]`, `in [1, "x"]`, `== null`, `!= true`,
		`~ path:"x/*"`, `~ path:"*"`, `!~ path:"/x/*"`, `~ command:"x *"`, `~ command:"x"`, `!~ command:"x*"`, `~ command:"*"`,
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) generated {
		text := tool.Draw(t, "tool")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 1:
			text += "(" + rapid.SampledFrom([]string{"", "", "command:", "path:"}).Draw(t, "matcher") + value.Filter(func(v string) bool { return v[0] != '[' }).Draw(t, "primary") + ")"
		case 2, 3:
			conditions := make([]string, rapid.IntRange(1, 2).Draw(t, "conditions"))
			for i := range conditions {
				if rapid.Bool().Draw(t, "typed") {
					conditions[i] = path.Draw(t, "path") + " " + typed.Draw(t, "comparison")
					continue
				}
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
		`{"a":2.0}`, `{"a":0.5,"b":3}`, `{"a":null}`, `{"a":true}`, `{"a":[1,2,"x"]}`, `{"a":[]}`, `{"a":"x/y"}`, `{"a":"x/../y"}`, `{"a":"/x/y","b":"x z; y"}`,
		`{"a":"x z"}`, `{"b":"x $y"}`, `{"b":"x '"}`, `{"a":{"b":1},"b":2}`,
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
		d, err := gate.Ceiling(t.Context(), phase(tool, args))
		if err != nil {
			rt.Fatal(err)
		}
		for _, told := range []struct {
			v   plugins.Verdict
			got permission.Behavior
		}{
			{gate.(plugins.StaticGate).Verdict(tool), got},
			{gate.(plugins.CeilingDiffGate).CeilingVerdict(tool), behaviorOf(d)},
		} {
			switch v := told.v; v.Access {
			case plugins.AccessAllow, plugins.AccessAsk:
				if string(told.got) != v.Access.String() && !broken {
					rt.Fatalf("%v: verdict %s by %s, but %s %s is %s", list, v.Access, v.Rule, tool, args, told.got)
				}
			case plugins.AccessDeny:
				if told.got != permission.Deny && told.got != permission.Terminate {
					rt.Fatalf("%v: verdict deny by %s, but %s %s is %s", list, v.Rule, tool, args, told.got)
				}
			case plugins.AccessDepends:
			}
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

// moreOpen reports whether the first behaviour holds back less.
func moreOpen(a, b permission.Behavior) bool {
	return slices.Index(strictness, a) < slices.Index(strictness, b)
}

func compareGates(t *testing.T, before, after plugins.CeilingGate, tool string) plugins.Widening {
	t.Helper()
	return after.(plugins.DiffGate).Widening(before.(plugins.Gate), tool)
}

// TestPropertyWhatIsNotWidenedLetsNothingMoreThrough holds the comparison of
// rules to their evaluation: unless it says so, no call is treated less strictly,
// neither one of the agent nor one of a delegate.
func TestPropertyWhatIsNotWidenedLetsNothingMoreThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		old := rules().Draw(rt, "old")
		fresh := rules().Draw(rt, "new")
		if rapid.Bool().Draw(rt, "related") { // rules that differ a little
			fresh = slices.Concat(old, fresh[:min(1, len(fresh))])
			if len(fresh) > 0 {
				i := rapid.IntRange(0, len(fresh)-1).Draw(rt, "changed")
				if rapid.Bool().Draw(rt, "removed") {
					fresh = slices.Delete(fresh, i, i+1)
				} else {
					fresh[i].Behavior = rapid.SampledFrom(strictness).Draw(rt, "behavior")
				}
			}
		}
		before := gateFor(t, rapid.SampledFrom(strictness[:3]).Draw(rt, "old default"), old)
		after := gateFor(t, rapid.SampledFrom(strictness[:3]).Draw(rt, "new default"), fresh)
		tool, args := call(rt)
		if !json.Valid([]byte(args)) || strings.Count(args, `"a":`) > 1 {
			return // such calls reach no tool, whatever the rules say
		}
		w := compareGates(t, before, after, tool)
		held := after.(plugins.CeilingDiffGate).CeilingWidening(before.(plugins.Gate), tool)
		if held.Widened && !w.Widened || held.Narrowed && !w.Narrowed {
			rt.Fatalf("for delegates the comparison says %+v, for all %+v", held, w)
		}
		ceiling := func(g plugins.CeilingGate) permission.Behavior {
			d, err := g.Ceiling(t.Context(), phase(tool, args))
			if err != nil {
				rt.Fatal(err)
			}
			return behaviorOf(d)
		}
		for _, c := range []struct {
			w      plugins.Widening
			decide func(plugins.CeilingGate) permission.Behavior
		}{
			{w, func(g plugins.CeilingGate) permission.Behavior { return behaviorOf(check(t, g, tool, args)) }},
			{w, ceiling}, {held, ceiling},
		} {
			if c.w.Widened != (c.w.Reason != "") && !c.w.Narrowed {
				rt.Fatalf("the comparison says %+v", c.w)
			}
			was, is := c.decide(before), c.decide(after)
			if moreOpen(is, was) && !c.w.Widened {
				rt.Fatalf("%v to %v: %s %s was %s and is %s, but is not told: %+v", old, fresh, tool, args, was, is, c.w)
			}
			if moreOpen(was, is) && !c.w.Narrowed {
				rt.Fatalf("%v to %v: %s %s was %s and is %s, but is not told: %+v", old, fresh, tool, args, was, is, c.w)
			}
		}
	})
}

// TestPropertyWhatIsStricterIsNotWidened proves that changes that only hold back
// are never told to widen.
func TestPropertyWhatIsStricterIsNotWidened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fallback := rapid.SampledFrom(strictness[:3]).Draw(rt, "default")
		old := rules().Draw(rt, "rules")
		fresh := slices.Clone(old)
		other := rules().Filter(func(r []generated) bool { return len(r) > 0 }).Draw(rt, "other")[0]
		at := rapid.IntRange(0, len(old)).Draw(rt, "at")
		kind := rapid.SampledFrom([]string{"a denial is added", "a denial is stronger", "allow becomes ask", "the order differs", "a question is added"}).Draw(rt, "kind")
		switch kind {
		case "a denial is added":
			other.Behavior = rapid.SampledFrom(strictness[2:]).Draw(rt, "denial")
			fresh = slices.Insert(fresh, at, other)
		case "a denial is stronger":
			for i := range fresh {
				switch fresh[i].Behavior {
				case permission.Deny:
					if fresh[i].Behavior = permission.Terminate; rapid.Bool().Draw(rt, "wider") {
						fresh[i].Tool, _, _ = strings.Cut(fresh[i].Tool, "(")
					}
				case permission.Ask:
					fresh[i].Behavior = permission.Deny
				}
			}
		case "allow becomes ask":
			for i := range fresh {
				if fresh[i].Behavior == permission.Allow && rapid.Bool().Draw(rt, "asks") {
					fresh[i].Behavior = permission.Ask
				}
			}
			if fallback == permission.Allow && rapid.Bool().Draw(rt, "default asks") {
				if w := compareGates(t, gateFor(t, fallback, old), gateFor(t, permission.Ask, fresh), "t"); w.Widened {
					rt.Fatalf("%s: %v to %v: %s", kind, old, fresh, w.Reason)
				}
			}
		case "the order differs":
			fresh = rapid.Permutation(old).Draw(rt, "order")
		case "a question is added": // where the rest allows
			if fallback = permission.Allow; rapid.Bool().Draw(rt, "duplicate") && len(old) > 0 {
				other = old[min(at, len(old)-1)]
			}
			other.Behavior = permission.Ask
			fresh = slices.Insert(fresh, at, other)
		}
		for _, tool := range []string{"t", "u", "tt"} {
			w := compareGates(t, gateFor(t, fallback, old), gateFor(t, fallback, fresh), tool)
			if w.Widened || kind == "the order differs" && w.Narrowed {
				rt.Fatalf("%s: %v to %v: %s: %+v", kind, old, fresh, tool, w)
			}
		}
	})
}

// TestWideningNamesWhatMakesTheDifference shows single changes of a rule beside
// the default allow.
func TestWideningNamesWhatMakesTheDifference(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, fresh, widened string }{
		{`t(a > 1000)`, `t(a > 1000)`, ""},
		{`t(a > 1000)`, `t(a > 500)`, ""},
		{`t(a > 1000)`, `t(a >= 1e3)`, ""},
		{`t(a > 1000)`, `t`, ""},
		{`t(a > 1000, b == "x")`, `t(a > 1000)`, ""},
		{`t(a > 500)`, `t(a > 1000)`, `default_behavior allow instead of rules[0] "t(a > 500)" deny`},
		{`t(a >= 1000)`, `t(a > 1000)`, `default_behavior allow instead of rules[0] "t(a >= 1000)" deny`},
		{`t(a < 5)`, `t(a < 7)`, ""},
		{`t(a > 5)`, `t(a < 7)`, `default_behavior allow instead of rules[0] "t(a > 5)" deny`},
		{`t(a in ["x"])`, `t(a in ["x", "y"])`, ""},
		{`t(a == "x")`, `t(a in ["x", "y"])`, ""},
		{`t(a in ["x", "y"])`, `t(a in ["x"])`, `default_behavior allow instead of rules[0] "t(a in [\"x\", \"y\"])" deny`},
		{`t(a in ["x"])`, `t(a in ["x", 5])`, `default_behavior allow instead of rules[0] "t(a in [\"x\"])" deny`},
		{`t(rm -rf *)`, `t(rm *)`, ""},
		{`t(rm *)`, `t(rm -rf *)`, `default_behavior allow instead of rules[0] "t(rm *)" deny`},
		{`t(command:rm -rf *)`, `t(command:rm *)`, ""},
		{`t(a ~ command:"rm *")`, `t(a ~ command:"*m *")`, `default_behavior allow instead of rules[0] "t(a ~ command:\"rm *\")" deny`},
		{`t(a ~ "rm *")`, `t(a ~ "*rm *")`, ""},
		{`t*(a > 5)`, `t(a > 5)`, ""},
		{`t(a > 5)`, `u(a > 5)`, `default_behavior allow instead of rules[0] "t(a > 5)" deny`},
	} {
		before := gateFor(t, permission.Allow, []generated{{tt.old, permission.Deny}})
		after := gateFor(t, permission.Allow, []generated{{tt.fresh, permission.Deny}})
		if w := compareGates(t, before, after, "t"); w.Widened != (tt.widened != "") || w.Widened && w.Reason != tt.widened {
			t.Errorf("%s to %s: %+v, want %q", tt.old, tt.fresh, w, tt.widened)
		}
	}
}
