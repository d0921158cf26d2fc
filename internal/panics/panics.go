// Package panics recovers from panics in components: plugins, tools, providers and other foreign
// code. A panic in one must not end the process.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error reports that code panicked.
type Error struct {
	// Value is the argument of panic.
	Value any
	// Stack is the goroutine's stack at the panic.
	Stack []byte
}

// Error formats the value of the panic.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Recover converts a panic to an *Error in err. It must be deferred, and does nothing without a
// panic.
func Recover(err *error) {
	if p := Caught(recover()); p != nil {
		*err = p
	}
}

// Handle calls a function with a recovered panic. It must be deferred, and does nothing without a
// panic.
func Handle(handle func(*Error)) {
	if p := Caught(recover()); p != nil {
		handle(p)
	}
}

// Caught converts the result of recover to an error; nil if it is nil. The recovering function
// calls it while the stack still shows where the panic began.
func Caught(value any) *Error {
	if value == nil {
		return nil
	}
	return &Error{Value: value, Stack: debug.Stack()}
}
