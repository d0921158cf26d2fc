package work

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Work claims a turn and runs it until it has ended, waits for a person, or is handed back. It is
// the handler of the dispatcher.
func (p *Pool) Work(ctx context.Context, turnID string) {
	if p.draining.Load() {
		// The job is for another process, or for this one after a restart.
		if err := p.settings.Queue.Enqueue(ctx, nil, []store.Job{{TurnID: turnID}}); err != nil {
			p.logError(ctx, "passing on turn failed", err, zap.String("turn_id", turnID))
		}
		return
	}
	if !p.beginClaim(ctx, turnID) {
		return
	}
	current, broken, err := p.acquireCurrent(ctx, turnID)
	if err == nil {
		defer current.Release()
	}
	held, claimed, err := p.claimAndHold(ctx, turnID, current, err)
	if err != nil {
		if !isDeclined(err) && ctx.Err() == nil { // ctx ends with the program
			p.logError(ctx, "claiming turn failed", err, zap.String("turn_id", turnID))
		}
		return
	}
	p.workOn(ctx, held, claimed, current, broken)
}

// claimAndHold completes beginClaim: it claims and holds the turn, unless failed says why that is
// impossible.
func (p *Pool) claimAndHold(ctx context.Context, turnID string, current *registry.Revision, failed error) (*heldTurn, *store.Claimed, error) {
	defer p.endClaim()
	if failed != nil {
		return nil, nil, failed
	}
	claimed, err := p.claimTurn(ctx, turnID, current)
	if err != nil {
		return nil, nil, err
	}
	return p.holdTurn(&claimed.Turn), claimed, nil
}

// workOn runs a claimed turn and releases it. current is the revision in which it begins, unless
// broken says why it cannot.
func (p *Pool) workOn(ctx context.Context, held *heldTurn, claimed *store.Claimed, current *registry.Revision, broken error) {
	defer p.releaseTurn(held)
	stopped := ctx
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(stopped, func() { stop(errHandBack) })()
	w := &worker{pool: p, turn: &claimed.Turn, claimed: claimed, current: current, currentErr: broken, stop: stop, checked: time.Now()}
	w.log = newRecorder(ctx, p, w.turn, w.stopLost)
	p.setWorker(held, w)
	defer w.log.close()
	err := w.runTurn(ctx)
	if errors.Is(err, store.ErrText) {
		err = w.failInvalidText(stopped, err)
	}
	if err != nil && !errors.As(err, new(*store.FencedError)) {
		p.logError(ctx, "turn interrupted; will be retried", err, zap.String("turn_id", w.turn.ID), zap.String("session_id", w.turn.SessionID))
	}
}

// failInvalidText ends a turn with a text that cannot be stored. A retry would fail again; the
// data of the last commit is lost.
func (w *worker) failInvalidText(ctx context.Context, cause error) error {
	w.logFailure(CodeInvalidText, zap.Error(cause))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	return w.pool.settings.End(ctx, w.turn.ID, event.Termination{Type: event.Failed, Code: CodeInvalidText, Detail: store.ErrText.Error()})
}

// claimTurn claims a turn. It retries while the store is unreachable: the job would otherwise be
// lost.
func (p *Pool) claimTurn(ctx context.Context, turnID string, current *registry.Revision) (*store.Claimed, error) {
	var claimed *store.Claimed
	err := retryUntilEnd(ctx, func() (err error) {
		if p.settings.Revisions != nil {
			if err := p.settings.Revisions.Record(ctx, current); err != nil {
				return err
			}
		}
		claimed, err = p.settings.Store.Claim(ctx, p.claimOf(turnID, current))
		return err
	}, isDeclined)
	return claimed, err
}

// claimOf returns this process's claim of a turn.
func (p *Pool) claimOf(turnID string, current *registry.Revision) *store.Claim {
	return &store.Claim{TurnID: turnID, Worker: p.settings.Worker, Lease: p.settings.Lease, Revision: current.Hash(), Now: p.now()}
}
