package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// agentOf reads an agent from its fields, written in flow style.
func agentOf(t *testing.T, fields string) (*spec.Agent, diag.List) {
	t.Helper()
	f, list := parseDocument(t, "version: 1\nagents: {a: {model_id: m, "+fields+"}}\n")
	if len(f.Agents) != 1 {
		t.Fatalf("there are %d agents in %s", len(f.Agents), fields)
	}
	return f.Agents[0], list
}

// Each form of a guard, an output schema, a handoff or a context policy, and its meaning.
func TestFieldsOfAgents(t *testing.T) {
	t.Parallel()
	for fields, set := range map[string]func(*spec.Agent){
		"budgets: {}": func(a *spec.Agent) { a.Budgets = &spec.Budgets{} },
		"budgets: ~":  func(*spec.Agent) {},
		"budgets: {max_tokens: 1_000, max_cost: 0.5, max_duration: 1m30s, max_model_calls: 2, max_tool_calls: 0}": func(a *spec.Agent) {
			a.Budgets = &spec.Budgets{
				MaxTokens: new(1000), MaxCost: new(0.5), MaxDuration: new(spec.Duration(90 * time.Second)), MaxModelCalls: new(2), MaxToolCalls: new(0),
			}
		},
		"budgets: {max_cost: 2, max_duration: 0.5s}": func(a *spec.Agent) {
			a.Budgets = &spec.Budgets{MaxCost: new(2.0), MaxDuration: new(spec.Duration(500 * time.Millisecond))}
		},
		"loop_detection: {}":               func(a *spec.Agent) { a.LoopDetection = &spec.LoopDetection{} },
		"loop_detection: {enabled: false}": func(a *spec.Agent) { a.LoopDetection = &spec.LoopDetection{Enabled: new(false)} },
		"loop_detection: {hard_cutoff_threshold: 9}": func(a *spec.Agent) {
			a.LoopDetection = &spec.LoopDetection{HardCutoffThreshold: new(9)}
		},
		"tool_budgets: {}": func(a *spec.Agent) { a.ToolBudgets = map[string]spec.ToolBudget{} },
		"tool_budgets: {look: {max_calls: 0}, agent_run_b: {max_calls: 3}}": func(a *spec.Agent) {
			a.ToolBudgets = map[string]spec.ToolBudget{"look": {}, "agent_run_b": {MaxCalls: 3}}
		},
		"output_schema: {schema: {type: object, required: [b, a]}}": func(a *spec.Agent) {
			a.OutputSchema = &spec.OutputSchema{Schema: []byte(`{"type":"object","required":["b","a"]}`)}
		},
		"output_schema: {name: mood, schema: {}}": func(a *spec.Agent) {
			a.OutputSchema = &spec.OutputSchema{Name: "mood", Schema: []byte(`{}`)}
		},
		"handoffs: [b, c], max_handoffs: 0": func(a *spec.Agent) { a.Handoffs, a.MaxHandoffs = []string{"b", "c"}, new(0) },
		"handoffs: []":                      func(a *spec.Agent) { a.Handoffs = []string{} },
		"context_policy: {}":                func(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{} },
		"context_policy: {max_context_tokens: 9, max_output_tokens: 8, min_recent_messages: 0, enable_prompt_cache: false, autocompact_threshold: 7, " +
			"compaction_mode: compact_to_safe_frontier, compaction_raw_suffix_messages: 0, summary_model_id: s, summary_max_tokens: 6, min_savings_ratio: 0, " +
			"tool_result_preview: {min_tokens: 1, max_chars: 2, max_lines: 3}}": func(a *spec.Agent) {
			a.ContextPolicy = &spec.ContextPolicy{
				MaxContextTokens: new(9), MaxOutputTokens: new(8), MinRecentMessages: new(0), EnablePromptCache: new(false),
				AutocompactThreshold: new(7), CompactionMode: "compact_to_safe_frontier", CompactionRawSuffixMessages: new(0),
				SummaryModelID: "s", SummaryMaxTokens: new(6), MinSavingsRatio: new(0.0),
				ToolResultPreview: &spec.ToolResultPreview{MinTokens: new(1), MaxChars: new(2), MaxLines: new(3)},
			}
		},
		"reasoning_effort: off":             func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Level: "off"} },
		"reasoning_effort: none":            func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Level: "none"} },
		"reasoning_effort: 0":               func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Level: "off"} },
		"reasoning_effort: 50":              func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Percent: 50} },
		"reasoning_effort: 50.0":            func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Percent: 50} },
		"reasoning_effort: 100":             func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Percent: 100} },
		"reasoning_effort: {budget: 2_048}": func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Budget: 2048} },
	} {
		want := &spec.Agent{ID: "a", ModelID: "m"}
		set(want)
		got, list := agentOf(t, fields)
		if len(list) > 0 {
			t.Errorf("%s: %s", fields, shows(list))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
}

// Fields set for all agents are read like an agent's own fields.
func TestFieldsOfDefaults(t *testing.T) {
	t.Parallel()
	f, list := parseDocument(t, lines(
		"version: 1",
		"defaults:",
		"  budgets: {max_duration: 5m}",
		"  loop_detection: {}",
		"  tool_budgets: {look: {max_calls: 1}}",
		"  output_schema: {schema: {type: string}}",
		"  handoffs: [desk]",
		"  max_handoffs: 1",
		"  context_policy: {min_savings_ratio: 0.5}",
		"  reasoning_effort: 10",
	))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	want := &spec.Defaults{Agent: spec.Agent{
		Budgets: &spec.Budgets{MaxDuration: new(300 * second)}, LoopDetection: &spec.LoopDetection{},
		ToolBudgets: map[string]spec.ToolBudget{"look": {MaxCalls: 1}}, OutputSchema: &spec.OutputSchema{Schema: []byte(`{"type":"string"}`)},
		Handoffs: []string{"desk"}, MaxHandoffs: new(1), ContextPolicy: &spec.ContextPolicy{MinSavingsRatio: new(0.5)},
		ReasoningEffort: &spec.Effort{Percent: 10},
	}}
	if diff := cmp.Diff(want, f.Defaults); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Invalid fields, reported at their positions with a hint.
func TestWrongFieldsOfAgents(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string][]string{
		"budgets: {max_token: 5}":                    {`unknown field "max_token" (did you mean "max_tokens"?)`},
		"budgets: {money: 5}":                        {`unknown field "money" (allowed are max_tokens, max_cost, currency, max_duration, max_model_calls or max_tool_calls)`},
		"budgets: {max_tokens: -1}":                  {"max_tokens is -1; it must be between 1 and 1000000000"},
		"budgets: {max_cost: .nan}":                  {"max_cost: infinity and NaN are not allowed"},
		"budgets: {max_cost: 1e7}":                   {"max_cost is 1e7; it must be between 0 and 1000000"},
		"budgets: {max_duration: 0s}":                {"max_duration is 0s; it must be more than 0"},
		"budgets: {max_duration: 1d}":                {`max_duration must be a time span such as 10s or 1m30s, not the text "1d" (write 24h)`},
		"budgets: {max_duration: 90}":                {"max_duration must be a time span with its unit, not the number 90 (write 90s for seconds, or 90ms for milliseconds)"},
		"budgets: 5":                                 {"budgets must be a mapping, not the number 5"},
		"loop_detection: false":                      {"loop_detection must be a mapping, not the truth value false"},
		"loop_detection: {threshold: 3}":             {`unknown field "threshold" (allowed are enabled, consecutive_threshold or hard_cutoff_threshold)`},
		"loop_detection: {consecutive_treshold: 4}":  {`unknown field "consecutive_treshold" (did you mean "consecutive_threshold"?)`},
		"loop_detection: {consecutive_threshold: 1}": {"consecutive_threshold is 1; it must be between 2 and 100"},
		"loop_detection: {consecutive_threshold: 8}": {
			"hard_cutoff_threshold is 6 and consecutive_threshold 8; the first must be more than the second (the defaults are 6 and 3)",
		},
		"tool_budgets: {'': 3}":                                {"\"\" must be a mapping, not the number 3"},
		"tool_budgets: {look: 3}":                              {"look must be a mapping, not the number 3"},
		"tool_budgets: {look: {}}":                             {"max_calls is required (Maximum executed calls; further calls are answered with a hint. 0 executes none.)"},
		"tool_budgets: {look: {max_call: 3}}":                  {`unknown field "max_call" (did you mean "max_calls"?)`},
		"tool_budgets: {look: {max_calls: 1001}}":              {"max_calls is 1001; it must be between 0 and 1000"},
		"output_schema: {type: object}":                        {`unknown field "type" (write schema: the JSON Schema of the answer)`},
		"output_schema: {schema: [1]}":                         {"schema must be a JSON Schema written as an object"},
		"output_schema: {name: a b, schema: {}}":               {`name cannot be "a b"; it must match ^[a-zA-Z0-9_-]{1,64}$`},
		"handoffs: b":                                          {`handoffs must be a list, not the text "b" (write [b])`},
		"handoff: [b]":                                         {`unknown field "handoff" (did you mean "handoffs"?)`},
		"max_handoffs: -1":                                     {"max_handoffs is -1; it must be 0 or more"},
		"context_policy: {max_contex_tokens: 5}":               {`unknown field "max_contex_tokens" (did you mean "max_context_tokens"?)`},
		"context_policy: {min_savings_ratio: 2}":               {"min_savings_ratio is 2; it must be between 0 and 1"},
		"context_policy: {tool_result_preview: {max_chrs: 5}}": {`unknown field "max_chrs" (did you mean "max_chars"?)`},
		"reasoning_effort: -1":                                 {"reasoning_effort is -1; as a number it must be a whole one from 0 to 100"},
		"reasoning_effort: 101":                                {"reasoning_effort is 101; as a number it must be a whole one from 0 to 100"},
		"reasoning_effort: 1e30":                               {"reasoning_effort is 1e30; as a number it must be a whole one from 0 to 100"},
		"reasoning_effort: 1.5":                                {"reasoning_effort is 1.5; as a number it must be a whole one from 0 to 100"},
		"reasoning_effort: 010":                                {"reasoning_effort: the number 010 starts with 0, which may mean octal: remove the 0, or write 0o… or quotes"},
		"reasoning_effort: medum":                              {`reasoning_effort cannot be "medum"; allowed are off, none, low, medium, high or max (did you mean "medium"?)`},
		"reasoning_effort: [low]":                              {"reasoning_effort must be one of off, none, low, medium, high, max, a number from 0 to 100, or {budget: tokens}, not a list"},
		"reasoning_effort: {tokens: 5}":                        {"budget is required (Maximum number of thinking tokens.)", `unknown field "tokens" (allowed are budget)`},
	} {
		_, list := agentOf(t, fields)
		var got []string
		for _, d := range list {
			text := d.Message
			if d.Hint != "" {
				text += " (" + d.Hint + ")"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
}

// A field with a misspelled name is not missing, neither for the loader nor for readers of its
// result.
func TestAMisspelledFieldIsNotMissing(t *testing.T) {
	t.Parallel()
	text := lines(
		"version: 1",
		"models: {m: {provider_id: p, upstream_modle: x}}",
		"agents:",
		"  a: {modle_id: m, output_schema: {shema: {}}}",
		"  b: {max_rounds: 1}",
	)
	f, load := parseDocument(t, text)
	list := f.Complete(load, diag.List{
		diag.New(diag.MissingField, "models.m.upstream_model", "upstream_model is required"),
		diag.New(diag.MissingField, "agents.a.model_id", "no model_id"),
		diag.New(diag.MissingField, "agents.a.output_schema.schema", "no schema"),
	})
	want := []string{
		"unknown-field 2:30-2:44 models.m.upstream_modle |upstream_modle|",
		"unknown-field 4:7-4:15 agents.a.modle_id |modle_id|",
		"unknown-field 4:36-4:41 agents.a.output_schema.shema |shema|",
		"missing-field 5:3-5:4 agents.b.model_id |b|",
	}
	if diff := cmp.Diff(want, spans(text, list)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

// A schema of the maximum size is read; one byte more is rejected at its position.
func TestALargeFormIsRefused(t *testing.T) {
	t.Parallel()
	for size, wrong := range map[int]bool{32 << 10: false, 32<<10 + 1: true} {
		title := strings.Repeat("x", size-len(`{"title":""}`))
		_, list := agentOf(t, "output_schema: {schema: {title: "+title+"}}")
		if got := list.HasErrors(); got != wrong {
			t.Errorf("%d bytes: refused %v\n%s", size, got, shows(list))
		}
		if wrong && list[0].Path != "agents.a.output_schema.schema" {
			t.Errorf("it is said of %s", list[0].Path)
		}
	}
}
