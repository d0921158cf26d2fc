package runtime

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// Turn is a turn that runs in the background. It is safe for concurrent use.
type Turn struct {
	activation *Activation
	cancel     context.CancelCauseFunc
	done       chan struct{}
	result     *Result
	err        error

	mu sync.Mutex
	// asked holds the interactions since the turn was last resumed, and all answers.
	asked backend.State
	// answered is signaled by each answer.
	answered chan struct{}
}

// Start begins a turn and returns immediately. Unlike with Run, the turn does not end when it has
// to wait: it continues once Answer has its answers. It ends when ctx does. Start fails if the
// request cannot begin.
func (r *AgentRuntime) Start(ctx context.Context, req Request, sink event.Sink) (*Turn, error) {
	a, err := r.Prepare(ctx, &req, sink)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t := &Turn{activation: a, cancel: cancel, done: make(chan struct{}), answered: make(chan struct{}, 1)}
	a.host.watch = t.noteRequest
	if state := a.host.job.State; state != nil {
		t.noteWaiting(state)
		t.asked.Answered = state.Clone().Answered
	}
	go func() {
		defer t.cancel(nil)
		defer close(t.done)
		defer a.Close()
		t.runUntilEnd(ctx)
	}()
	return t, nil
}

// ID returns the turn's id.
func (t *Turn) ID() string { return t.activation.host.turnID }

// Done returns a channel that is closed when the turn ends.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Wait waits for the turn and returns its result, like Run. If ctx ends first, Wait returns its
// cause and the turn continues.
func (t *Turn) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		return nil, backend.Ended(ctx)
	}
}

// Cancel ends the turn. The reason, which may be nil, appears in its termination. Canceling a
// finished turn has no effect.
func (t *Turn) Cancel(reason error) { t.cancel(reason) }

// Interactions returns the turn's open interactions.
func (t *Turn) Interactions() []*interaction.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked.Interactions()
}

// Answer answers an interaction, by its id or by the id of the call. An answer may come as soon as
// the interaction was shown, and may be repeated. It fails with a *interaction.UnknownError or a
// *interaction.AnswerError, which change nothing.
func (t *Turn) Answer(r interaction.Answer) error {
	t.mu.Lock()
	err := t.asked.Answer(r)
	t.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case t.answered <- struct{}{}:
	default:
	}
	return nil
}

// noteRequest records an interaction. A call that needs several answers repeats those still
// missing.
func (t *Turn) noteRequest(q *event.InteractionRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.asked.Calls {
		if t.asked.Calls[i].HasInteraction(q.ID) {
			return
		}
	}
	if t.asked.Remote != nil && t.asked.Remote.HasInteraction(q.ID) {
		return
	}
	t.asked.Calls = append(t.asked.Calls, backend.CallState{
		ID: q.CallID, Outcome: event.CallSuspended,
		Interactions: []*backend.Interaction{{Request: q.Request}},
	})
}

// noteWaiting records the interactions of a state and drops earlier ones that are no longer part
// of it.
func (t *Turn) noteWaiting(state *backend.State) {
	waiting := state.Clone()
	t.asked.Calls, t.asked.Remote = waiting.Calls, waiting.Remote
}

// runUntilEnd runs the turn from one wait to the next.
func (t *Turn) runUntilEnd(ctx context.Context) {
	defer t.clearRequests()
	t.err = errNoOutcome // remains only if a sink ends the goroutine
	a := t.activation
	ctx = a.Observe(ctx)
	for {
		late := ctx.Err() != nil
		switch a.Execute(ctx) {
		case Yielded:
			t.result, t.err = a.Leave(nil), backend.ErrYield
			return
		case Suspended:
			if late { // it still waits after its context ended
				a.stopWaiting(ctx)
			} else if a.prepareResume() == nil {
				t.awaitAnswer(ctx, a.result.State)
				continue
			}
		case Ended, Lost:
		}
		t.result, t.err = a.Finish(ctx)
		return
	}
}

// awaitAnswer waits until one of the interactions of a state has an answer, or ctx
// ends. If ctx ends, the backend runs once more with the ended context, to close
// the step and let the plugins finish.
func (t *Turn) awaitAnswer(ctx context.Context, state *backend.State) {
	for !t.applyAnswers(state) {
		select {
		case <-t.answered:
		case <-ctx.Done():
			return
		}
	}
}

// clearRequests records that the turn no longer waits for anything.
func (t *Turn) clearRequests() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked.Calls, t.asked.Remote = nil, nil
}

// applyAnswers adds new answers to the state, and reports whether there were any.
func (t *Turn) applyAnswers(state *backend.State) (any bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, request := range state.Interactions() {
		if r, ok := t.asked.Answered[request.ID]; ok && state.Answer(r) == nil {
			any = true
		}
	}
	t.noteWaiting(state)
	return any
}
