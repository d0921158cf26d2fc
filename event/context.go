package event

// ContextTrimmed reports the messages omitted from a request to fit the model's window. The
// conversation itself keeps everything.
type ContextTrimmed struct {
	// Dropped counts the omitted messages, Previews the shortened tool results.
	Dropped  int `json:"dropped_messages"`
	Previews int `json:"shortened_results"`
	// Before and After are the estimated tokens of the request, tools included.
	Before int `json:"estimated_tokens_before"`
	After  int `json:"estimated_tokens_after"`
	// Limit is the maximum number of tokens in the request.
	Limit int `json:"limit"`
}

// CompactionOutcome is the outcome of a summary.
type CompactionOutcome string

// The outcomes of a summary.
const (
	// CompactionDone means that a summary replaces the summarized messages.
	CompactionDone CompactionOutcome = "compacted"
	// CompactionSkipped means that a summary would not have saved enough.
	CompactionSkipped CompactionOutcome = "skipped"
	// CompactionFailed means that the model returned no summary.
	CompactionFailed CompactionOutcome = "failed"
)

// ContextCompacted reports that the earlier part of the conversation was summarized for future
// requests, or that it was not.
type ContextCompacted struct {
	Outcome CompactionOutcome `json:"outcome"`
	// Messages counts the summarized messages.
	Messages int `json:"messages"`
	// Before and After are the estimated tokens of the summarized messages and of the summary.
	Before int    `json:"estimated_tokens_before"`
	After  int    `json:"estimated_tokens_after"`
	Model  string `json:"model,omitempty"`
	Usage  Usage  `json:"usage"`
	// Reason explains why the conversation was not compacted.
	Reason string `json:"reason,omitempty"`
}

// Type returns TypeContextTrimmed.
func (*ContextTrimmed) Type() Type { return TypeContextTrimmed }

// Type returns TypeContextCompacted.
func (*ContextCompacted) Type() Type { return TypeContextCompacted }
