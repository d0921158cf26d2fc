package local

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// beginCalls enters the calls that are about to start in the journal, and stores the turn if one of
// them may have side effects. It returns how many may start; with an error only that many may run.
func (b *batch) beginCalls(ctx context.Context) (may int, err error) {
	before, acts := len(b.journal), false
	for _, c := range b.calls {
		if err = b.enterCall(c); err != nil {
			break
		}
		may++
		acts = acts || b.journal[c.journal].Effect != tools.Read
	}
	j, ok := b.host.(backend.Journaler)
	if !ok || !acts {
		return may, err
	}
	b.host.FlushSession()
	if beginErr := j.Begin(ctx, b.currentState()); beginErr != nil {
		b.journal = b.journal[:before] // none of them began
		return 0, beginErr
	}
	return may, err
}

// enterCall counts a call and records its start. A call that waited or was running when the process
// died is already counted.
func (b *batch) enterCall(c *call) error {
	key := b.callKey(c)
	c.journal = slices.IndexFunc(b.journal, func(e backend.JournalEntry) bool { return e.IdempotencyKey == key })
	inDoubt := c.phase == callInDoubt
	if c.resumed == nil && !inDoubt {
		if err := b.meter.BeginToolCall(); err != nil {
			return err
		}
		b.stats.ToolCalls++
		if len(b.agents) > 0 {
			b.agents.Add(event.AgentUsage{Agent: b.agent.ID, ToolCalls: 1})
		}
	}
	var resume json.RawMessage
	if inDoubt {
		resume = b.journal[c.journal].Resume // it survived the process and must not be lost now
	}
	c.applyMove(moveEnter)
	c.begun, c.left = time.Now(), nil
	entry := backend.JournalEntry{
		Step: b.stats.Steps, CallID: c.ID, Tool: c.Name, Effect: c.entry.Descriptor.EffectClass(),
		IdempotencyKey: key, Began: c.begun, Resume: resume,
	}
	if c.journal < 0 {
		c.journal = len(b.journal)
		b.journal = append(b.journal, entry)
	}
	b.journal[c.journal] = entry
	return nil
}

// isJournaled reports whether the host keeps a journal.
func (t *turn) isJournaled() bool {
	_, ok := t.host.(backend.Journaler)
	return ok
}

// keepCall stores the state from which a running call continues.
func (b *batch) keepCall(c *call, asked *keepRequest) error {
	if c.phase != callRunning {
		return errCallOver
	}
	j, ok := b.host.(backend.Journaler)
	if !ok {
		return nil
	}
	entry := &b.journal[c.journal]
	entry.Resume = asked.state
	kept := *entry
	return j.Keep(asked.ctx, &kept)
}

// callKey returns a call's unique key.
func (t *turn) callKey(c *call) string {
	return cmp.Or(t.job.CallKeys, t.job.TurnID) + "/" + strconv.Itoa(t.stats.Steps) + "/" + c.ID
}

// recordOutcome records a call's outcome, including in the journal.
func (t *turn) recordOutcome(c *call, outcome event.CallOutcome) {
	entry := &t.journal[c.journal]
	entry.Outcome, entry.Resume = outcome, nil
	if !c.begun.IsZero() {
		entry.Duration = time.Since(c.begun)
	}
	j, ok := t.host.(backend.Journaler)
	if !ok {
		return
	}
	kept := *entry
	kept.After = c.pendingAftermath()
	if !c.phase.hasResult() {
		j.Settle(&kept, nil)
		return
	}
	result := c.resultMessage()
	j.Settle(&kept, &result)
}

// pendingAftermath returns the call's effects, apart from its result, or nil.
func (c *call) pendingAftermath() *backend.Aftermath {
	if c.left == nil && c.phase.hasResult() {
		return nil
	}
	after := new(backend.Aftermath)
	if c.left != nil {
		*after = *c.left
	}
	if !c.phase.hasResult() {
		after.Interactions, after.Resume = c.interactions, c.resume
	}
	return after
}
