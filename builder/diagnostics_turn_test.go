package builder_test

import (
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// turnRows are the rows about the limits of a turn: guards, the answer's schema, handoffs and the
// context policy.
func turnRows() []row {
	return []row{
		{
			name: "agent-not-found: a handoff",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Handoffs = []string{"helpr"} }), spec.Agent{ID: "helper", ModelID: "m"})
			},
			want:  found(diag.AgentNotFound, "a", "agents.a.handoffs[0]", `agent "helpr" is not defined`, `did you mean "helper"?`),
			typed: is(func(e *resolve.AgentNotFoundError) bool { return e.ID == "helpr" && e.Agent == "a" }),
		},
		{
			name: "invalid-value: a handoff to itself",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.Handoffs = []string{"a"} }))
			},
			want:  found(diag.InvalidValue, "a", "agents.a.handoffs[0]", `agent "a" cannot hand the conversation to itself`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidValue }),
		},
		{
			name: "remote-not-local: a handoff",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a"}).WithAgentSpecs(agent(func(a *spec.Agent) { a.Handoffs = []string{"far"} }),
					spec.Agent{ID: "far", Endpoint: at("https://x.example")})
			},
			want: found(diag.RemoteNotLocal, "a", "agents.a.handoffs[0]",
				`agent "far" runs at an endpoint, so the conversation cannot be handed to it`, "make it a delegate"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.RemoteNotLocal }),
		},
		{
			name: "tool-id-conflict: two handoffs",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Handoffs = []string{"b.c", "b:c"} }),
					spec.Agent{ID: "b.c", Description: "Helps.", ModelID: "m"}, spec.Agent{ID: "b:c", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.ToolIDConflict, "a", "agents.a.handoffs[1]",
				`tool id "hand_off_to_b_c" comes from both the handoff b.c and the handoff b:c`, "rename one of them"),
			typed: conflict(toolset.Source{Kind: toolset.SourceHandoff, Name: "b.c"}, toolset.Source{Kind: toolset.SourceHandoff, Name: "b:c"}),
		},
		{
			name: "model-not-found: the model that writes summaries",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{SummaryModelID: "gone"} }))
			},
			want:  found(diag.ModelNotFound, "a", "agents.a.context_policy.summary_model_id", `model "gone" is not defined`, ""),
			typed: is(func(e *resolve.ModelNotFoundError) bool { return e.ID == "gone" && e.Agent == "a" }),
		},
		{
			name: "invalid-schema: the form of an answer",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.OutputSchema = &spec.OutputSchema{Schema: []byte(`{"required":"x"}`)} }))
			},
			want: found(diag.InvalidSchema, "a", "agents.a.output_schema.schema",
				"the output schema is not a valid JSON Schema: required: it is a string, but must be an array", ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidSchema }),
		},
		{
			name: "invalid-value: thresholds of loop detection in the wrong order",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.LoopDetection = &spec.LoopDetection{ConsecutiveThreshold: new(8)} }))
			},
			want: found(diag.InvalidValue, "a", "agents.a.loop_detection.consecutive_threshold",
				"hard_cutoff_threshold is 6 and consecutive_threshold 8; the first must be more than the second", "the defaults are 6 and 3"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidValue }),
		},
		{
			name: "unmatched-tool: the budget of a tool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpec(agent(func(a *spec.Agent) { a.ToolBudgets = map[string]spec.ToolBudget{"cw": {MaxCalls: 1}} }))
			},
			want: found(diag.UnmatchedTool, "a", "agents.a.tool_budgets.cw", `"cw" names no registered tool`, `did you mean "wc"?`),
		},
		{
			name: "no-effect: a limit of cost without prices",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.Budgets = &spec.Budgets{MaxCost: new(0.5)} }))
			},
			want: found(diag.NoEffect, "a", "agents.a.budgets.max_cost", `max_cost cannot be measured: model "m" has no pricing`,
				"give the models pricing in one currency, or limit max_tokens"),
		},
	}
}
