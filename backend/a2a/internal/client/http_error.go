package client

import (
	"fmt"
	"net/http"
	"time"
)

// HTTPError reports that a peer answered a request with an error status. If the
// body holds an error of the protocol, the HTTPError wraps it, so that errors.Is
// finds a2a.ErrTaskNotFound and the like.
type HTTPError struct {
	// Status is the HTTP status.
	Status int
	// RetryAfter is how long the peer asks to wait; 0 if unknown.
	RetryAfter time.Duration
	// WWWAuthenticate is the authentication that the peer requires.
	WWWAuthenticate string
	// Message is the peer's message, cleaned and cut.
	Message string
	// Err is the protocol's error; nil if the body has none.
	Err error

	// renewed is set if the next call has a new credential.
	renewed bool
}

// Error returns the status and the peer's message.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("the peer answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the protocol's error.
func (e *HTTPError) Unwrap() error { return e.Err }

// IdleError reports that a peer was silent for too long: no response to a request, or no more data
// of one.
type IdleError struct {
	After time.Duration
}

// Error names the time.
func (e *IdleError) Error() string { return fmt.Sprintf("the peer sent nothing for %s", e.After) }

// Timeout reports that the error is a timeout.
func (*IdleError) Timeout() bool { return true }

// TooLargeError reports that an event or an answer of a peer exceeds its limit.
type TooLargeError struct {
	// What names the oversized part, such as "an event", "an answer" or "the agent card".
	What string
	// Limit is the maximum size in bytes.
	Limit int64
}

// Error names the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s of the peer is larger than %d bytes", e.What, e.Limit)
}

// ContentTypeError reports that a peer answered with a content type that the protocol does not
// define.
type ContentTypeError struct {
	ContentType string
}

// Error names the type.
func (e *ContentTypeError) Error() string {
	return fmt.Sprintf("the peer answers with content of type %q, not with JSON", e.ContentType)
}
