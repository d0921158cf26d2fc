package evals

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// compiler checks a case and compiles its parts for running.
type compiler struct {
	compiled
	found diag.List
}

// compiled are the compiled parts of a case, by their paths in the case.
type compiled struct {
	rules   map[string]permission.Rule
	globs   map[string]pattern.Pattern
	schemas map[string]*schema.Schema
	texts   map[string]*regexp.Regexp
	scripts map[string]*scripted.Executor
}

// Validate checks every case.
func (f *File) Validate() diag.List {
	var list diag.List
	for _, id := range slices.Sorted(maps.Keys(f.Cases)) {
		c := f.Cases[id]
		if c == nil {
			continue
		}
		c.ID = id
		for _, d := range c.Validate() {
			d.Path = diag.Join(diag.Key("cases", id), d.Path)
			list = append(list, d)
		}
	}
	return list
}

// Validate returns the errors in the case, with paths below it.
func (c *Case) Validate() diag.List {
	_, list := c.compile()
	return list
}

func (c *Case) compile() (*compiled, diag.List) {
	k := &compiler{compiled: compiled{
		rules: map[string]permission.Rule{}, globs: map[string]pattern.Pattern{},
		schemas: map[string]*schema.Schema{}, texts: map[string]*regexp.Regexp{}, scripts: map[string]*scripted.Executor{},
	}}
	if !evalcase.IsID(c.ID) {
		k.addError(diag.InvalidValue, "", "the ID %q of a case must have 1 to 80 letters, digits, dots, dashes and underscores, and begin with a letter or digit", c.ID)
	}
	for _, reserved := range []string{".tools", ".judges"} {
		if strings.HasSuffix(strings.ToLower(c.ID), reserved) {
			k.addError(diag.InvalidValue, "", "the ID %q of a case must not end with %s, which its recordings do", c.ID, reserved)
		}
	}
	k.compileScript("script", c.Script)
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		k.compileToolUse(diag.Key("tools", name), name, c.Tools[name])
	}
	for i := range c.Answers {
		k.compileAnswer(diag.Index("answers", i), &c.Answers[i])
	}
	if len(c.Turns) == 0 && c.User == nil {
		k.addError(diag.MissingField, "turns", "a turn, or a user, is required")
	}
	k.compileExpectations("expect", &c.Expect)
	for i := range c.Turns {
		at := diag.Index("turns", i)
		if c.Turns[i].Prompt == "" && len(c.Turns[i].Attachments) == 0 {
			k.addError(diag.MissingField, diag.Join(at, "prompt"), "the turn has neither a prompt nor attachments")
		}
		k.compileScript(diag.Join(at, "script"), c.Turns[i].Script)
		k.compileExpectations(diag.Join(at, "expect"), &c.Turns[i].Expect)
	}
	k.warnUnused(c)
	return &k.compiled, k.found
}

func (k *compiler) addError(code diag.Code, path, format string, args ...any) {
	k.found = append(k.found, diag.New(code, path, format, args...))
}

func (k *compiler) compileScript(path string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	script, err := scripted.Parse("the script", raw)
	if err == nil {
		k.scripts[path], err = scripted.New(script)
	}
	if err != nil {
		k.addError(diag.InvalidValue, path, "%v", err)
	}
}

func (k *compiler) compileToolUse(at, name string, use *ToolUse) {
	k.compileGlob(at, name)
	if use == nil {
		k.addError(diag.InvalidValue, at, "it has no fields: write real: true, or a result")
		return
	}
	set := 0
	for _, is := range []bool{use.Real, len(use.Result) > 0, use.Error != "", use.Results != nil, use.ByArguments != nil, use.Replay} {
		if is {
			set++
		}
	}
	if set != 1 {
		k.addError(diag.InvalidValue, at, "exactly one of real, result, error, results, by_arguments and replay is required")
	}
	for i := range use.ByArguments {
		path, when := diag.Join(at, diag.Index("by_arguments", i)+".when"), use.ByArguments[i].When
		if !strings.HasPrefix(when, "(") {
			k.addError(diag.InvalidValue, path, "%q must be conditions in parentheses, as in (amount > 100)", when)
			continue
		}
		k.compileRule(path, "*"+when)
		if one := &use.ByArguments[i]; (len(one.Result) > 0) == (one.Error != "") {
			k.addError(diag.InvalidValue, diag.Join(at, diag.Index("by_arguments", i)), "exactly one of result and error is required")
		}
	}
}

func (k *compiler) compileAnswer(at string, a *AnswerRule) {
	if a.Tool == "" {
		a.Tool = "*"
	}
	k.compileGlob(diag.Join(at, "tool"), a.Tool)
	if a.Approve == nil && a.Text == "" && len(a.Value) == 0 {
		k.addError(diag.MissingField, at, "one of approve, text and value is required")
	}
}

// reasons lists the reasons why turns end.
var reasons = []string{
	string(event.NaturalEnd), string(event.BehaviorRequested), string(event.Stopped), string(event.Canceled),
	string(event.Blocked), string(event.Suspended), string(event.BudgetExceeded), string(event.Failed),
}

func (k *compiler) compileExpectations(at string, e *Expectations) {
	if e.Calls != nil {
		for i := range e.Calls.Calls {
			call := diag.Join(at, diag.Index("calls.calls", i))
			k.compileRule(call+".rule", e.Calls.Calls[i].Rule)
			k.compileSchema(call+".schema", e.Calls.Calls[i].Schema)
		}
	}
	for i, rule := range e.NotCalled {
		k.compileRule(diag.Join(at, diag.Index("not_called", i)), rule)
	}
	if e.Text != nil {
		for i, text := range e.Text.Matches {
			path := diag.Join(at, diag.Index("text.matches", i))
			re, err := regexp.Compile(text)
			if wrong, ok := errors.AsType[*syntax.Error](err); ok {
				k.addError(diag.InvalidValue, path, "%q is not a regular expression (RE2): %s in %q; a backslash makes a character literal", text, wrong.Code, wrong.Expr)
			}
			k.texts[path] = re
		}
	}
	for name, value := range map[string]*ValueExpected{"output": e.Output, "state": e.State} {
		if value != nil {
			k.compileSchema(diag.Join(at, name+".schema"), value.Schema)
		}
	}
	for i := range e.Artifacts {
		if e.Artifacts[i].Name == "" {
			e.Artifacts[i].Name = "*"
		}
		k.compileGlob(diag.Join(at, diag.Index("artifacts", i)+".name"), e.Artifacts[i].Name)
	}
	if reason, _, _ := strings.Cut(e.Termination, ":"); reason != "" && !slices.Contains(reasons, reason) {
		wrong := diag.New(diag.InvalidValue, diag.Join(at, "termination"), "%q must be one of %s, with a code or without, as in budget_exceeded:tokens", e.Termination, strings.Join(reasons, ", "))
		k.found = append(k.found, wrong.WithNearest(reason, reasons))
	}
	k.warnExpectations(at, e)
	for i := range e.Judges {
		k.checkJudge(diag.Join(at, diag.Index("judges", i)), &e.Judges[i])
	}
}

// checkJudge checks the program or the address of a judge.
func (k *compiler) checkJudge(at string, j *Judge) {
	switch j.Type {
	case "command":
		if len(j.Command) == 0 || j.Command[0] == "" {
			k.addError(diag.InvalidValue, diag.Join(at, "command"), "the name of a program is required")
		}
	case "http":
		if u, err := url.Parse(j.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			k.addError(diag.InvalidValue, diag.Join(at, "url"), "it must be an http or https URL")
		}
	}
}

func (k *compiler) compileGlob(path, glob string) {
	compiled, err := pattern.Compile(glob)
	if err != nil {
		k.addError(diag.InvalidPattern, path, "%v", err)
	}
	k.globs[path] = compiled
}

func (k *compiler) compileRule(path, text string) {
	rule, err := permission.ParseRule(text)
	if err != nil {
		k.addError(diag.InvalidValue, path, "%v", err)
	}
	k.rules[path] = rule
}

func (k *compiler) compileSchema(path string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	compiled, err := schema.Compile(raw)
	if err != nil {
		k.addError(diag.InvalidSchema, path, "it is not a valid JSON Schema: %v", err)
	}
	k.schemas[path] = compiled
}

// describeValue returns a JSON value in one line of limited length, for messages.
func describeValue(raw json.RawMessage) string {
	const shown = 200
	if len(raw) <= shown {
		return string(raw)
	}
	return fmt.Sprintf("%s… (%d bytes)", clip.Head(string(raw), shown), len(raw))
}
