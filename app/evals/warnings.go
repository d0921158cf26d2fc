package evals

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
)

func (k *compiler) addWarning(path, format string, args ...any) {
	k.addError(diag.NoEffect, path, format, args...)
}

// warnUnused warns of parts of a case that have no effect.
func (k *compiler) warnUnused(c *Case) {
	if c.Tenant != "" && c.Overlay == "" {
		k.addWarning("tenant", "the name of the tenant is not used without an overlay")
	}
	if len(c.Script) > 0 && c.Models != Scripted {
		k.addWarning("script", "the script is not used without models: scripted")
	}
	for i := range c.Turns {
		at := diag.Index("turns", i)
		if len(c.Turns[i].Script) > 0 && c.Models != Scripted {
			k.addWarning(diag.Join(at, "script"), "the script is not used without models: scripted")
		}
		status := c.Turns[i].Expect.Status
		if status == "" || status == string(event.StatusSucceeded) {
			continue
		}
		if i+1 < len(c.Turns) {
			k.addWarning(diag.Index("turns", i+1), "this turn never runs, because the turn before is expected to end as %s", status)
		} else if c.User != nil {
			k.addWarning("user", "the user never writes, because the last turn is expected to end as %s", status)
		}
	}
	for i := range c.Answers {
		before := slices.IndexFunc(c.Answers[:i], func(a AnswerRule) bool { return a.Tool == "*" || a.Tool == c.Answers[i].Tool })
		if before >= 0 {
			k.addWarning(diag.Index("answers", i), "answers[%d] matches first", before)
		}
	}
}

// warnExpectations warns of expectations that always hold or exclude each other.
func (k *compiler) warnExpectations(at string, e *Expectations) {
	empty := []struct {
		field string
		is    bool
	}{
		{"calls", e.Calls != nil && len(e.Calls.Calls) == 0 && e.Calls.Match != MatchExact && e.Calls.Match != MatchAnyOrder},
		{"not_called", e.NotCalled != nil && len(e.NotCalled) == 0},
		{"delegates", e.Delegates != nil && len(e.Delegates) == 0},
		{"artifacts", e.Artifacts != nil && len(e.Artifacts) == 0},
		{"judges", e.Judges != nil && len(e.Judges) == 0},
		{"text", e.Text != nil && e.Text.Equals == nil && len(e.Text.Contains)+len(e.Text.NotContains)+len(e.Text.Matches) == 0},
		{"output", e.Output != nil && len(e.Output.Equals)+len(e.Output.Schema) == 0},
		{"state", e.State != nil && len(e.State.Equals)+len(e.State.Schema) == 0},
	}
	for _, one := range empty {
		if one.is {
			k.addWarning(diag.Join(at, one.field), "it is empty, so it always holds")
		}
	}
	for i := range e.Judges {
		if pass := e.Judges[i].Pass; pass != nil && *pass == 0 {
			k.addWarning(diag.Join(at, diag.Index("judges", i)+".pass"), "every score passes")
		}
	}
	k.warnContradictions(at, e)
	if e.Text != nil {
		k.warnText(diag.Join(at, "text"), e.Text)
	}
}

// warnContradictions warns of expectations that no turn can meet.
func (k *compiler) warnContradictions(at string, e *Expectations) {
	if last := len(e.Handoffs) - 1; last >= 0 && e.FinalAgent != "" && e.Handoffs[last] != e.FinalAgent {
		k.addWarning(diag.Join(at, "final_agent"), "it never holds together with handoffs, which end at %s", e.Handoffs[last])
	}
	if reason, _, _ := strings.Cut(e.Termination, ":"); slices.Contains(reasons, reason) {
		ends, want := event.Termination{Type: event.Reason(reason)}.Status(), cmp.Or(e.Status, string(event.StatusSucceeded))
		if want != string(ends) {
			k.addWarning(diag.Join(at, "termination"), "the turn must be %s, but one that ends so is %s: add status: %[2]s", want, ends)
		}
	}
	if e.Calls == nil {
		return
	}
	for i := range e.Calls.Calls {
		tool, _, _ := strings.Cut(e.Calls.Calls[i].Rule, "(")
		for j, text := range e.NotCalled {
			rule := k.rules[diag.Join(at, diag.Index("not_called", j))]
			if text == e.Calls.Calls[i].Rule || !rule.Conditional() && rule.MatchesTool(strings.TrimSpace(tool)) {
				k.addWarning(diag.Join(at, diag.Index("calls.calls", i)), "it never holds together with not_called[%d]", j)
			}
		}
	}
}

// warnText warns of text expectations that exclude each other or are empty.
func (k *compiler) warnText(at string, e *TextExpected) {
	for i, part := range e.Contains {
		folded := strings.ToLower(part)
		path := diag.Join(at, diag.Index("contains", i))
		switch {
		case part == "":
			k.addWarning(path, "it is empty, so it always holds")
		case e.Equals != nil && !strings.Contains(strings.ToLower(*e.Equals), folded):
			k.addWarning(path, "it never holds together with equals")
		case slices.ContainsFunc(e.NotContains, func(no string) bool { return strings.Contains(folded, strings.ToLower(no)) }):
			k.addWarning(path, "it never holds together with not_contains")
		}
	}
	for i, part := range e.NotContains {
		if part == "" || e.Equals != nil && strings.Contains(strings.ToLower(*e.Equals), strings.ToLower(part)) {
			k.addWarning(diag.Join(at, diag.Index("not_contains", i)), "it never holds")
		}
	}
}
