package access

import (
	"slices"

	"github.com/agentruntime/agentruntime/spec"
)

// The widening changes of fields that are compared when agents are resolved.
const (
	toolGained = "the agent gains a tool, delegate or handoff"
	hookRuns   = "a program is added or changed"
	raised     = "raised or removed"
	elsewhere  = "changed, unless it is removed"
)

// fields is the table. A field that is missing here fails TestEveryFieldIsClassified.
var fields = []Field{
	neutral("description", MayChange),
	neutral("model_id", MayChooseModels),
	neutral("system_prompt", MayChange),
	{Path: "variables", Class: Narrowing, Widens: "removed, or no longer known to reject all that it did", Overlay: MayNarrow, widens: variablesWiden},

	limit("max_rounds", "raised, or 0", func(a *spec.Agent) *int { return positive(a.Rounds()) }),
	{Path: "on_max_rounds", Class: Narrowing, Widens: "changed to `stop` or `finalize`", Overlay: MayNarrow, widens: onMaxRoundsWidens},
	limit("max_continuation_retries", "raised", func(a *spec.Agent) *int { return new(a.ContinuationRetries()) }),
	{Path: "on_truncation", Class: Narrowing, Widens: "changed to `accept`", Overlay: MayNarrow, widens: onTruncationWidens},

	stopping("type", "a condition is removed"),
	stopping("rounds", "raised, or 0", spec.StopMaxRounds),
	stopping("timeout", "raised, 0, or removed", spec.StopTimeout),
	stopping("max_total", "raised, or 0", spec.StopTokenBudget),
	stopping("max", "raised, or 0", spec.StopConsecutiveErrors),
	stopping("tool_name", "changed or removed", spec.StopOnTool),
	stopping("pattern", "changed or removed", spec.StopContentMatch),
	stopping("window", "raised, or 0", spec.StopLoopDetection),

	{Path: "reasoning_effort", Class: Widening, Widens: "raised, or not comparable, as a level with tokens or with nothing", Overlay: MayNarrow, widens: effortWidens},
	neutral("temperature", MayChange),
	neutral("top_p", MayChange),
	neutral("seed", MayChange),
	neutral("stop", MayChange),
	{Path: "service_tier", Class: Widening, Widens: "changed, unless it is removed", Overlay: MayNotChange, widens: tierWidens},
	neutral("verbosity", MayChange),
	{Path: "request", Class: Widening, Widens: "changed, unless it is removed", Overlay: MayNotChange, whole: true, widens: requestWidens},
	neutral("tool_execution", MayChange),
	resolved("plugin_ids", Narrowing, "a plugin is removed; gates are compared by tool", MayNotChange),
	resolved("active_hook_filter", Narrowing, "a plugin is left out", MayNotChange),
	resolved("allowed_tools", Widening, toolGained, MayNarrowTools),
	resolved("allowed_tool_patterns", Widening, toolGained, MayNarrowTools),
	resolved("excluded_tools", Narrowing, toolGained, MayNarrowTools),
	resolved("excluded_tool_patterns", Narrowing, toolGained, MayNarrowTools),

	budget("max_tokens", raised),
	budget("max_cost", "raised, removed, or in another currency"),
	{Path: "budgets.currency", Class: Narrowing, Widens: "changed, with `max_cost`", Overlay: MayLowerBudgets},
	budget("max_duration", raised),
	budget("max_model_calls", raised),
	budget("max_tool_calls", raised),

	{Path: "loop_detection.enabled", Class: Narrowing, Widens: "switched off or removed", Overlay: MayNarrow, widens: loopDetectionStops},
	threshold("consecutive_threshold", func(l *spec.LoopDetection) int { n, _ := l.Thresholds(); return n }),
	threshold("hard_cutoff_threshold", func(l *spec.LoopDetection) int { _, n := l.Thresholds(); return n }),
	{Path: "tool_budgets.max_calls", Class: Narrowing, Widens: raised, Overlay: MayNarrow, widens: toolBudgetsWiden},
	neutral("output_schema.name", MayChange),
	{Path: "output_schema.schema", Class: Narrowing, Widens: "removed, or no longer known to reject all that it did", Overlay: MayNarrow, widens: outputWidens},
	{Path: "output_schema.on_mismatch", Class: Narrowing, Widens: "changed to `accept`", Overlay: MayNarrow, widens: onMismatchWidens},

	resolved("delegates", Widening, toolGained, MayNarrowTools),
	resolved("handoffs", Widening, toolGained, MayNarrowTools),
	limit("max_handoffs", "raised", func(a *spec.Agent) *int { return new(a.HandoffLimit()) }),

	policy("max_context_tokens", 200_000, func(p *spec.ContextPolicy) *int { return p.MaxContextTokens }),
	policy("max_output_tokens", 16_384, func(p *spec.ContextPolicy) *int { return p.MaxOutputTokens }),
	policy("min_recent_messages", 10, func(p *spec.ContextPolicy) *int { return p.MinRecentMessages }),
	neutral("context_policy.enable_prompt_cache", MayChange),
	neutral("context_policy.autocompact_threshold", MayChange),
	neutral("context_policy.compaction_mode", MayChange),
	neutral("context_policy.compaction_raw_suffix_messages", MayChange),
	neutral("context_policy.summary_model_id", MayChooseModels),
	policy("summary_max_tokens", 1024, func(p *spec.ContextPolicy) *int { return p.SummaryMaxTokens }),
	neutral("context_policy.min_savings_ratio", MayChange),
	neutral("context_policy.tool_result_preview.min_tokens", MayChange),
	neutral("context_policy.tool_result_preview.max_chars", MayChange),
	neutral("context_policy.tool_result_preview.max_lines", MayChange),
	resolved("sections", Narrowing, "a section that guards is removed or changed; rules are compared by tool, and for tools that come later by their patterns", MaySetSections),

	whole("session_start", Widening, hookRuns),
	{Path: "a2a", Class: Neutral, Overlay: MayNotChange, whole: true},
	endpoint("backend", elsewhere, func(e *spec.Endpoint) any { return e.Kind() }),
	endpoint("base_url", elsewhere, func(e *spec.Endpoint) any { return e.BaseURL }),
	{Path: "endpoint.auth", Class: Widening, Widens: elsewhere, Overlay: MayNotChange, whole: true, widens: endpointDiffers(shownAuth)},
	endpoint("target", elsewhere, func(e *spec.Endpoint) any { return e.Target }),
	{Path: "endpoint.timeout", Class: Narrowing, Widens: "raised", Overlay: MayNotChange, widens: endpointTimeoutWidens},
	endpoint("options", "changed, but for the model of a hosted agent", backendOptions),
}

// neutral returns a field without an effect on access.
func neutral(path string, overlay Right) Field {
	return Field{Path: path, Class: Neutral, Overlay: overlay}
}

// resolved returns a field whose effect is known only when the agent is resolved.
func resolved(path string, class Class, widens string, overlay Right) Field {
	return Field{Path: path, Class: class, Widens: widens, Overlay: overlay}
}

// whole returns a record whose effect is known only when the agent is resolved.
func whole(path string, class Class, widens string) Field {
	return Field{Path: path, Class: class, Widens: widens, Overlay: MayNotChange, whole: true}
}

// limit returns a numeric field for which a larger value allows more. A missing value means no
// limit.
func limit(path, widens string, of func(*spec.Agent) *int) Field {
	return Field{Path: path, Class: Narrowing, Widens: widens, Overlay: MayNarrow, widens: func(before, after *spec.Agent) bool {
		return isAbove(of(after), of(before))
	}}
}

// policy returns a limit of the context policy and its default. No policy means no limit.
func policy(name string, byDefault int, of func(*spec.ContextPolicy) *int) Field {
	value := func(a *spec.Agent) *int {
		if a.ContextPolicy == nil {
			return nil
		}
		if n := of(a.ContextPolicy); n != nil {
			return n
		}
		return &byDefault
	}
	return limit("context_policy."+name, raised, value)
}

// Fields returns all fields of an agent, in the order of the record.
func Fields() []Field { return slices.Clone(fields) }

// OverlaysMaySet reports whether tenant overlays may set a top-level field of an agent. They may
// not set unclassified fields.
func OverlaysMaySet(top string) bool {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Top() == top })
	return i >= 0 && fields[i].Overlay != MayNotChange
}

// Widened returns the fields whose change lets an agent do or use more, judged by the agents alone:
// the tools that an agent gains are known only when both are resolved.
func Widened(before, after *spec.Agent) []Field {
	var found []Field
	for i := range fields {
		if f := &fields[i]; f.widens != nil && f.widens(before, after) {
			found = append(found, *f)
		}
	}
	return found
}
