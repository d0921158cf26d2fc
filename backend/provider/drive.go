package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// drive runs one turn at a provider, like a model. It belongs to the goroutine of Execute, except
// the parts that questions use.
type drive struct {
	hosted *hosted
	job    *backend.Job
	host   backend.Host
	env    backend.ExecutionEnv

	at    position
	began time.Time
	// last is the state that was kept last.
	last *backend.State
	// met is set once this drive has seen the turn at the provider.
	met bool
	// unkept is set if a state could not be stored: another worker may have taken over.
	unkept bool

	process process
	calls   *hostservice.CallQueue
	// creation creates the turn at the provider; nil once that is settled.
	creation *creation
	// known are the calls of the provider's turn, by id.
	known map[string]bool
	said  saying
	asked map[string]int // how often each interaction was asked
}

// loopJob returns the job for the local loop.
func (d *drive) loopJob() *backend.Job {
	job := *d.job
	job.Local = &d.env
	if d.job.Checkpoint != nil {
		job.Checkpoint = d.keepState
	}
	return &job
}

// loopHost returns the host for the local loop.
func (d *drive) loopHost() backend.Host {
	if j, ok := d.host.(backend.Journaler); ok {
		return &journalingHost{d.host, j, d}
	}
	return d.host
}

// journalingHost adds the position of the provider's turn to the states that it stores.
type journalingHost struct {
	backend.Host
	backend.Journaler
	drive *drive
}

// Begin keeps the state of the turn before tool calls.
func (h *journalingHost) Begin(ctx context.Context, state *backend.State) error {
	h.drive.completeState(state)
	err := h.Journaler.Begin(ctx, state)
	h.drive.unkept = h.drive.unkept || err != nil
	return err
}

// completeState adds the progress of the provider's turn to a state.
func (d *drive) completeState(state *backend.State) {
	at := d.at
	at.Left = max(at.Left-time.Since(d.began), time.Second)
	state.Hosted = encodeRecord(&at)
}

// keepState stores a state, if the job has a checkpoint.
func (d *drive) keepState(ctx context.Context, state *backend.State) error {
	if d.job.Checkpoint == nil || ctx.Err() != nil {
		return nil
	}
	d.completeState(state)
	err := d.job.Checkpoint(ctx, state)
	if err != nil && !errors.Is(err, backend.ErrYield) {
		d.unkept = true
	}
	d.last = state
	return err
}

// keepPosition stores the state after the last step, with the provider's turn that is about to
// start.
func (d *drive) keepPosition(ctx context.Context) error {
	state := &backend.State{Version: backend.StateVersion, Agent: d.job.Agent.ID, Budgets: d.job.Meter.Budgets(), Spent: d.job.Meter.Spent()}
	if d.last != nil {
		state = new(*d.last)
	} else if d.job.Local.Output != nil {
		state.Output = d.job.Local.Output.Spec
	}
	return d.keepState(ctx, state)
}

// attach acquires a process for the turn if it has none.
func (d *drive) attach(ctx context.Context) error {
	if d.process.current() != nil {
		return nil
	}
	lease, err := d.hosted.provider.acquire(ctx, d.at.SessionID, false)
	if err != nil {
		if ended := backend.Ended(ctx); ended != nil {
			return ended
		}
		return &TurnError{Code: CodeUnavailable, Detail: fmt.Sprintf("agent provider %q cannot be used: %v", d.at.Provider, err), Err: err}
	}
	d.process.use(lease)
	return nil
}

// releaseProcess gives the process back.
func (d *drive) releaseProcess() { d.process.use(nil) }

// needs returns the turn's requirements on the provider. A delegate has a separate session,
// without a requested workspace.
func (d *drive) needs(req *model.Request) needs {
	return needs{form: req.Output != nil, tools: usesTools(d.job.Agent), workspace: d.job.Workspace != nil && d.job.Depth == 0}
}

// preparedWorkspace returns the session's workspace for the provider, which runs on this machine;
// nil if absent or the provider does not use one.
func (d *drive) preparedWorkspace() (*providerproto.PreparedAgentWorkspace, error) {
	w := d.job.Workspace
	if w == nil || !d.process.current().Capabilities.GetSupportsPreparedWorkspace() {
		return nil, nil //nolint:nilnil // none is handed over
	}
	root, err := w.Resolve(".")
	if err != nil {
		return nil, err
	}
	cwd, err := w.Directory()
	return &providerproto.PreparedAgentWorkspace{Root: root, Cwd: cwd}, err
}

// explainError returns why a call to the provider failed: the end of the turn's context,
// if that is the cause.
func (d *drive) explainError(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	if _, ok := errors.AsType[*TurnError](err); ok {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if d.lostBy(ctx, err) {
		return d.loseTurn(err)
	}
	return &TurnError{Code: CodeRefused, Detail: fmt.Sprintf("agent provider %q could not %s: %s: %s", d.at.Provider, what, s.Code(), s.Message()), Err: err}
}

// loseTurn returns the error for a lost turn. A provider that keeps its turns never received it;
// otherwise this is uncertain, and the turn must not be started again.
func (d *drive) loseTurn(err error) error {
	d.at.Live = false
	return &TurnError{Code: CodeLost, Detail: fmt.Sprintf("the turn was lost with the process of agent provider %q", d.at.Provider), Err: err}
}

// lossPatience is the maximum time until a process's end is noticed.
const lossPatience = 2 * time.Second

// lostBy reports whether the turn's process has ended, given the error of a call to it. A
// connection may break before the end of the process is noticed.
func (d *drive) lostBy(ctx context.Context, err error) bool {
	if status.Code(err) != codes.Unavailable || d.isLost() {
		return d.isLost()
	}
	timer := time.NewTimer(lossPatience)
	defer timer.Stop()
	select {
	case <-d.process.current().Lost():
	case <-timer.C:
	case <-ctx.Done():
	}
	return d.isLost()
}

// isLost reports whether the turn's process has ended.
func (d *drive) isLost() bool {
	p := d.process.current()
	if p == nil {
		return true
	}
	select {
	case <-p.Lost():
		return true
	default:
		return false
	}
}
