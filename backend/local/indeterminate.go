package local

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
)

// prepareCalls prepares a state's calls to continue. Calls that were running when the process died
// are executed again with the same key, unless their effect forbids it, since the call may have
// taken effect. A call that recorded where it can resume is resumed there.
func (t *turn) prepareCalls() {
	for i := range t.calls {
		c := &t.calls[i]
		if !c.phase.isLetThrough() {
			continue
		}
		c.entry = t.env.Tools.Get(c.Name)
		key := t.callKey(c)
		c.journal = slices.IndexFunc(t.journal, func(e backend.JournalEntry) bool { return e.IdempotencyKey == key })
		if c.phase.hasResult() {
			continue
		}
		inDoubt := c.journal >= 0 && t.journal[c.journal].Outcome == ""
		if inDoubt {
			c.applyMove(moveDoubt)
		}
		switch {
		case inDoubt && c.entry != nil && len(t.journal[c.journal].Resume) > 0:
			c.resumed = &tools.Resumed{State: t.journal[c.journal].Resume}
		case inDoubt && !isRepeatable(t.journal[c.journal].Effect):
			t.leaveOpen(c)
		case c.entry == nil:
			c.applyMove(moveWithdraw) // decideCall sets its error
		}
	}
}

// isRepeatable reports whether a call may be executed again that may have taken
// effect.
func isRepeatable(effect tools.Effect) bool {
	return effect == tools.Read || effect == tools.Idempotent
}

// leaveOpen settles a call that a crash interrupted and that must not be repeated.
func (t *turn) leaveOpen(c *call) {
	t.settleInDoubt(c, indeterminateText(c.Name))
	t.recordOutcome(c, event.CallIndeterminate)
}

// settleInDoubt settles a call that may or may not have taken effect, or asks a person for
// its result.
func (t *turn) settleInDoubt(c *call, text string) {
	if t.job.Indeterminate != backend.IndeterminateAsk {
		t.settleCall(c, tools.ErrorResult(text), event.CallIndeterminate)
		return
	}
	c.resume = nil
	t.suspendCall(c, []*backend.Interaction{{Request: interaction.Request{
		Action: backend.ActionIndeterminate, Mode: interaction.UseDecisionAsToolResult,
		Message: text + " Find out whether it has, and answer with what the agent is to take for the result of the call.",
	}}})
}

func indeterminateText(tool string) string {
	return fmt.Sprintf("The runtime stopped while the call of %s was under way. It may or may not have taken effect, and it was not repeated.", tool)
}
