package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/google/go-cmp/cmp"
)

// TestCallsOnTheCommandLine reads a tool with arguments, and says where they are wrong.
func TestCallsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Call{
		"wc":                       {Tool: "wc", Arguments: json.RawMessage("{}")},
		"  wc\t {\"text\": \"x\"}": {Tool: "wc", Arguments: json.RawMessage(`{"text": "x"}`)},
		"mcp__docs__read []":       {Tool: "mcp__docs__read", Arguments: json.RawMessage("[]")},
	} {
		if got, err := ParseCall(text); err != nil || cmp.Diff(&want, got) != "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":            "--call is a tool and its arguments as JSON",
		`{"text":"x`:  "--call is a tool and its arguments as JSON",
		`wc {"é": x}`: "character 10: invalid character 'x'",
		`wc {"a": 1`:  "character 10: unexpected end of JSON input",
	} {
		if _, err := ParseCall(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestAnswersAboutTools covers why an agent has a tool or not, and whether it may use it.
func TestAnswersAboutTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer ToolAnswer
		want   string
	}{
		{
			ToolAnswer{Offered: true, Reason: "offered", Source: "tools", SourcePath: "tools.pay", SourcePlace: "c.yaml:3:1", Rule: "allowed_tools", RulePath: "agents.clerk.allowed_tools[0]"},
			"agent clerk has tool pay\n  source   tools\n           at c.yaml:3:1 (tools.pay)\n  catalog  allowed_tools\n           at agents.clerk.allowed_tools[0]\n",
		},
		{
			ToolAnswer{Offered: true, Access: plugins.AccessAsk.String(), Gate: "plugin permission: pay"},
			"agent clerk has tool pay, but every call of it needs the consent of a person\n  gate     plugin permission: pay\n",
		},
		{
			ToolAnswer{Offered: true, Access: plugins.AccessDepends.String()},
			"agent clerk has tool pay, but whether a call of it is allowed depends on the arguments\n",
		},
		{ToolAnswer{Reason: "excluded"}, "agent clerk does not have tool pay: its catalog excludes it\n"},
		{ToolAnswer{Reason: "not allowed"}, "agent clerk does not have tool pay: its catalog does not allow it\n"},
		{ToolAnswer{Reason: "denied"}, "agent clerk does not have tool pay: every call of it is denied\n"},
		{
			ToolAnswer{Reason: "unknown", Hint: `did you mean "play"?`},
			"agent clerk does not have tool pay: no registry, delegate or plugin of this agent offers it\n  hint     did you mean \"play\"?\n",
		},
	} {
		tt.answer.Agent, tt.answer.Tool = "clerk", "pay"
		if got := tt.answer.Text(); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.answer, got, tt.want)
		}
	}
}

// TestAnswersAboutCalls covers each decision, and arguments that do not fit.
func TestAnswersAboutCalls(t *testing.T) {
	t.Parallel()
	const fit = "  schema   the arguments fit\n"
	for _, tt := range []struct {
		answer CallAnswer
		want   string
	}{
		{CallAnswer{Decision: "allow"}, "allow: agent clerk may call tool pay like this\n" + fit},
		{
			CallAnswer{Decision: "ask", Conditions: []string{"amount is 200", "200 > 100"}, Undecided: []string{"audit", "limits"}},
			"ask: agent clerk may call tool pay like this when a person approves it\n  because  amount is 200\n  because  200 > 100\n" + fit +
				"  also     the gates of audit, limits decide when the call is made\n",
		},
		{CallAnswer{Decision: "deny"}, "deny: agent clerk may not call tool pay like this; the model is told so\n" + fit},
		{CallAnswer{Decision: "terminate"}, "terminate: agent clerk may not call tool pay like this; the attempt ends the turn\n" + fit},
		{
			CallAnswer{Decision: resolve.CallUnavailable, ToolAnswer: ToolAnswer{Reason: "excluded"}},
			"unavailable: agent clerk does not have tool pay: its catalog excludes it\n",
		},
		{
			CallAnswer{Decision: "allow", Problem: "amount is required"},
			"allow: agent clerk may call tool pay like this\n  schema   the call is not executed: amount is required\n",
		},
	} {
		tt.answer.Agent, tt.answer.Tool = "clerk", "pay"
		if got := tt.answer.Text(); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.answer, got, tt.want)
		}
	}
}

// clerk is an explained agent with everything that is shown of one.
func clerk() *Agent {
	return &Agent{
		Summary: &resolve.Summary{
			Agent: "clerk", Path: "agents.clerk", Model: "large", Upstream: "gpt-5", Provider: "openai", Retried: true,
			ModelFacts: []resolve.ModelFact{{Model: "large", Field: "context_window", Value: "400000", Source: "catalog"}, {Model: "large", Field: "pricing", Value: "1/2 USD", Source: "configuration"}},
			Plugins:    []string{"permission", "log"}, Tools: make([]resolve.ToolChoice, 3), Offered: []string{"pay", "wc"},
			Stages: []resolve.Stage{
				{Name: "model", Duration: 1500 * time.Nanosecond, Choices: []resolve.Choice{{Action: "looked up", Subject: `model "large"`}, {Action: "wrapped", Subject: "calls", Detail: "retry <3>"}}},
				{Name: "tools", Choices: []resolve.Choice{{Action: "dropped", Subject: "rm", Detail: "s3cret"}}},
			},
		},
		Decisions: []config.Decision{{Field: "model_id", Place: "c.yaml:9:3", From: "base"}, {Field: "budgets", Place: "p.yaml:2:1", Patched: true, Cleared: true}},
		Request:   &RequestGrant{Source: "catalog", Grant: &toolgrant.Grant{Choices: []toolgrant.Choice{{Tool: "wc", Granted: true, Rule: "named"}, {Tool: "rm", Rule: "not safe"}}}},
	}
}

// TestExplainedAgents covers the text about an agent in files, and at a server without files.
func TestExplainedAgents(t *testing.T) {
	t.Parallel()
	where := func(diag.Code, string) string { return "c.yaml:7:3" }
	want := `agent clerk (c.yaml:7:3)
  runs on  model large: gpt-5 at provider openai, with retries
  facts    large: context_window 400000 (catalog)
           large: pricing 1/2 USD (configuration)
  plugins  permission, log
  tools    2 of 3 offered: pay, wc

decided by
   model_id  c.yaml:9:3, of agent base
   budgets   p.yaml:2:1, cleared, by a patch

the request, toolSource "catalog"
   granted    wc — named
   left out   rm — not safe

1. model (2µs)
   looked up  model "large"
   wrapped    calls — retry <3>

2. tools (0s)
   dropped    rm — s3cret
`
	if diff := cmp.Diff(want, clerk().Text(where)); diff != "" {
		t.Error(diff)
	}
	for want, summary := range map[string]resolve.Summary{
		"agent a\n  runs on  the endpoint https://peer\n":                                     {Endpoint: "https://peer"},
		"agent a\n  runs on  pool p of x, y\n  tools    none: none is registered\n":           {Model: "p", Pool: []string{"x", "y"}},
		"agent a\n  tools    none of 2 is offered\n":                                          {Tools: make([]resolve.ToolChoice, 2)},
		"agent a\n  runs on  model m: u at provider p\n  tools    none: none is registered\n": {Model: "m", Upstream: "u", Provider: "p"},
	} {
		summary.Agent = "a"
		if got := (&Agent{Summary: &summary}).Text(nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFlowcharts draws the stages of an agent, and the steps of a workflow, with escaped labels.
func TestFlowcharts(t *testing.T) {
	t.Parallel()
	redact := func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	want := `flowchart LR
  subgraph s1["1. model"]
    direction TB
    s1n1["looked up model #quot;large#quot;"]
    s1n2["wrapped calls: retry #lt;3#gt;"]
    s1n1 --> s1n2
  end
  subgraph s2["2. tools"]
    direction TB
    s2n1["dropped rm: ***"]
  end
  s1 --> s2
`
	if diff := cmp.Diff(want, clerk().Flowchart(redact)); diff != "" {
		t.Error(diff)
	}
	steps := []workflow.Step{
		{ID: "read", Tool: &workflow.ToolCall{Name: "read"}},
		{ID: "sum", Agent: &workflow.AgentTurn{Agent: "clerk", Prompt: json.RawMessage(`"Sum ${{ steps.read.outputs }}."`)}},
		{ID: "pay", Tool: &workflow.ToolCall{Name: "pay", Approval: true}, When: &workflow.Condition{Value: json.RawMessage(`"${{ input.on }}"`), Equals: json.RawMessage("true")}},
	}
	w := &workflow.Workflow{ID: "daily", Description: "d", Schedules: []workflow.Schedule{{ID: "s", Cron: "0 8 * * *"}}, Steps: steps}
	drawn := DrawWorkflow(w, redact)
	for _, line := range []string{
		"flowchart TD\n  t1([\"schedule ", ": 0 8 * * *\"])\n", "  s1[\"read: tool read\"]\n", "  s2[\"sum: agent clerk\"]\n",
		"  s3{{\"pay: tool pay, after a person approves, when ", "  t1 --> s1\n", "  s1 ==> s2\n", "  s2 --> s3\n",
	} {
		if !strings.Contains(drawn, line) {
			t.Errorf("%q is missing:\n%s", line, drawn)
		}
	}
	found := diag.List{diag.New(diag.NoEffect, "workflows.daily", "unused")}
	v := NewWorkflow(w, found)
	if len(v.Steps) != 3 || len(v.Starts) != 1 || v.Description != "d" || len(v.Diagnostics) != 1 {
		t.Errorf("%+v", v)
	}
	if s := v.Steps[2]; s.ID != "pay" || s.Does != "tool pay, after a person approves" || s.When == "" || s.Timeout != "5m0s" || s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
	if s := v.Steps[1]; s.When != "" || !cmp.Equal(s.DependsOn, []string{"read"}) {
		t.Errorf("%+v", s)
	}
}
