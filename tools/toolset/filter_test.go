package toolset_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// catalog compiles the catalog of an agent written as JSON.
func filter(t *testing.T, agent string) *toolset.Filter {
	t.Helper()
	var a spec.Agent
	if err := json.Unmarshal([]byte(agent), &a); err != nil {
		t.Fatal(err)
	}
	c, list := toolset.CompileFilter(&a)
	if list != nil {
		t.Fatal(list)
	}
	return c
}

func TestWhichToolsACatalogShows(t *testing.T) {
	ids := []string{"a", "ab", "b", "mcp__x", "mcp__y"}
	for agent, want := range map[string]string{
		`{}`:                                                       "a ab b mcp__x mcp__y",
		`{"allowed_tools":["a"]}`:                                  "a",
		`{"allowed_tools":["a","unknown"]}`:                        "a",
		`{"allowed_tools":["a*"]}`:                                 "", // a literal is no pattern
		`{"allowed_tools":[]}`:                                     "",
		`{"allowed_tools":null}`:                                   "",
		`{"allowed_tool_patterns":null}`:                           "",
		`{"allowed_tool_patterns":[]}`:                             "",
		`{"allowed_tools":null,"allowed_tool_patterns":null}`:      "",
		`{"allowed_tools":[],"allowed_tool_patterns":["a*"]}`:      "a ab",
		`{"allowed_tools":["b"],"allowed_tool_patterns":["a*"]}`:   "a ab b",
		`{"allowed_tools":["b"],"allowed_tool_patterns":[]}`:       "b",
		`{"excluded_tools":["a"]}`:                                 "ab b mcp__x mcp__y",
		`{"excluded_tools":null,"excluded_tool_patterns":[]}`:      "a ab b mcp__x mcp__y",
		`{"excluded_tool_patterns":["mcp__*"]}`:                    "a ab b",
		`{"excluded_tools":["b"],"excluded_tool_patterns":["a?"]}`: "a mcp__x mcp__y",
		`{"allowed_tools":["a","b"],"excluded_tools":["a"]}`:       "b",
		`{"allowed_tools":["a"],"excluded_tool_patterns":["*"]}`:   "",
		`{"allowed_tool_patterns":["*"]}`:                          "a ab b mcp__x mcp__y",
		`{"allowed_tool_patterns":["?"]}`:                          "a b",
		`{"allowed_tool_patterns":["[ab]"]}`:                       "a b",
		`{"allowed_tool_patterns":["{ab,mcp__x}"]}`:                "ab mcp__x",
		`{"allowed_tool_patterns":["A"]}`:                          "",
		`{"allowed_tool_patterns":["*b"]}`:                         "ab b",
		`{"allowed_tool_patterns":["m*x"]}`:                        "mcp__x",
	} {
		c := filter(t, agent)
		var seen []string
		for _, id := range ids {
			if c.Decide(id).Visible {
				seen = append(seen, id)
			}
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s shows %q, want %q", agent, got, want)
		}
	}
}

func TestACatalogMadeInGoTellsNilFromEmpty(t *testing.T) {
	for _, tt := range []struct {
		agent spec.Agent
		want  bool
	}{
		{spec.Agent{}, true},
		{spec.Agent{AllowedTools: spec.Names{}}, false},
		{spec.Agent{AllowedToolPatterns: spec.Names{}}, false},
		{spec.Agent{ExcludedTools: spec.Names{}, ExcludedToolPatterns: spec.Names{}}, true},
	} {
		c, _ := toolset.CompileFilter(&tt.agent)
		if got := c.Decide("a").Visible; got != tt.want {
			t.Errorf("%+v: visible is %t", tt.agent, got)
		}
	}
}

func TestACatalogSaysWhichEntryDecided(t *testing.T) {
	c := filter(t, `{
		"allowed_tools": ["a","b","c","d","e","f","g","h","i","b"], "allowed_tool_patterns": ["x*","xy"],
		"excluded_tools": ["c"], "excluded_tool_patterns": ["?z","d"]
	}`)
	for id, want := range map[string]string{
		"b":  `allowed_tools[1] "b"`,
		"xy": `allowed_tool_patterns[0] "x*"`,
		"c":  `excluded_tools[0] "c"`,
		"d":  `excluded_tool_patterns[1] "d"`,
		"xz": `excluded_tool_patterns[0] "?z"`,
		"no": "no entry of allowed_tools or allowed_tool_patterns allows it",
	} {
		if got := c.Decide(id).Rule(); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if got := filter(t, `{}`).Decide("b").Rule(); got != "no allow field is set, so every tool is allowed" {
		t.Errorf("the rule is %s", got)
	}
}

func TestPatternsThatDoNotCompileStillRestrict(t *testing.T) {
	c, list := toolset.CompileFilter(&spec.Agent{
		AllowedToolPatterns: spec.Names{"[", "a*", ""}, ExcludedToolPatterns: spec.Names{`b\`},
	})
	var at []string
	for _, d := range list {
		if d.Code != diag.InvalidPattern {
			t.Errorf("the diagnostic is %v", d)
		}
		at = append(at, d.Path)
	}
	want := []string{"allowed_tool_patterns[0]", "allowed_tool_patterns[2]", "excluded_tool_patterns[0]"}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
	if !c.Decide("ab").Visible || c.Decide("b").Visible || c.Decide("").Visible {
		t.Error("a broken pattern matches something")
	}
}

func TestEntriesThatMatchNothing(t *testing.T) {
	c := filter(t, `{"allowed_tools":["a","q"],"allowed_tool_patterns":["b*","z*"],"excluded_tools":["r"],"excluded_tool_patterns":["*"]}`)
	patterns, literals := c.Unmatched([]string{"a", "b", "bb"})
	if diff := cmp.Diff([]toolset.Decision{{Field: toolset.FieldAllowedToolPatterns, Index: 1, Entry: "z*"}}, patterns); diff != "" {
		t.Error(diff)
	}
	want := []toolset.Decision{
		{Field: toolset.FieldAllowedTools, Index: 1, Entry: "q"},
		{Field: toolset.FieldExcludedTools, Index: 0, Entry: "r"},
	}
	if diff := cmp.Diff(want, literals); diff != "" {
		t.Error(diff)
	}
}

// naive is the catalog as §3.2 of the specification words it, for patterns with
// '*' and '?' alone.
func naive(a *spec.Agent, id string) bool {
	any := func(literals, patterns []string) bool {
		return slices.Contains(literals, id) || slices.ContainsFunc(patterns, func(p string) bool { return matches(p, id) })
	}
	allow := a.AllowedTools == nil && a.AllowedToolPatterns == nil || any(a.AllowedTools, a.AllowedToolPatterns)
	return allow && !any(a.ExcludedTools, a.ExcludedToolPatterns)
}

func matches(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return matches(pattern[1:], text) || text != "" && matches(pattern, text[1:])
	default:
		return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern[1:], text[1:])
	}
}

func TestACatalogIsWhatTheSpecificationSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[ab_-]{1,6}`)
		names := func(g *rapid.Generator[string], label string) spec.Names {
			if rapid.Bool().Draw(t, label+" absent") {
				return nil
			}
			return append(spec.Names{}, rapid.SliceOfN(g, 0, 12).Draw(t, label)...)
		}
		a := &spec.Agent{
			AllowedTools: names(id, "allowed"), AllowedToolPatterns: names(rapid.StringMatching(`[ab_*?]{1,5}`), "allowed patterns"),
			ExcludedTools: names(id, "excluded"), ExcludedToolPatterns: names(rapid.StringMatching(`[ab_*?]{2,5}`), "excluded patterns"),
		}
		c, list := toolset.CompileFilter(a)
		if list != nil {
			t.Fatal(list)
		}
		for range 10 {
			name := id.Draw(t, "id")
			d := c.Decide(name)
			if want := naive(a, name); d.Visible != want {
				t.Fatalf("%q: visible is %t by %s, want %t", name, d.Visible, d.Rule(), want)
			}
		}
	})
}
