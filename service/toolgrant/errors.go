package toolgrant

import "fmt"

// Kind is why a request is refused.
type Kind string

// The kinds.
const (
	// Invalid is a request that nobody could answer.
	Invalid Kind = "invalid"
	// Missing is one for a tool that does not exist, or not for the caller and the
	// agent.
	Missing Kind = "missing"
	// Unsupported is one for what this program is not set up for.
	Unsupported Kind = "unsupported"
)

// RefusedError is a request for tools that is refused.
type RefusedError struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

func invalid(format string, args ...any) *RefusedError {
	return &RefusedError{Invalid, fmt.Sprintf(format, args...)}
}
