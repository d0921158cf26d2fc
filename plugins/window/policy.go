package window

import "github.com/agentruntime/agentruntime/spec"

// The defaults of a policy, as documented by the fields of spec.ContextPolicy.
const (
	defaultContextTokens = 200_000
	defaultOutputTokens  = 16_384
	defaultRecent        = 10
	defaultRawSuffix     = 2
	defaultSummaryTokens = 1024
	defaultSavings       = 0.3
	defaultPreviewTokens = 2048
	defaultPreviewChars  = 1600
	defaultPreviewLines  = 24
)

// The compaction modes. safeFrontier summarizes as much as possible; rawSuffix is the default.
const (
	safeFrontier = "compact_to_safe_frontier"
	rawSuffix    = "keep_recent_raw_suffix"
)

// Policy is a context policy with all defaults resolved.
type Policy struct {
	// ContextTokens is the maximum number of tokens in a request, including the answer.
	ContextTokens int
	// OutputTokens are reserved for the answer: at most three quarters of ContextTokens, to leave
	// room for the conversation.
	OutputTokens int
	// MinRecentMessages is the number of latest messages kept regardless of cost.
	MinRecentMessages int
	// CompactAt is the request estimate at which the conversation is summarized; 0 means never.
	CompactAt int
	// SafeFrontier makes a summary cover all but the latest step. Otherwise it leaves at least
	// RawSuffixMessages, and the messages after the task as long as there is something else to
	// cover.
	SafeFrontier bool
	// RawSuffixMessages is the number of messages left unchanged after a summary.
	RawSuffixMessages int
	// SummaryTokens is the maximum length of a summary.
	SummaryTokens int
	// MinSavings is the share of the summarized tokens, 0 to 1, that a summary
	// must save to be used.
	MinSavings float64
	// Preview describes the shortening of tool results from earlier steps.
	Preview Preview
}

// Preview defines which tool results are shortened, and to what size.
type Preview struct {
	// MinTokens is the estimate at which a result is shortened.
	MinTokens int
	// MaxChars and MaxLines limit the kept text, half from the beginning and half from the end,
	// without the note about the omission.
	MaxChars, MaxLines int
}

// Resolve returns the limits of a policy, which may be nil, for a model with a context window of
// contextWindow tokens, answer included, and answers of at most maxOutput; 0 means unknown.
// Smaller limits of the model win, and compaction starts before messages would have to be
// omitted.
func Resolve(policy *spec.ContextPolicy, contextWindow, maxOutput int) Policy {
	if policy == nil {
		policy = &spec.ContextPolicy{}
	}
	preview := policy.ToolResultPreview
	if preview == nil {
		preview = &spec.ToolResultPreview{}
	}
	p := Policy{
		ContextTokens:     atMost(valueOr(policy.MaxContextTokens, defaultContextTokens), contextWindow),
		OutputTokens:      atMost(valueOr(policy.MaxOutputTokens, defaultOutputTokens), maxOutput),
		MinRecentMessages: valueOr(policy.MinRecentMessages, defaultRecent),
		CompactAt:         valueOr(policy.AutocompactThreshold, 0),
		SafeFrontier:      policy.CompactionMode == safeFrontier,
		RawSuffixMessages: valueOr(policy.CompactionRawSuffixMessages, defaultRawSuffix),
		SummaryTokens:     valueOr(policy.SummaryMaxTokens, defaultSummaryTokens),
		MinSavings:        valueOr(policy.MinSavingsRatio, defaultSavings),
		Preview: Preview{
			MinTokens: valueOr(preview.MinTokens, defaultPreviewTokens),
			MaxChars:  valueOr(preview.MaxChars, defaultPreviewChars),
			MaxLines:  valueOr(preview.MaxLines, defaultPreviewLines),
		},
	}
	p.OutputTokens = min(p.OutputTokens, threeQuarters(p.ContextTokens))
	p.CompactAt = min(p.CompactAt, p.requestLimit())
	return p
}

// Spec returns the policy as a complete record. Fields unknown to Policy, such as the summary
// model, come from the declared record.
func (p *Policy) Spec(declared *spec.ContextPolicy) *spec.ContextPolicy {
	s := *declared
	s.MaxContextTokens, s.MaxOutputTokens = nilIfZero(p.ContextTokens), nilIfZero(p.OutputTokens)
	s.MinRecentMessages, s.AutocompactThreshold = new(p.MinRecentMessages), nilIfZero(p.CompactAt)
	s.CompactionRawSuffixMessages = new(p.RawSuffixMessages)
	s.SummaryMaxTokens, s.MinSavingsRatio = new(p.SummaryTokens), new(p.MinSavings)
	s.EnablePromptCache = new(valueOr(declared.EnablePromptCache, true))
	s.ToolResultPreview = &spec.ToolResultPreview{
		MinTokens: new(p.Preview.MinTokens), MaxChars: new(p.Preview.MaxChars), MaxLines: new(p.Preview.MaxLines),
	}
	if s.CompactionMode == "" {
		s.CompactionMode = rawSuffix
	}
	return &s
}

// nilIfZero returns a pointer to a limit, nil for 0.
func nilIfZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// requestLimit is the maximum number of tokens in a request, without the answer.
func (p *Policy) requestLimit() int { return p.ContextTokens - p.OutputTokens }

func valueOr[T any](set *T, absent T) T {
	if set == nil {
		return absent
	}
	return *set
}

// atMost returns n, or the limit if that is known and smaller.
func atMost(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

// threeQuarters rounds down and cannot overflow.
func threeQuarters(n int) int { return n/4*3 + n%4*3/4 }
