package local

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// currentState returns the turn's state between two steps, or before tool calls. It shares no
// mutable data with the turn.
func (t *turn) currentState() *backend.State {
	stats := t.stats
	stats.Elapsed += time.Since(stats.Started)
	s := &backend.State{
		Version: backend.StateVersion, Agent: t.agent.ID, Stats: stats, Agents: slices.Clone(t.agents), Budgets: t.meter.Budgets(), Spent: t.meter.Spent(),
		Response: t.response, FinishReason: t.reason,
		Messages: slices.Clip(t.transcript[t.first:]), Plugins: t.engine.Export(),
		Notes: t.notes, Said: slices.Clone(t.said), WithoutTools: t.withoutTools, Continuations: t.continuations, Repairs: t.repairs,
		Handoff: t.handOff, Journal: slices.Clone(t.journal), Answered: maps.Clone(t.resolved),
		InStep: t.inStep && len(t.calls) > 0,
	}
	if s.InStep && t.stop != nil {
		stop := *t.stop
		s.Stop = &stop
	}
	if t.form != nil {
		s.Output = t.form.Spec
	}
	for i := range t.calls {
		s.Calls = append(s.Calls, t.calls[i].callState())
	}
	return s
}

// restoreState restores the turn from a state.
func (t *turn) restoreState(s *backend.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Agent != t.agent.ID {
		return fmt.Errorf("the state of the turn is one of agent %s, not of agent %s", s.Agent, t.agent.ID)
	}
	if err := t.engine.Restore(s.Plugins); err != nil {
		return err
	}
	t.stats = s.Stats
	if s.Output != nil && t.form == nil {
		form, err := backend.NewOutputForm(s.Output)
		if err != nil {
			return fmt.Errorf("the form of the turn's answer: %w", err)
		}
		t.form = form
	}
	t.transcript = append(t.transcript, s.Messages...)
	t.kept = kept{
		response: s.Response, reason: s.FinishReason, notes: slices.Clip(s.Notes), withoutTools: s.WithoutTools,
		continuations: s.Continuations, repairs: s.Repairs, handOff: s.Handoff,
		journal: journalOf(s), agents: slices.Clone(s.Agents), resolved: maps.Clone(s.Answered), said: slices.Clone(s.Said),
	}
	t.inStep = s.InStep
	if s.InStep {
		t.stop = s.Stop
	}
	if len(s.Calls) == 0 {
		return nil
	}
	t.calls = callsOf(t.lastAnswer())
	for i := range t.calls {
		t.calls[i].restoreState(&s.Calls[i])
	}
	return nil
}

// journalOf returns the journal up to the state's step. Later entries belong to calls outside of
// the state, whose step is repeated.
func journalOf(s *backend.State) []backend.JournalEntry {
	journal := slices.DeleteFunc(slices.Clone(s.Journal), func(e backend.JournalEntry) bool { return e.Step > s.Stats.Steps })
	for i := range journal {
		journal[i].After = nil // the state has it
	}
	return journal
}

// callState returns a call of an unfinished step.
func (c *call) callState() backend.CallState {
	s := backend.CallState{ID: c.ID, Outcome: c.outcomeSoFar(), Decided: c.phase.isLetThrough(), Skipped: c.skipped, Interactions: c.interactions, Resume: c.resume}
	if !c.phase.hasResult() {
		s.Answers = slices.Clone(c.answers) // sequential runs may not reach it
	}
	if c.edited {
		s.Arguments = c.Arguments
	}
	if c.phase.hasResult() {
		result := c.resultMessage()
		s.Result = &result
	}
	return s
}

// phaseOf returns the phase of a state's call.
func phaseOf(s *backend.CallState) callPhase {
	switch {
	case s.Outcome == event.CallSuspended:
		return callWaiting
	case s.Result != nil && s.Decided:
		return callReturned
	case s.Result != nil:
		return callOver
	case s.Decided:
		return callAllowed
	default:
		return callAsked
	}
}

func (c *call) restoreState(s *backend.CallState) {
	c.phase, c.skipped, c.interactions, c.resume, c.answers = phaseOf(s), s.Skipped, s.Interactions, s.Resume, s.Answers
	if len(s.Arguments) > 0 {
		c.editArguments(s.Arguments)
	}
	if c.phase.hasResult() {
		c.outcome = s.Outcome
		c.result = tools.Result{Content: s.Result.Content, IsError: s.Result.IsError}
	}
	if c.phase.isLetThrough() && len(c.answers) > 0 {
		c.passAnswers(c.interactionByID(c.answers[0].Target))
	}
}
