package local

import "github.com/agentruntime/agentruntime/event"

// stepResult is the outcome of a step or a part of one: the turn continues, which is the zero
// value, is suspended, or ends.
type stepResult struct {
	course      course
	termination event.Termination
}

// course is how a turn continues after a step or a part of one.
type course uint8

const (
	goesOn course = iota
	suspends
	ends
)

// suspendTurn returns the result of a step with waiting calls.
func suspendTurn() stepResult {
	return stepResult{course: suspends, termination: event.Termination{Type: event.Suspended}}
}

// endTurn returns the result of a step that ends the turn.
func endTurn(t event.Termination) stepResult {
	course := ends
	if t.Type == event.Suspended {
		course = suspends // a plugin may request this too
	}
	return stepResult{course: course, termination: t}
}
