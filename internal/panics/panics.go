// Package panics recovers from the panics of components: plugins, tools, providers
// and what else others write. The panics of one must not end the process.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error reports that code panicked.
type Error struct {
	// Value is what panic was called with.
	Value any
	// Stack is the goroutine's stack, from where the panic began.
	Stack []byte
}

// Error gives the value of the panic.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Recover turns a panic into an *Error at err. It is deferred, and without a panic changes
// nothing.
func Recover(err *error) {
	if p := Caught(recover()); p != nil {
		*err = p
	}
}

// Handle calls a function with what panicked. It is deferred, and without a panic does
// not.
func Handle(handle func(*Error)) {
	if p := Caught(recover()); p != nil {
		handle(p)
	}
}

// Caught returns the error of what recover returned, and nil when that is nil. It is
// called by the function that recovers, while the stack still shows where the panic
// began.
func Caught(value any) *Error {
	if value == nil {
		return nil
	}
	return &Error{Value: value, Stack: debug.Stack()}
}
