package bounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/workspace"
)

func patternInputs() map[string]input {
	all := strings.Repeat("a", size)
	return map[string]input{
		"[globs](globs.md)": {bombs: map[string]bomb{
			"long":         {"at most 1024", func(*testing.T) error { return matchGlob(strings.Repeat("*a", size/2), all) }},
			"stars":        {"", func(*testing.T) error { return matchGlob(strings.Repeat("*a", 500)+"x*", all) }},
			"sets":         {"", func(*testing.T) error { return matchGlob("*"+strings.Repeat("[!bcdefghij]", 64)+"x*", all) }},
			"alternatives": {"combinations", func(*testing.T) error { return matchGlob(strings.Repeat("{a,aa}", 100)+"x", all) }},
			"some of them": {"", func(*testing.T) error {
				return matchGlob("{"+strings.Repeat("*a*b*x*,", 60)+"b}*z*", strings.Repeat("ab", size/2))
			}},
			"nested":         {"combinations", func(*testing.T) error { return matchGlob(nest("{a,*", "b", "}", 200), all) }},
			"too many sets":  {"at most 64", func(*testing.T) error { return matchGlob(strings.Repeat("?", 1000), all) }},
			"escapes":        {"", func(*testing.T) error { return matchGlob(strings.Repeat(`\*`, 500)+"*", strings.Repeat("*", size)) }},
			"invalid, large": {"at most 1024", func(*testing.T) error { return matchGlob(strings.Repeat("[", size), all) }},
		}, tests: []string{"internal/pattern TestMatchTakesNoTime"}},
		"regular expressions": {bombs: map[string]bomb{
			"repetitions":       {"at most 4096", func(*testing.T) error { return matchRegexp(strings.Repeat("x{1000}", 9000)) }},
			"some repetitions":  {"instructions", func(*testing.T) error { return matchRegexp(strings.Repeat("x{1000}", 500)) }},
			"nested":            {"", func(*testing.T) error { return matchRegexp("((((x?){9}){9}){9})y") }},
			"nested too deeply": {"nest", func(*testing.T) error { return matchRegexp(nest("(", "x", ")", 2000)) }},
			"choices":           {"", func(*testing.T) error { return matchRegexp("(" + strings.Repeat("x*|", 1000) + ")*y") }},
		}, tests: []string{"internal/pattern TestRegularExpressionsAreBounded"}},
		"patterns of `list_files` and `grep`": {bombs: map[string]bomb{
			"stars":      {"", func(t *testing.T) error { return search(t, "list_files", "pattern", strings.Repeat("*a", 200)+"x*") }},
			"more stars": {"", func(t *testing.T) error { return search(t, "list_files", "pattern", strings.Repeat("**/*a*", 80)+"x*") }},
			"alternatives": {"", func(t *testing.T) error {
				return search(t, "list_files", "pattern", strings.Repeat("*{a,aa,*}", 60)+"x")
			}},
			"large":         {"at most 1024", func(t *testing.T) error { return search(t, "list_files", "pattern", strings.Repeat("?", size)) }},
			"an expression": {"", func(t *testing.T) error { return search(t, "grep", "expression", strings.Repeat("(a?){30}", 30)+"x") }},
			"a large one":   {"at most 4096", func(t *testing.T) error { return search(t, "grep", "expression", strings.Repeat("a", size)) }},
		}, tests: []string{"internal/pattern TestPathPatternsAreBounded", "tools/workspace TestASearchEndsInsideOfAFile"}},
		"rules of `permission`": {bombs: map[string]bomb{
			"globs":              {"too long", func(t *testing.T) error { return judge(t, `wc(*a?a?a?a?a?*%d)`, all) }},
			"expressions":        {"too long", func(t *testing.T) error { return judge(t, `wc(a =~ "(a?){9}x%d")`, all) }},
			"paths":              {"too long", func(t *testing.T) error { return judge(t, `wc(a ~ path:"*/%d")`, strings.Repeat("a/", size/2)) }},
			"commands":           {"", func(t *testing.T) error { return judge(t, `wc(a ~ command:"*x%d")`, strings.Repeat("a ", 8<<10)) }},
			"more commands":      {"", func(t *testing.T) error { return judge(t, `wc(a ~ command:"*x%d")`, strings.Repeat("a;", 8<<10)) }},
			"nested commands":    {"", func(t *testing.T) error { return judge(t, `wc(a ~ command:"*x%d")`, nest("$(", "a", ")", 5000)) }},
			"nested parentheses": {"", func(t *testing.T) error { return judge(t, `wc(a ~ command:"*x%d")`, nest("((", "a", "))", 4000)) }},
			"numbers":            {"", func(t *testing.T) error { return judge(t, `wc(a > 1e9999%d)`, all) }},
			"lists":              {"", func(t *testing.T) error { return judge(t, `wc(a in ["%d"])`, all) }},
			"any element": {"", func(t *testing.T) error {
				return judgeArguments(t, `wc(a[*] != "%d")`, repeat(`{"a":[`, `"%d"`, ",", `]}`))
			}},
			"objects": {"too long", func(t *testing.T) error {
				return judgeArguments(t, `wc(a = "%d")`, repeat(`{"a":[`, `{"%d":1}`, ",", `]}`))
			}},
			"large": {"at most 16384", func(*testing.T) error { _, err := permission.ParseRule(repeat("wc(", `a == %d`, ",", ")")); return err }},
		}, tests: []string{"plugins/permission TestComparingManyRulesTakesLittleTime"}},
	}
}

func matchGlob(source, text string) error {
	p, err := pattern.Compile(source)
	if err == nil {
		p.Match(text)
	}
	return err
}

func matchRegexp(source string) error {
	re, err := pattern.CompileRegexp(source)
	if err == nil {
		re.MatchString(strings.Repeat("x", re.Longest()))
	}
	return err
}

// search calls a tool in a directory with long paths and lines.
func search(t *testing.T, tool, argument, value string) error {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, strings.Repeat("a", 250)), []byte(strings.Repeat("a", size)), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := workspace.Kind().Create(tools.Settings{ID: "ws"}, &workspace.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(map[string]string{argument: value})
	if err != nil {
		t.Fatal(err)
	}
	members, _ := made.(tools.Bundle).Members()
	for _, m := range members {
		if m.ID == "ws_"+tool {
			result, err := m.Tool.Call(t.Context(), &tools.Call{ID: "c", Arguments: arguments})
			if err == nil && result.IsError {
				err = errors.New(model.PartsText(result.Content))
			}
			return err
		}
	}
	return fmt.Errorf("there is no tool %s", tool)
}

// judge matches a text against many rules.
func judge(t *testing.T, rule, text string) error {
	arguments, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	return judgeArguments(t, rule, string(arguments))
}

// judgeArguments matches arguments against 64 KB of rules.
func judgeArguments(t *testing.T, rule, arguments string) error {
	quoted, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	p := permission.New()
	section := p.Descriptor().Sections[0]
	settings, list := section.Decode([]byte(repeat(`{"default_behavior":"allow","rules":[`, `{"behavior":"ask","tool":`+string(quoted)+`}`, ",", `]}`)))
	if list.HasErrors() {
		return list[0]
	}
	env, errs := execution.Build(&spec.Agent{ID: "a"}, []execution.Loaded{{ID: "permission", Plugin: p}}, map[plugins.Claim]any{{Plugin: "permission", Key: section.Key}: settings})
	if errs != nil {
		t.Fatal(errs)
	}
	engine := execution.NewEngine(new(execution.Env), nil)
	engine.Context.Call = &model.ToolCall{ID: "c", Name: "wc", Arguments: json.RawMessage(arguments)}
	decision, err := env.Ceiling()[0].Ceiling(t.Context(), &engine.Context)
	if err == nil && decision.Kind == plugins.Block {
		err = errors.New(decision.Reason)
	}
	return err
}
