package spec_test

import (
	"math"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestContextPolicyValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy spec.ContextPolicy
		want   []string
	}{
		"nothing set":         {spec.ContextPolicy{}, nil},
		"sound":               {spec.ContextPolicy{MaxContextTokens: new(100), MaxOutputTokens: new(99), MinRecentMessages: new(0), CompactionMode: "compact_to_safe_frontier"}, nil},
		"the ends of a share": {spec.ContextPolicy{MinSavingsRatio: new(0.0), ToolResultPreview: &spec.ToolResultPreview{}}, nil},
		"a share that is no number": {spec.ContextPolicy{MinSavingsRatio: new(math.NaN())}, []string{
			"invalid-value min_savings_ratio: min_savings_ratio is NaN; it must lie between 0 and 1",
		}},
		"no room for the conversation": {spec.ContextPolicy{MaxContextTokens: new(100), MaxOutputTokens: new(100)}, []string{
			"invalid-value max_output_tokens: max_output_tokens is 100, which leaves nothing of max_context_tokens 100 for the conversation",
		}},
		"all wrong": {
			spec.ContextPolicy{
				MaxOutputTokens: new(0), AutocompactThreshold: new(-1), MinRecentMessages: new(-1), CompactionRawSuffixMessages: new(-1), CompactionMode: "x",
				SummaryMaxTokens: new(0), MinSavingsRatio: new(1.5), ToolResultPreview: &spec.ToolResultPreview{MinTokens: new(0), MaxChars: new(0), MaxLines: new(-1)},
			},
			[]string{
				"invalid-value max_output_tokens: max_output_tokens is 0; it must be 1 or more",
				"invalid-value autocompact_threshold: autocompact_threshold is -1; it must be 1 or more",
				"invalid-value min_recent_messages: min_recent_messages is -1; it must be 0 or more",
				"invalid-value compaction_raw_suffix_messages: compaction_raw_suffix_messages is -1; it must be 0 or more",
				"invalid-value summary_max_tokens: summary_max_tokens is 0; it must be 1 or more",
				"invalid-value min_savings_ratio: min_savings_ratio is 1.5; it must lie between 0 and 1",
				"invalid-value tool_result_preview.min_tokens: min_tokens is 0; it must be 1 or more",
				"invalid-value tool_result_preview.max_chars: max_chars is 0; it must be 1 or more",
				"invalid-value tool_result_preview.max_lines: max_lines is -1; it must be 1 or more",
				`invalid-value compaction_mode: "x" is not allowed here; choose one of [keep_recent_raw_suffix compact_to_safe_frontier]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.policy.Validate(), tt.want...)
		})
	}
}
