package spec

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// CompactionSection is the key of the section that has the fields of a context
// policy. An agent's own policy and section are merged.
const CompactionSection = "compaction"

// PermissionSection is the key of the section with rules for tool calls.
const PermissionSection = "permission"

// ContextPolicy keeps a conversation inside the model's context window.
// Absent fields have the defaults named in their descriptions.
type ContextPolicy struct {
	MaxContextTokens            *int   `json:"max_context_tokens,omitempty" min:"1" default:"200000" doc:"Maximum tokens of a request, answer included; at most the model's own window."`
	MaxOutputTokens             *int   `json:"max_output_tokens,omitempty" min:"1" default:"16384" doc:"Tokens reserved for the answer."`
	MinRecentMessages           *int   `json:"min_recent_messages,omitempty" min:"0" default:"10" doc:"Latest messages that are always kept."`
	EnablePromptCache           *bool  `json:"enable_prompt_cache,omitempty" default:"true" doc:"Asks the provider to cache the constant start of a request."`
	AutocompactThreshold        *int   `json:"autocompact_threshold,omitempty" min:"1" doc:"Token count at which the conversation is summarized. Never if absent."`
	CompactionMode              string `json:"compaction_mode,omitempty" enum:"keep_recent_raw_suffix|compact_to_safe_frontier" default:"keep_recent_raw_suffix" doc:"Which part of the conversation a summary leaves unchanged."`
	CompactionRawSuffixMessages *int   `json:"compaction_raw_suffix_messages,omitempty" min:"0" default:"2" doc:"Messages after a summary that are sent unchanged."`

	SummaryModelID   string   `json:"summary_model_id,omitempty" doc:"The model or pool that writes summaries. Defaults to the agent's own."`
	SummaryMaxTokens *int     `json:"summary_max_tokens,omitempty" min:"1" default:"1024" doc:"Token limit of a summary."`
	MinSavingsRatio  *float64 `json:"min_savings_ratio,omitempty" min:"0" max:"1" default:"0.3" doc:"Share of the summarized tokens that a summary must save to be used."`

	ToolResultPreview *ToolResultPreview `json:"tool_result_preview,omitempty" doc:"Shortens long results of earlier steps."`
}

// ToolResultPreview configures how long tool results are shortened in requests. The
// conversation keeps them whole. Absent fields have their defaults.
type ToolResultPreview struct {
	MinTokens *int `json:"min_tokens,omitempty" min:"1" default:"2048" doc:"Estimated tokens at which a result is shortened."`
	MaxChars  *int `json:"max_chars,omitempty" min:"1" default:"1600" doc:"Characters of a shortened result."`
	MaxLines  *int `json:"max_lines,omitempty" min:"1" default:"24" doc:"Lines of a shortened result."`
}

// Validate checks the record by itself. Paths are relative to the policy.
func (p *ContextPolicy) Validate() diag.List {
	var list diag.List
	list = append(list, check.Positive("max_context_tokens", p.MaxContextTokens)...)
	list = append(list, check.Positive("max_output_tokens", p.MaxOutputTokens)...)
	list = append(list, check.Positive("autocompact_threshold", p.AutocompactThreshold)...)
	list = append(list, check.NotNegative("min_recent_messages", p.MinRecentMessages)...)
	list = append(list, check.NotNegative("compaction_raw_suffix_messages", p.CompactionRawSuffixMessages)...)
	list = append(list, check.Positive("summary_max_tokens", p.SummaryMaxTokens)...)
	if r := p.MinSavingsRatio; r != nil && !(*r >= 0 && *r <= 1) {
		list = append(list, diag.New(diag.InvalidValue, "min_savings_ratio", "min_savings_ratio is %g; it must lie between 0 and 1", *r))
	}
	if v := p.ToolResultPreview; v != nil {
		list = append(list, check.Within("tool_result_preview", slices.Concat(
			check.Positive("min_tokens", v.MinTokens), check.Positive("max_chars", v.MaxChars), check.Positive("max_lines", v.MaxLines)))...)
	}
	list = append(list, check.OneOf("compaction_mode", p.CompactionMode, "keep_recent_raw_suffix", "compact_to_safe_frontier")...)
	if p.MaxContextTokens != nil && p.MaxOutputTokens != nil && *p.MaxOutputTokens >= *p.MaxContextTokens {
		list = append(list, diag.New(diag.InvalidValue, "max_output_tokens",
			"max_output_tokens is %d, which leaves nothing of max_context_tokens %d for the conversation", *p.MaxOutputTokens, *p.MaxContextTokens))
	}
	return list
}
