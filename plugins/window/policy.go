package window

import "github.com/agentruntime/agentruntime/spec"

// The numbers of a policy that says nothing, as the fields of
// spec.ContextPolicy document them.
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

// The compaction modes: one that summarises as much as possible, and the default.
const (
	safeFrontier = "compact_to_safe_frontier"
	rawSuffix    = "keep_recent_raw_suffix"
)

// Policy is a context policy with all its numbers known.
type Policy struct {
	// ContextTokens is how many tokens a request may have, answer included.
	ContextTokens int
	// OutputTokens are kept free for the answer: at most three quarters of
	// ContextTokens, so that something is left for the conversation.
	OutputTokens int
	// MinRecentMessages is how many of the latest messages are kept whatever
	// they cost.
	MinRecentMessages int
	// CompactAt is the estimate of a request from which on the conversation is
	// summarised; 0 never does it.
	CompactAt int
	// SafeFrontier makes a summary cover all but the latest step. Without, it
	// leaves RawSuffixMessages at least, and what follows the task as long as there
	// is something else to cover.
	SafeFrontier bool
	// RawSuffixMessages is how many messages after a summary stay as they are.
	RawSuffixMessages int
	// SummaryTokens is how long a summary may be.
	SummaryTokens int
	// MinSavings is the share of the summarised tokens, 0 to 1, that a summary
	// must save to be used.
	MinSavings float64
	// Preview is how long tool results of earlier steps are shortened.
	Preview Preview
}

// Preview is which tool results are shortened, and to what size.
type Preview struct {
	// MinTokens is the estimate from which on a result is shortened.
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

// requestLimit is how many tokens a request may have, without the answer.
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

// threeQuarters rounds down, and has no number that is too large.
func threeQuarters(n int) int { return n/4*3 + n%4*3/4 }
