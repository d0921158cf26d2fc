package surfacekit

import (
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Question is a question of a turn.
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

// RunsAtClient reports whether the question is a call of a client function.
func (q *Question) RunsAtClient() bool {
	return q.Action == clienttool.Action && q.Call != nil && q.Call.Name == q.Tool
}

// IsWords reports whether the answer is a text or a form, rather than the decision whether to make
// a call.
func (q *Question) IsWords() bool {
	return q.Action == tools.ActionAsk || q.Action == tools.ActionAuthorize || q.Tool == ""
}

// Question returns a question by its public id; nil if the id is unknown.
func (n *Narrator) Question(id string) *Question {
	for _, q := range n.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// AsksClient returns the question for the result of a client call by the call's public id; nil for
// other calls.
func (n *Narrator) AsksClient(callID string) *Question {
	for _, q := range n.Questions {
		if q.RunsAtClient() && q.Call.ID == callID {
			return q
		}
	}
	return nil
}

// Open returns the unanswered questions.
func (n *Narrator) Open() []*Question {
	return slices.DeleteFunc(slices.Clone(n.Questions), func(q *Question) bool { return q.Answered })
}

// wait ends the answer if the turn waits for new questions to its client.
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
	// Concurrent calls ask in any order.
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
