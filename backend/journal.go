package backend

import (
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// JournalEntry records that a tool was called: what it may have done to the
// world, and whether the outcome is known.
type JournalEntry struct {
	Step   int          `json:"step"`
	CallID string       `json:"call_id"`
	Tool   string       `json:"tool"`
	Effect tools.Effect `json:"effect"`
	// IdempotencyKey is what the tool was given to tell repetitions by.
	IdempotencyKey string    `json:"idempotency_key"`
	Began          time.Time `json:"began"`
	// Outcome is empty as long as it is not known.
	Outcome  event.CallOutcome `json:"outcome,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
}

// Journaler is implemented by hosts that keep a turn's journal. Journal is
// called before a tool starts, with an entry without outcome, and again when
// its outcome is known. An error of the first keeps the tool from being called.
type Journaler interface {
	Journal(entry *JournalEntry) error
}
