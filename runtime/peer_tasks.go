package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.uber.org/zap"
)

// suspendedDelegate is the information a call needs to resume a waiting delegate.
type suspendedDelegate struct {
	TurnID    string         `json:"turn_id"`
	SessionID string         `json:"session_id"`
	State     *backend.State `json:"state"`
}

// Abandon ends the tasks that a suspended or stopped turn left running at peers: the turn itself,
// if its agent is remote, and delegates waiting there. It is for callers of Run that will not
// resume the turn; otherwise such tasks are ended automatically. Ending a task twice is harmless.
// The errors name the agents whose tasks may still run.
//
// It uses the agents of the current revision.
func (r *AgentRuntime) Abandon(ctx context.Context, state *backend.State) error {
	if state == nil {
		return nil
	}
	rev := r.registry.Acquire()
	defer rev.Release()
	return abortTasks(ctx, rev, PeerTasks(state))
}

// abortTasks ends turns at peers concurrently.
func abortTasks(ctx context.Context, rev *registry.Revision, states []*backend.State) error {
	errs := make([]error, len(states))
	var aborting sync.WaitGroup
	for i, state := range states {
		aborting.Go(func() { errs[i] = abortTask(ctx, rev, state) })
	}
	aborting.Wait()
	return errors.Join(errs...)
}

// abortTask ends one turn at a peer.
func abortTask(ctx context.Context, rev *registry.Revision, state *backend.State) (err error) {
	defer panics.Recover(&err)
	plan, err := resolve.Resolve(ctx, rev, state.Agent, resolve.Options{})
	if err != nil {
		return err
	}
	if a, ok := plan.Remote.(backend.Aborter); ok {
		return a.Abort(ctx, state)
	}
	return nil
}

// PeerTasks returns the states of the turns at peers that a turn, or one of its
// delegates, waits for. Abandon ends these.
func PeerTasks(state *backend.State) []*backend.State {
	if state.Remote != nil {
		return []*backend.State{state}
	}
	var found []*backend.State
	if len(state.Hosted) > 0 {
		found = append(found, state)
	}
	for i := range state.Calls {
		found = append(found, delegateAtPeer(state.Calls[i].Resume)...)
	}
	for i := range state.Journal {
		if e := &state.Journal[i]; e.Outcome == "" {
			found = append(found, delegateAtPeer(e.Resume)...)
		}
	}
	return found
}

// delegateAtPeer is PeerTasks for the resume state of a call, if the call is a delegate.
func delegateAtPeer(resume json.RawMessage) []*backend.State {
	var waiting suspendedDelegate
	if len(resume) == 0 || json.Unmarshal(resume, &waiting) != nil || waiting.State == nil {
		return nil
	}
	return PeerTasks(waiting.State)
}

// abandonDelegates ends the delegates that wait at peers for a turn that has ended. It takes no
// longer than the rest of the turn's patience, but at least a second: a slow task must not prevent
// a responsive peer from being notified.
func (h *host) abandonDelegates(ctx context.Context) {
	if states := h.delegates.takeAll(); len(states) > 0 {
		h.abandonTasks(ctx, states)
	}
}

// abandonTasks ends turns at peers for a turn that has ended. Failures are logged.
func (h *host) abandonTasks(ctx context.Context, states []*backend.State) {
	limit := patience
	if !h.overdue.IsZero() {
		limit = max(time.Until(h.overdue), time.Second)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := abortTasks(ctx, h.revision, states); err != nil {
		telemetry.Logger(ctx, h.runtime.logger).Warn("abort of remote task failed",
			zap.String("agent", h.agent), zap.Error(err))
	}
}

// isSuspended reports whether a turn waits for answers.
func isSuspended(res *backend.Result) bool {
	return res != nil && res.Termination.Type == event.Suspended && res.State != nil
}
