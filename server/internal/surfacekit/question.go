package surfacekit

import (
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Question is something that a turn asks.
type Question struct {
	*event.InteractionRequest
	// ID joins the ids of the turn and the interaction. Call is the waiting call; nil if the log
	// does not have it.
	ID   string
	Call *Call
	// Segment is the answer that ends with the question.
	Segment  int
	Answered bool
	// Canceled is set if the client was not asked, or refused.
	Canceled bool
	asked    bool
}

// RunsAtClient reports whether the question is a call of a function of the client.
func (q *Question) RunsAtClient() bool {
	return q.Action == clienttool.Action && q.Call != nil && q.Call.Name == q.Tool
}

// IsWords reports whether the question is answered in words or in a form, and not with
// whether a call may be made.
func (q *Question) IsWords() bool {
	return q.Action == tools.ActionAsk || q.Action == tools.ActionAuthorize || q.Tool == ""
}

// Question returns a question by its public id; nil for an unknown one.
func (n *Narrator) Question(id string) *Question {
	for _, q := range n.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// AsksClient returns the question for the result of a call of the client by the public id
// of the call; nil for other calls.
func (n *Narrator) AsksClient(callID string) *Question {
	for _, q := range n.Questions {
		if q.RunsAtClient() && q.Call.ID == callID {
			return q
		}
	}
	return nil
}

// Open returns the questions that are not answered.
func (n *Narrator) Open() []*Question {
	return slices.DeleteFunc(slices.Clone(n.Questions), func(q *Question) bool { return q.Answered })
}

// wait ends the answer if the turn waits for what its client was not asked before.
func (n *Narrator) wait() {
	var asked []*Question
	n.Skipped = nil
	for _, q := range n.Questions {
		switch {
		case q.Answered || q.asked:
		case n.CannotAsk != nil && n.CannotAsk(q):
			n.Skipped = append(n.Skipped, q)
		default:
			q.asked, q.Segment = true, n.Segment
			asked = append(asked, q)
		}
	}
	if len(asked) == 0 {
		return
	}
	// Calls that ran at the same time ask in any order.
	slices.SortStableFunc(asked, func(a, b *Question) int { return slices.Index(n.order, a.CallID) - slices.Index(n.order, b.CallID) })
	n.closeText(Complete)
	for _, q := range asked {
		n.tell(func(t Teller) { t.Ask(q) })
	}
	n.endStep()
	n.tell(func(t Teller) { t.Wait(asked) })
	n.Segment++
	n.Usage = nil
}
