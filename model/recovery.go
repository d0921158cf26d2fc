package model

import "bytes"

// continueNote tells a model to continue. It is a user message, because some vendors reject a
// request that ends with the model's message.
const continueNote = "Your last message was cut off by a technical fault. Continue exactly where it broke off: " +
	"repeat nothing of it, and do not mention the interruption."

// planRecovery decides how to resume the answer, based on the part already shown.
func (c *call) planRecovery() RecoveryPlan {
	complete, incomplete := c.answer.countCalls()
	switch {
	case len(c.answer.parts) == 0:
		return "" // nothing was shown
	case complete > 0:
		return KeepToolCalls
	case !c.answer.hasText() || c.req.Output != nil:
		// A model cannot be trusted to resume a format such as JSON in the middle.
		return Restart
	case incomplete > 0:
		return DropToolCall
	default:
		return ContinueText
	}
}

// carryOut discards the output that the next attempt does not reuse, and reports whether to make
// another attempt.
func (c *call) carryOut(plan RecoveryPlan) bool {
	const reason = "the answer broke off"
	switch plan {
	case Restart:
		return c.emitEvent(Event{Type: EventReset, Delta: reason})
	case KeepToolCalls, DropToolCall:
		for i := range c.answer.calls {
			if !c.answer.startedCall(i).done && !c.emitEvent(Event{Type: EventToolCallCancel, Index: i, Delta: reason}) {
				return false
			}
		}
	default:
	}
	if plan == KeepToolCalls {
		return c.emitEvent(Event{Type: EventFinish, Reason: FinishToolCalls, Usage: c.totalUsage(nil)})
	}
	return true
}

// nextRequest returns the request of the next attempt: the original, or, if text
// was shown, the original plus that text and a note to continue. The reasoning
// before the text is left out: it may be incomplete, and a pool may have moved to
// another vendor.
func (c *call) nextRequest() *Request {
	if len(c.answer.parts) == 0 {
		return c.req
	}
	next := *c.req
	next.Messages = make([]Message, 0, len(c.req.Messages)+2)
	next.Messages = append(next.Messages, c.req.Messages...)
	next.Messages = append(next.Messages, Assistant(c.answer.Text()), User(continueNote))
	return &next
}

// countCalls counts the complete and incomplete calls that were not canceled.
func (a *Answer) countCalls() (complete, incomplete int) {
	for i := range a.calls {
		switch p := a.startedCall(i); {
		case p.canceled:
		case p.done:
			complete++
		default:
			incomplete++
		}
	}
	return complete, incomplete
}

// hasText reports whether the answer has any text but white space, which no vendor accepts as a
// message.
func (a *Answer) hasText() bool {
	for i := range a.parts {
		if p := &a.parts[i]; p.typ == PartText && len(bytes.TrimSpace(p.data)) > 0 {
			return true
		}
	}
	return false
}
