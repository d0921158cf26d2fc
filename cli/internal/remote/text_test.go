package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/service"
	"github.com/google/go-cmp/cmp"
)

// textOutput returns an output of a command that writes text, and its buffer.
func textOutput() (*command.Output, *bytes.Buffer) {
	var out bytes.Buffer
	return &command.Output{Streams: &terminal.Streams{Out: &out, Err: &out}, Format: "text", Redact: command.Unredacted}, &out
}

// TestPublicationsAreDescribed covers the result of a publication and its effect on tenants.
func TestPublicationsAreDescribed(t *testing.T) {
	t.Parallel()
	warning := diag.Diagnostic{Severity: diag.Warning, Code: "no_effect", Path: "agents.a", Message: "unused"}
	lost := resolve.Change{Kind: resolve.Removed, Field: "tool", Subject: "pay", Old: "allow"}
	wider := resolve.Change{Kind: resolve.Added, Field: "tool", Subject: "rm", New: "allow", Widened: true}
	same := resolve.NewDiffReport(nil)
	for _, tt := range []struct {
		name string
		done admin.Published
		want string
	}{
		{"published", admin.Published{Number: 7, Hash: "0123456789abcdef"}, "published: revision 7 (0123456789ab)\n"},
		{"unchanged", admin.Published{Number: 7, Hash: "0123456789abcdef", Unchanged: true}, "revision 7 (0123456789ab) is already current\n"},
		{"a dry run", admin.Published{DryRun: true, Findings: []diag.Diagnostic{warning}, Diff: same}, "warning[no_effect] agents.a: unused\nno agent differs\ndry run: nothing is published\n"},
		{
			"tenants", admin.Published{Number: 1, Hash: "h", Tenants: &admin.TenantsProof{
				Checked: 3, Broken: []admin.BrokenTenant{{Tenant: "acme", Findings: []diag.Diagnostic{warning}}},
				Changed: []admin.ChangedTenant{
					{Tenant: "quiet", Diff: same},
					{Tenant: "loud", Warnings: []diag.Diagnostic{warning}, Diff: resolve.NewDiffReport([]resolve.AgentDiff{{Agent: "clerk", Kind: resolve.Changed, Changes: []resolve.Change{lost, wider}}})},
				},
			}},
			"3 overlays of tenants proved, 1 broken\ntenant acme breaks:\n  warning[no_effect] agents.a: unused\n" +
				"tenant loud:\n  agent clerk loses pay\n  agent clerk: + tool rm: allow  (widened)\n  warning[no_effect] agents.a: unused\npublished: revision 1 (h)\n",
		},
	} {
		out, text := textOutput()
		if err := showPublished(out, &tt.done); err != nil || text.String() != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, text, tt.want)
		}
	}
}

// TestARejectedEffectIsShown repeats a change that widens access as a dry run, to show the effect.
func TestARejectedEffectIsShown(t *testing.T) {
	t.Parallel()
	widened, other := &native.Error{Code: "widened"}, &native.Error{Code: "conflict"}
	for _, tt := range []struct {
		name        string
		failOn      string
		first, then error
		calls       int
		shown       string
	}{
		{"accepted", "widened", nil, nil, 1, "published: revision 7 (h)\n"},
		{"widened", "widened", widened, nil, 2, "dry run: nothing is published\n"},
		{"for another reason", "widened", other, nil, 1, ""},
		{"unasked", "", widened, nil, 1, ""},
		{"another reason now", "widened", widened, other, 2, ""},
	} {
		out, text := textOutput()
		change := &admin.Change{FailOn: tt.failOn}
		calls := 0
		err := publishChange(out, change, func() (*admin.Published, error) {
			if calls++; calls == 1 {
				return &admin.Published{Number: 7, Hash: "h"}, tt.first
			}
			return &admin.Published{DryRun: change.DryRun}, tt.then
		})
		if !errors.Is(err, tt.first) || calls != tt.calls || text.String() != tt.shown {
			t.Errorf("%s: %v, %d calls, %q", tt.name, err, calls, text)
		}
	}
}

// TestVariablesOfTenants covers how values are shown, without secrets and on one line.
func TestVariablesOfTenants(t *testing.T) {
	t.Parallel()
	value := func(text string) *string { return &text }
	at := time.Now().Add(-3 * time.Hour)
	for _, tt := range []struct {
		v    service.TenantVariable
		want string
	}{
		{service.TenantVariable{Name: "A", State: "unset"}, "A unset - - -"},
		{service.TenantVariable{Name: "A", State: "set", Secret: true, SetBy: "ann", SetAt: &at}, "A set (secret) ann 3h"},
		{service.TenantVariable{Name: "A", State: "default", Value: value("one")}, "A default one - -"},
		{service.TenantVariable{Name: "A", State: "default", Value: value("one\ntwo")}, "A default one… - -"},
		{service.TenantVariable{Name: "A", State: "default", Value: value(strings.Repeat("é", 41))}, "A default " + strings.Repeat("é", 40) + "… - -"},
		{service.TenantVariable{Name: "A", State: "default", Value: value("my s3cret")}, "A default my *** - -"},
	} {
		row := variableRow(&tt.v, func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") })
		if got := strings.Join(row, " "); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestValuesOfVariablesAreRead reads a value from standard input, without the newline at its end.
func TestValuesOfVariablesAreRead(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"one\n": "one", "one\r\n": "one", "one\n\n": "one\n", "": "", "two\nlines": "two\nlines"} {
		if got, err := readValue(&terminal.Streams{In: strings.NewReader(typed)}, "A"); err != nil || got != want {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
	if _, err := readValue(&terminal.Streams{In: strings.NewReader("a\xff")}, "A"); firstLine(err) != "the value is not valid UTF-8" {
		t.Error(err)
	}
}

// TestRunsOfWorkflows covers the text about a run: its trigger, its steps and their usage.
func TestRunsOfWorkflows(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := &workflows.RunView{
		ID: "r", WorkflowID: "daily", Status: "succeeded", Trigger: workflows.Trigger{Kind: "schedule", ScheduleID: "s", ScheduledFor: at},
		CreatedBy: "ann", CreatedAt: at, StartedAt: at, CompletedAt: at.Add(1500 * time.Millisecond),
		Steps: []workflows.StepView{
			{ID: "read", Status: "succeeded", Attempt: 1, Output: json.RawMessage("{\"a\":\n 1}"), StartedAt: at, FinishedAt: at.Add(time.Second)},
			{ID: "sum", Status: "failed", Attempt: 2, Error: "no s3cret", TurnID: "t", Usage: &event.Usage{Input: 5, Output: 2}, Cost: &event.Cost{Amount: 0.25, Currency: "USD"}},
			{ID: "tell", Status: "skipped", Usage: &event.Usage{Input: 1}, Cost: &event.Cost{Amount: 1, Currency: "EUR"}},
		},
	}
	text := &runText{redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }}
	text.addRun(run)
	want := `run r
  workflow  daily
  status    succeeded
  trigger   schedule:s
  due       2026-01-02T03:04:05Z
  runs as   ann
  created   2026-01-02T03:04:05Z
  took      1.5s

1. read: succeeded in 1s
   output    {"a":1}

2. sum: failed, attempt 2
   reason    no ***
   turn      t
   usage     7 tokens (5 in, 2 out), 0.25 USD

3. tell: skipped
   usage     1 token (1 in, 0 out), 1.00 EUR

in total 8 tokens (6 in, 2 out), 1.00 EUR, 0.25 USD
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}
