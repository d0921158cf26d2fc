package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/event"
)

var (
	_ backend.Backend = (*hosted)(nil)
	_ backend.Aborter = (*hosted)(nil)
)

// Profile returns the local loop's profile, because the loop runs the turn.
func (*hosted) Profile() backend.Profile { return backend.LocalProfile() }

// errDrained is the cause when a turn's context ends because its provider's shutdown stopped
// waiting for it.
var errDrained = errors.New("the provider is shut down")

// errTimeUp is the cause when a turn's context ends because its time is up.
var errTimeUp = errors.New("the turn at the provider took too long")

// Execute runs one turn on the local loop, with the provider instead of a model.
func (h *hosted) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	if job.Local == nil {
		return &backend.Result{}, fmt.Errorf("run agent %s: it has no local environment", job.Agent.ID)
	}
	d, err := newDrive(h, job, host)
	if err != nil {
		return &backend.Result{}, err
	}
	defer d.releaseProcess()
	ctx, cancel := context.WithTimeoutCause(ctx, d.at.Left, errTimeUp)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer context.AfterFunc(h.provider.host.EndOfTurns(), func() { end(errDrained) })()
	result, err := local.Backend{}.Execute(ctx, d.loopJob(), d.loopHost())
	if result != nil && result.State != nil {
		d.completeState(result.State)
	}
	if err != nil && context.Cause(ctx) == errDrained { //nolint:errorlint // as it was set
		err = &TurnError{Code: CodeDrained, Detail: fmt.Sprintf(
			"agent provider %q is shut down or was changed in the configuration, and the turn took longer than its drain_timeout", d.at.Provider)}
	}
	goesOn := errors.Is(err, backend.ErrYield) || backend.Released(ctx) ||
		err == nil && result.Termination.Type == event.Suspended || d.unkept && ctx.Err() == nil
	if !goesOn {
		d.endTurn(ctx, err)
	}
	if err == nil && !goesOn {
		result.Session = d.rememberSession(result.Session)
	}
	return result, err
}

// newDrive returns the turn of a job, from its start or its saved state.
func newDrive(h *hosted, job *backend.Job, host backend.Host) (*drive, error) {
	d := &drive{hosted: h, job: job, host: host, env: *job.Local, last: job.State, began: time.Now(), known: map[string]bool{}, asked: map[string]int{}}
	d.at = position{Version: positionVersion, Provider: h.provider.id, SessionID: sessionIDFor(job.SessionID, job.Agent.ID), Left: h.limit}
	if job.State != nil && len(job.State.Hosted) > 0 {
		at, err := decodePosition(job.State.Hosted)
		if err != nil {
			return nil, err
		}
		if at.Provider != h.provider.id {
			return nil, fmt.Errorf("continue the turn at agent provider %s: %w", at.Provider, errOtherProvider)
		}
		d.at = *at
	}
	d.env.Model, d.env.ModelID, d.env.Provider, d.env.Upstream = d, h.provider.id, h.provider.id, h.options.Model
	if job.State != nil {
		d.addQuestions() // one of them may wait
	}
	return d, d.checkBudgets()
}

// checkBudgets returns an error if the turn's budgets cannot be enforced: providers do not report
// their models' usage.
func (d *drive) checkBudgets() error {
	left := d.job.Meter.Left()
	if left == nil || left.MaxTokens == nil && left.MaxCost == nil {
		return nil
	}
	return &TurnError{Code: CodeUnmetered, Detail: fmt.Sprintf(
		"agent provider %q does not report usage, so a turn that is limited by max_tokens or max_cost cannot run there", d.at.Provider)}
}

// Abort ends the turn at the provider, after it was ended here.
func (h *hosted) Abort(ctx context.Context, state *backend.State) error {
	if state == nil || len(state.Hosted) == 0 {
		return nil
	}
	at, err := decodePosition(state.Hosted)
	if err != nil {
		return err
	}
	if at.Provider != h.provider.id {
		return fmt.Errorf("end the turn at agent provider %s: %w", at.Provider, errOtherProvider)
	}
	h.provider.host.service.CloseTurn(at.TurnID)
	defer h.provider.host.requests.endTurn(at.TurnID)
	if !at.Live {
		return nil
	}
	return h.provider.cancelTurn(ctx, at, "the turn was ended")
}
