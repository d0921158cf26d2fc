package event

// ContextTrimmed reports the messages omitted from a request to fit the model's window. The
// conversation itself keeps everything.
type ContextTrimmed struct {
	// Dropped counts the messages that were left out, Previews the tool results
	// that were shortened.
	Dropped  int `json:"dropped_messages"`
	Previews int `json:"shortened_results"`
	// Before and After are the estimated tokens of the request, tools included.
	Before int `json:"estimated_tokens_before"`
	After  int `json:"estimated_tokens_after"`
	// Limit is how many tokens the request may have.
	Limit int `json:"limit"`
}

// CompactionOutcome is the outcome of a summary.
type CompactionOutcome string

// The outcomes of a summary.
const (
	// CompactionDone means that a summary replaces the summarised messages.
	CompactionDone CompactionOutcome = "compacted"
	// CompactionSkipped is a summary that would not have saved enough.
	CompactionSkipped CompactionOutcome = "skipped"
	// CompactionFailed is a summary that the model did not give.
	CompactionFailed CompactionOutcome = "failed"
)

// ContextCompacted reports that the earlier part of the conversation was
// summarised for the requests to come, or that it was not.
type ContextCompacted struct {
	Outcome CompactionOutcome `json:"outcome"`
	// Messages counts the summarised messages.
	Messages int `json:"messages"`
	// Before and After are the estimated tokens of the summarised messages and of the summary.
	Before int    `json:"estimated_tokens_before"`
	After  int    `json:"estimated_tokens_after"`
	Model  string `json:"model,omitempty"`
	Usage  Usage  `json:"usage"`
	// Reason is why the outcome is not compacted.
	Reason string `json:"reason,omitempty"`
}

// Type returns TypeContextTrimmed.
func (*ContextTrimmed) Type() Type { return TypeContextTrimmed }

// Type returns TypeContextCompacted.
func (*ContextCompacted) Type() Type { return TypeContextCompacted }
