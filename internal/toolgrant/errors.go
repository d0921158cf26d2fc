package toolgrant

import "fmt"

// Kind is the reason a request is rejected.
type Kind string

// The kinds.
const (
	// Invalid requests can never be fulfilled.
	Invalid Kind = "invalid"
	// Missing requests name a tool that does not exist, or not for the caller and the agent.
	Missing Kind = "missing"
	// Unsupported requests need something that this program is not configured for.
	Unsupported Kind = "unsupported"
)

// RefusedError is a rejected request for tools.
type RefusedError struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

func invalid(format string, args ...any) *RefusedError {
	return &RefusedError{Invalid, fmt.Sprintf(format, args...)}
}
