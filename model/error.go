package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrorClass is the kind of failure of a model call, which determines the possible remedies.
type ErrorClass string

// The classes of errors.
const (
	// Provider is a possibly temporary failure on the vendor's side.
	Provider ErrorClass = "provider"
	// RateLimited is a rejection for exceeding a rate limit.
	RateLimited ErrorClass = "rate_limited"
	// Overloaded is a rejection because the vendor is too busy.
	Overloaded ErrorClass = "overloaded"
	// Timeout is an answer that did not arrive in time.
	Timeout ErrorClass = "timeout"
	// StreamInterrupted is an answer that broke off.
	StreamInterrupted ErrorClass = "stream_interrupted"
	// EmptyAnswer is an answer that ended without text, a tool call or a refusal.
	EmptyAnswer ErrorClass = "empty_answer"
	// ContextOverflow is a request longer than the model's window.
	ContextOverflow ErrorClass = "context_overflow"
	// InvalidRequest is a request the vendor does not understand or allow.
	InvalidRequest ErrorClass = "invalid_request"
	// Unauthorized is a rejection of the credentials.
	Unauthorized ErrorClass = "unauthorized"
	// ModelNotFound is a model the vendor does not know.
	ModelNotFound ErrorClass = "model_not_found"
	// ContentFiltered is a request or answer the vendor withheld.
	ContentFiltered ErrorClass = "content_filtered"
	// AllModelsUnavailable is a pool with no available member.
	AllModelsUnavailable ErrorClass = "all_models_unavailable"
	// Truncated is an answer that is unusable because the output limit cut it off, or one larger
	// than MaxAnswer.
	Truncated ErrorClass = "truncation"
	// InvalidOutput is an answer that lacks the requested form.
	InvalidOutput ErrorClass = "invalid_output"
	// Canceled is a call that its caller abandoned.
	Canceled ErrorClass = "cancelled"
)

// RequestErrors returns the classes with which a provider can fail a request.
func RequestErrors() []ErrorClass {
	return []ErrorClass{
		Provider, RateLimited, Overloaded, Timeout, StreamInterrupted, EmptyAnswer, ContextOverflow, InvalidRequest,
		Unauthorized, ModelNotFound, ContentFiltered, AllModelsUnavailable, Canceled,
	}
}

// Retryable reports whether the same request may succeed later.
func (c ErrorClass) Retryable() bool {
	switch c {
	case Provider, RateLimited, Overloaded, Timeout, StreamInterrupted, EmptyAnswer:
		return true
	default:
		return false
	}
}

// Error describes why a model call failed.
type Error struct {
	Class ErrorClass
	// Provider is the id of the provider; empty if none was reached.
	Provider string
	// Message describes the failure, without secrets.
	Message string
	// Status is the HTTP status of the vendor's answer, or 0 if none.
	Status int
	// RetryAfter is the wait requested by the vendor; 0 if unspecified.
	RetryAfter time.Duration
	// Usage counts the tokens used by the failed attempt; nil if the vendor did not report them.
	Usage *Usage
	// Err is the cause, if any.
	Err error
}

// Error returns the provider, the class and the message.
func (e *Error) Error() string {
	text := string(e.Class)
	if e.Status != 0 {
		text = fmt.Sprintf("%s (HTTP %d)", text, e.Status)
	}
	if e.Provider != "" {
		text = fmt.Sprintf("provider %s: %s", e.Provider, text)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error: itself if it is one, otherwise of class Canceled or Timeout if
// it comes from a context, otherwise of class Provider.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Class: Canceled, Message: "the call was canceled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Class: Timeout, Message: "the deadline passed", Err: err}
	default:
		return &Error{Class: Provider, Message: err.Error(), Err: err}
	}
}
