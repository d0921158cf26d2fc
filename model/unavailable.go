package model

import (
	"context"
	"errors"
	"iter"
)

// Unavailable is an executor that answers every request with an error. It replaces a provider
// that could not be created.
type Unavailable struct{ Err error }

// Stream returns the error.
func (u Unavailable) Stream(context.Context, *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := u.Err
		if err == nil {
			err = errors.New("the provider is not available")
		}
		yield(Event{}, &Error{Class: InvalidRequest, Message: err.Error(), Err: err})
	}
}
