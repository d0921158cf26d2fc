package spec

import "github.com/agentruntime/agentruntime/diag"

// ContextPolicy keeps a conversation inside the model's context window.
// Absent fields have the defaults named in their descriptions.
type ContextPolicy struct {
	MaxContextTokens            *int   `json:"max_context_tokens,omitempty" min:"1" default:"200000" doc:"Tokens a request may have, answer included; never more than the model's own window."`
	MaxOutputTokens             *int   `json:"max_output_tokens,omitempty" min:"1" default:"16384" doc:"Tokens kept free for the answer."`
	MinRecentMessages           *int   `json:"min_recent_messages,omitempty" min:"0" default:"10" doc:"Latest messages that are kept in any case."`
	EnablePromptCache           *bool  `json:"enable_prompt_cache,omitempty" default:"true" doc:"Ask the provider to cache the unchanging start of a request."`
	AutocompactThreshold        *int   `json:"autocompact_threshold,omitempty" min:"1" doc:"Tokens from which on the conversation is summarised; never when absent."`
	CompactionMode              string `json:"compaction_mode,omitempty" enum:"keep_recent_raw_suffix|compact_to_safe_frontier" default:"keep_recent_raw_suffix" doc:"What a summary leaves as it is."`
	CompactionRawSuffixMessages *int   `json:"compaction_raw_suffix_messages,omitempty" min:"0" default:"2" doc:"Messages behind a summary that stay as they are."`
}

func (p *ContextPolicy) clone() *ContextPolicy {
	c := copied(p)
	if c != nil {
		c.MaxContextTokens = copied(p.MaxContextTokens)
		c.MaxOutputTokens = copied(p.MaxOutputTokens)
		c.MinRecentMessages = copied(p.MinRecentMessages)
		c.EnablePromptCache = copied(p.EnablePromptCache)
		c.AutocompactThreshold = copied(p.AutocompactThreshold)
		c.CompactionRawSuffixMessages = copied(p.CompactionRawSuffixMessages)
	}
	return c
}

// Validate checks the record by itself. Paths are relative to the policy.
func (p *ContextPolicy) Validate() diag.List {
	var list diag.List
	list = append(list, positive("max_context_tokens", p.MaxContextTokens)...)
	list = append(list, positive("max_output_tokens", p.MaxOutputTokens)...)
	list = append(list, positive("autocompact_threshold", p.AutocompactThreshold)...)
	list = append(list, atLeastZero("min_recent_messages", p.MinRecentMessages)...)
	list = append(list, atLeastZero("compaction_raw_suffix_messages", p.CompactionRawSuffixMessages)...)
	list = append(list, oneOf("compaction_mode", p.CompactionMode, "keep_recent_raw_suffix", "compact_to_safe_frontier")...)
	if p.MaxContextTokens != nil && p.MaxOutputTokens != nil && *p.MaxOutputTokens >= *p.MaxContextTokens {
		list = append(list, diag.New(diag.InvalidValue, "max_output_tokens",
			"max_output_tokens is %d, which leaves nothing of max_context_tokens %d for the conversation", *p.MaxOutputTokens, *p.MaxContextTokens))
	}
	return list
}
