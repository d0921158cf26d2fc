package local

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// turn is one turn on the loop. It belongs to the goroutine that runs Execute.
type turn struct {
	job   *backend.Job
	host  backend.Host
	meter *backend.Meter
	// form is the schema of the final answer, whichever agent gives it; nil if absent.
	form *backend.OutputForm
	speaker
	stats plugins.Stats
	conversation
	inference inference
	// calls are the calls of the step's answer until their results are kept.
	calls []call
	// inStep is set during a step.
	inStep bool
	// deadLetters come from the agents that had the conversation earlier.
	deadLetters []execution.DeadLetter
	ending
	// span observes the turn; it may be nil.
	span *telemetry.TurnSpan
	// watch ends the turn when a plugin takes too long.
	watch watch

	// kept is also stored in a State.
	kept
}

// ending is how a turn ends.
type ending struct {
	// stop is an end requested by a plugin, except in AfterInference.
	stop *event.Termination
	// ended is passed to the hooks of the last phases.
	ended event.Termination
}

// kept is the part of a turn's state that a State stores unchanged.
type kept struct {
	response      string
	reason        model.FinishReason
	notes         []model.Message
	withoutTools  bool
	continuations int
	repairs       int
	handOff       string
	journal       []backend.JournalEntry
	// agents is the usage of each agent; empty while one agent used one model.
	agents   event.AgentUsages
	resolved map[string]interaction.Answer
	// said are user messages that follow the calls' results.
	said []model.Message
}

// lifecycle is an engine method that runs one of the first or last phases.
type lifecycle func(ctx context.Context) error

// syncHookView updates the engine's view for its hooks.
func (t *turn) syncHookView() {
	c := &t.engine.Context
	c.TurnID, c.SessionID, c.Agent, c.Stats = t.job.TurnID, t.job.SessionID, t.agent, &t.stats
	c.Tools = t.env.Offered
	c.Session = t.host.Session()
	t.engine.Emit, t.engine.Spend = t.host.Emit, t.countSpent
}

// enterAgent runs the first phases of the current agent.
func (t *turn) enterAgent(ctx context.Context) error {
	if err := t.runHooks(ctx, plugins.Activate, t.engine.Activate); err != nil {
		return err
	}
	return t.runHooks(ctx, plugins.RunStart, t.engine.Start)
}

// runPhase runs the hooks of a phase on the current conversation. A hook that fails
// because the turn's context ended does not fail the turn: the turn ends with the
// context's own error.
func (t *turn) runPhase(ctx context.Context, phase plugins.Phase) error {
	if t.engine.Idle(phase) {
		return nil
	}
	return t.runHooks(ctx, phase, func(ctx context.Context) error { return t.engine.Run(ctx, phase) })
}

// runHooks makes the engine run a phase.
func (t *turn) runHooks(ctx context.Context, phase plugins.Phase, run lifecycle) error {
	if t.engine.Idle(phase) {
		return run(ctx) // it records the end of the phase
	}
	c := &t.engine.Context
	c.Messages, c.InputLength = t.transcript[t.prompt:], len(t.job.Input)
	c.HistoryLength = t.first - t.prompt - c.InputLength
	t.watch.beginPhase(phase)
	err := run(ctx)
	t.watch.endPhase()
	t.host.FlushSession()
	if stop := t.engine.StopRequest(); t.stop == nil {
		t.stop = stop
	}
	if to := t.engine.HandoffRequest(); to != "" && t.handOff == "" {
		t.handOff = to
	}
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return backend.Ended(ctx)
	}
	return err
}

// showState shows the plugins' state, if it changed.
func (t *turn) showState() {
	if snapshot := t.engine.Snapshot(); snapshot != nil {
		t.host.Emit(&event.StateSnapshot{Snapshot: snapshot})
	}
}

// countSpent counts a model call's usage and cost. A budget counts every price as if in its own
// currency, so that it never allows more; a turn's reported cost is in one currency.
func (t *turn) countSpent(usage model.Usage, modelID string) {
	t.meter.Spend(usage, backend.Price(t.env.Pricing[modelID], usage))
	t.addCost(usage, modelID)
}

// addCost adds usage to the agent, and its cost to the turn. It returns the cost, or nil
// if the model has no price.
func (t *turn) addCost(usage model.Usage, modelID string) (cost *event.Cost) {
	t.noteModel(usage, modelID)
	if price := t.env.Pricing[modelID]; price != nil {
		cost = &event.Cost{Amount: backend.Price(price, usage), Currency: price.CurrencyCode()}
	}
	if len(t.agents) > 0 {
		t.agents.Add(event.AgentUsage{Agent: t.agent.ID, ModelID: modelID, Usage: usage, Cost: cost})
	}
	if cost == nil {
		return nil
	}
	if t.stats.Currency == "" {
		t.stats.Currency = cost.Currency
	}
	if t.stats.Currency == cost.Currency {
		t.stats.Cost += cost.Amount
	}
	return cost
}

// noteModel starts counting by model when a second model is called. The usage of that call is
// already in the stats.
func (t *turn) noteModel(usage model.Usage, modelID string) {
	if t.stats.ModelID == "" {
		t.stats.ModelID = modelID
	}
	if t.stats.ModelID != modelID && len(t.agents) == 0 {
		t.splitUsage()
		t.agents[0].Usage.Sub(usage)
	}
}

// splitUsage starts counting by agent before a second one works on the turn.
func (t *turn) splitUsage() {
	if len(t.agents) == 0 {
		t.agents = event.AgentUsages{backend.UsageOf(t.agent.ID, &t.stats)}
	}
}
