package evals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// checker compares a turn with its expectations.
type checker struct {
	*compiled
	// base is the path of the expectations in the case.
	base     string
	turn     *TurnResult
	failures []Failure
}

func (k *checker) addFailure(field, format string, args ...any) {
	k.failures = append(k.failures, Failure{Field: field, Message: fmt.Sprintf(format, args...)})
}

// path returns the path in the case of a field of the expectations.
func (k *checker) path(field string) string { return diag.Join(k.base, field) }

// checkTurn returns the unmet expectations of a turn, judges excluded.
func (k *checker) checkTurn(ctx context.Context, e *Expectations) []Failure {
	r := k.turn
	if want := cmp.Or(e.Status, string(event.StatusSucceeded)); string(r.Status) != want {
		k.addFailure("status", "the turn is %s, not %s: %s", r.Status, want, evalcase.DescribeTermination(r.Termination))
	}
	if got := r.Termination; e.Termination != "" && e.Termination != string(got.Type) && e.Termination != string(got.Type)+":"+got.Code {
		k.addFailure("termination", "the turn ended by %s, not %s", evalcase.DescribeTermination(got), e.Termination)
	}
	if e.FinalAgent != "" && e.FinalAgent != r.Agent {
		k.addFailure("final_agent", "%s has the conversation at the end, not %s", r.Agent, e.FinalAgent)
	}
	if e.Calls != nil {
		k.checkCalls(ctx, e.Calls)
	}
	k.checkNotCalled(e.NotCalled)
	for i, id := range e.Delegates {
		if !slices.Contains(r.Delegates, id) {
			k.addFailure(diag.Index("delegates", i), "%s did not run as a delegate; %s did", id, listOr(r.Delegates, "no agent"))
		}
	}
	if e.Handoffs != nil && !slices.Equal(e.Handoffs, r.Handoffs) {
		k.addFailure("handoffs", "the conversation was handed to %s, not to %s", listOr(r.Handoffs, "nobody"), listOr(e.Handoffs, "nobody"))
	}
	if e.Text != nil {
		k.checkText(e.Text)
	}
	if e.Output != nil {
		k.checkValue(ctx, "output", e.Output, json.RawMessage(strings.TrimSpace(r.Response)))
	}
	if e.State != nil {
		k.checkValue(ctx, "state", e.State, r.State)
	}
	k.checkArtifacts(e.Artifacts)
	k.checkLimits(e)
	return k.failures
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

func (k *checker) checkCalls(ctx context.Context, e *ExpectedCalls) {
	calls := k.turn.Calls
	matches := func(i int, c *CallResult) bool { return k.describeMismatch(ctx, e, i, c) == "" }
	var extra []*CallResult
	if e.Match == MatchExact {
		for i := range e.Calls {
			at := diag.Index("calls.calls", i)
			if i >= len(calls) {
				k.addFailure(at, "call %d, %s, is missing; %s", i+1, e.Calls[i].Rule, countCalls(calls))
			} else if why := k.describeMismatch(ctx, e, i, calls[i]); why != "" {
				text := fmt.Sprintf("call %d, %s, %s", i+1, describeCall(calls[i]), why)
				if len(calls) > 1 {
					text += "; " + countCalls(calls)
				}
				k.addFailure(at, "%s", text)
				return // later calls may only be in other places
			}
		}
		extra = calls[min(len(e.Calls), len(calls)):]
	} else {
		owner := matchCalls(len(e.Calls), calls, matches)
		for i := range e.Calls {
			if !slices.Contains(owner, i) {
				k.addFailure(diag.Index("calls.calls", i), "%s", k.describeMissing(ctx, e, i, owner))
			}
		}
		for at, i := range owner {
			if i < 0 && e.Match == MatchAnyOrder {
				extra = append(extra, calls[at])
			}
		}
	}
	for _, c := range extra {
		k.addFailure("calls", "%s was not expected", describeCall(c))
	}
}

// describeMismatch returns why a call does not match an expected call; empty if it matches.
func (k *checker) describeMismatch(ctx context.Context, e *ExpectedCalls, i int, c *CallResult) string {
	want, at := &e.Calls[i], diag.Index("calls.calls", i)
	rule := k.rules[k.path(at+".rule")]
	if !rule.Matches(c.Tool, c.Arguments) {
		return "is not " + want.Rule
	}
	if want.Outcome != "" && want.Outcome != string(c.Outcome) {
		return fmt.Sprintf("has the outcome %s, not %s", c.Outcome, want.Outcome)
	}
	compiled := k.schemas[k.path(at+".schema")]
	if compiled == nil {
		return ""
	}
	found, err := compiled.ValidateJSON(ctx, c.Arguments)
	switch {
	case err != nil:
		return fmt.Sprintf("does not satisfy the schema: %v", err)
	case len(found) > 0:
		return fmt.Sprintf("does not satisfy the schema: %v", found[0])
	}
	return ""
}

// describeMissing returns why no call is left for an expected call. owner holds the expectation
// that each call meets.
func (k *checker) describeMissing(ctx context.Context, e *ExpectedCalls, i int, owner []int) string {
	var near []string
	rule := k.rules[k.path(diag.Index("calls.calls", i)+".rule")]
	for at, c := range k.turn.Calls {
		if !rule.Matches(c.Tool, c.Arguments) {
			continue
		}
		why := k.describeMismatch(ctx, e, i, c)
		if why == "" {
			why = fmt.Sprintf("is already calls[%d]", owner[at])
		}
		near = append(near, describeCall(c)+" "+why)
	}
	if len(near) == 0 {
		return fmt.Sprintf("no call is %s; %s", e.Calls[i].Rule, countCalls(k.turn.Calls))
	}
	return "no call meets it: " + strings.Join(near, "; ")
}

// matchCalls assigns expected calls to calls, as many as possible: each call gets the
// index of the expectation that it meets, or -1.
func matchCalls(expected int, calls []*CallResult, matches func(int, *CallResult) bool) []int {
	owner := make([]int, len(calls))
	for i := range owner {
		owner[i] = -1
	}
	var assign func(i int, visited []bool) bool
	assign = func(i int, visited []bool) bool { // an augmenting path of a bipartite matching
		for at, c := range calls {
			if visited[at] || !matches(i, c) {
				continue
			}
			visited[at] = true
			if owner[at] < 0 || assign(owner[at], visited) {
				owner[at] = i
				return true
			}
		}
		return false
	}
	for i := range expected {
		assign(i, make([]bool, len(calls)))
	}
	return owner
}

// countCalls lists calls.
func countCalls(calls []*CallResult) string {
	texts := make([]string, len(calls))
	for i, c := range calls {
		texts[i] = describeCall(c)
	}
	if len(texts) == 0 {
		return "there are no calls"
	}
	return "the calls are " + strings.Join(texts, ", ")
}

func describeCall(c *CallResult) string {
	text := c.Tool + describeValue(c.Arguments)
	if c.Outcome != "" && c.Outcome != event.CallSucceeded {
		text += " (" + string(c.Outcome) + ")"
	}
	return text
}

func (k *checker) checkNotCalled(rules []string) {
	for i, text := range rules {
		rule := k.rules[k.path(diag.Index("not_called", i))]
		for _, c := range k.turn.Calls {
			if rule.Matches(c.Tool, c.Arguments) {
				k.addFailure(diag.Index("not_called", i), "%s was called, which matches %s", describeCall(c), text)
			}
		}
	}
}

func (k *checker) checkText(e *TextExpected) {
	text := strings.TrimSpace(k.turn.Response)
	folded := strings.ToLower(text)
	if e.Equals != nil && text != strings.TrimSpace(*e.Equals) {
		k.addFailure("text.equals", "the text is %q, not %q", text, *e.Equals)
	}
	for i, part := range e.Contains {
		if !strings.Contains(folded, strings.ToLower(part)) {
			k.addFailure(diag.Index("text.contains", i), "the text does not contain %q: %q", part, text)
		}
	}
	for i, part := range e.NotContains {
		if strings.Contains(folded, strings.ToLower(part)) {
			k.addFailure(diag.Index("text.not_contains", i), "the text contains %q: %q", part, text)
		}
	}
	for i, expression := range e.Matches {
		field := diag.Index("text.matches", i)
		if re := k.texts[k.path(field)]; re != nil && !re.MatchString(text) {
			k.addFailure(field, "the text does not match %s: %q", expression, text)
		}
	}
}

func (k *checker) checkValue(ctx context.Context, field string, e *ValueExpected, value json.RawMessage) {
	if len(bytes.TrimSpace(value)) == 0 {
		value = json.RawMessage("null")
	}
	if !json.Valid(value) {
		k.addFailure(field, "it is not JSON: %s", describeValue(value))
		return
	}
	if len(e.Equals) > 0 && !rawjson.Equal(value, e.Equals) {
		k.addFailure(field+".equals", "it is %s, not %s", describeValue(value), describeValue(e.Equals))
	}
	if compiled := k.schemas[k.path(field+".schema")]; compiled != nil {
		found, err := compiled.ValidateJSON(ctx, value)
		if err != nil {
			k.addFailure(field+".schema", "%v", err)
		}
		for _, v := range found {
			k.addFailure(field+".schema", "%v", v)
		}
	}
}

func (k *checker) checkArtifacts(list []ArtifactMatch) {
	for i := range list {
		want, field := &list[i], diag.Index("artifacts", i)
		fits := func(a event.Artifact) bool {
			return k.globs[k.path(field+".name")].Match(a.Name) &&
				(want.MediaType == "" || want.MediaType == a.MediaType) &&
				bytes.Contains(k.turn.artifacts[a.ID], []byte(want.Contains))
		}
		if !slices.ContainsFunc(k.turn.Artifacts, fits) {
			names := make([]string, len(k.turn.Artifacts))
			for i, a := range k.turn.Artifacts {
				names[i] = fmt.Sprintf("%s (%s)", cmp.Or(a.Name, a.ID), a.MediaType)
			}
			k.addFailure(field, "no artifact matches; the turn made %s", listOr(names, "none"))
		}
	}
}

// describeDuration rounds a duration up to milliseconds, so that it stays above the exceeded limit.
func describeDuration(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

func (k *checker) checkLimits(e *Expectations) {
	r := k.turn
	if e.MaxSteps > 0 && r.Steps > e.MaxSteps {
		k.addFailure("max_steps", "the turn took %d steps, more than %d", r.Steps, e.MaxSteps)
	}
	if used := r.Usage.Input + r.Usage.Output; e.MaxTokens > 0 && used > e.MaxTokens {
		k.addFailure("max_tokens", "the turn used %d tokens, more than %d", used, e.MaxTokens)
	}
	if e.MaxCost != nil {
		switch {
		case r.Cost == nil:
			k.addFailure("max_cost", "the cost is unknown: the models have no prices")
		case r.Cost.Amount > *e.MaxCost:
			k.addFailure("max_cost", "the turn cost %s, more than %v", r.Cost, *e.MaxCost)
		}
	}
	if e.MaxLatency != nil && r.Duration > e.MaxLatency.Std() {
		k.addFailure("max_latency", "the turn took %s, longer than %s", describeDuration(r.Duration), e.MaxLatency.Std())
	}
}
