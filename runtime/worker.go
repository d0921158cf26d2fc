package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/cenkalti/backoff/v4"
	"go.uber.org/zap"
)

// worker works on one turn that this process claimed.
type worker struct {
	service *Service
	turn    *store.Turn
	claimed *store.Claimed
	log     *recorder
	// asked is what the turn was asked for.
	asked turnRequest
	// stop ends the context that the turn runs under.
	stop context.CancelCauseFunc
	// losing tells that a heartbeat found the turn lost: the next ones leave it to
	// that one to stop the work, however slow the store is.
	losing atomic.Bool
	// checking keeps check from asking the store more than once at a time, and
	// more than twice a second.
	checking sync.Mutex
	checked  time.Time
}

// checkInterval is how often a worker asks for the state of its turn because
// something happened to it.
const checkInterval = time.Second / 2

var (
	// errEnded ends the work on a turn that was ended from outside.
	errEnded = errors.New("the turn was ended")
	// errLost ends the work on a turn that belongs to somebody else now.
	errLost = fmt.Errorf("the turn does not belong to this worker any more: %w", backend.ErrReleased)
	// errHandBack ends the work on a turn that somebody else goes on with.
	errHandBack = fmt.Errorf("the worker is stopped: %w", backend.ErrReleased)
)

// work claims a turn and works on it until it has ended, waits for a person, or
// is handed back. It is the handler of the dispatcher.
func (s *Service) work(ctx context.Context, turnID string) {
	if s.draining.Load() {
		// The job is for another process, or for this one when it is started again.
		if err := s.Dispatcher.Enqueue(ctx, nil, []store.Job{{TurnID: turnID}}); err != nil {
			s.complain(ctx, "a turn is not passed on", err, zap.String("turn_id", turnID))
		}
		return
	}
	claimed, err := s.claim(ctx, turnID)
	if err != nil {
		if !declined(err) {
			s.complain(ctx, "a turn cannot be claimed", err, zap.String("turn_id", turnID))
		}
		return
	}
	stopped := ctx
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(stopped, func() { stop(errHandBack) })()
	w := &worker{service: s, turn: &claimed.Turn, claimed: claimed, stop: stop}
	w.log = newRecorder(ctx, s, w.turn, w.lost)
	s.running.Lock()
	s.running.turns[turnID] = w
	s.running.Unlock()
	defer func() {
		s.running.Lock()
		if s.running.turns[turnID] == w { // it may have been claimed anew
			delete(s.running.turns, turnID)
		}
		s.running.Unlock()
	}()
	defer w.log.close()
	err = w.run(ctx)
	if errors.Is(err, store.ErrText) {
		err = w.failInvalidText(stopped, err)
	}
	if err != nil && !errors.As(err, new(*store.FencedError)) {
		s.complain(ctx, "the work on a turn broke off; it is taken up again", err, zap.String("turn_id", turnID), zap.String("session_id", w.turn.SessionID))
	}
}

// failInvalidText ends a turn of which a text cannot be stored. Another try would
// come to the same; what the turn was to commit last is lost.
func (w *worker) failInvalidText(ctx context.Context, cause error) error {
	s := w.service
	s.Logger.Warn("turn failed", zap.String("turn_id", w.turn.ID), zap.String("session_id", w.turn.SessionID), zap.String("agent", w.turn.AgentID),
		zap.String("code", CodeInvalidText), zap.Error(cause))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	_, err := s.end(ctx, Operator(), w.turn.ID, event.Termination{Type: event.Failed, Code: CodeInvalidText, Detail: store.ErrText.Error()})
	return err
}

// declined reports whether a turn is simply not there to be claimed.
func declined(err error) bool {
	return errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrNotFound) || errors.As(err, new(*store.StateError))
}

// claim claims a turn. A store that cannot be reached is asked again: the job
// would be lost otherwise.
func (s *Service) claim(ctx context.Context, turnID string) (*store.Claimed, error) {
	var claimed *store.Claimed
	again := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0)), ctx)
	err := backoff.Retry(func() (err error) {
		claimed, err = s.Store.Claim(ctx, &store.Claim{TurnID: turnID, Worker: s.Worker, Lease: s.Lease, Now: s.now()})
		if err != nil && declined(err) {
			return backoff.Permanent(err)
		}
		return err
	}, again)
	return claimed, err
}

// lost stops the work on a turn that was ended, or belongs to somebody else now:
// what runs elsewhere for the turn ends in the first case, and goes on in the
// other.
func (w *worker) lost() {
	ctx, cancel := context.WithTimeout(w.service.ctx, checkInterval)
	defer cancel()
	t, err := w.service.Store.Turn(ctx, store.Everything, w.turn.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !t.Status.Live() {
		w.stop(errEnded)
		return
	}
	w.stop(errLost)
}

// check stops the work if the turn was ended, or taken over.
func (w *worker) check() {
	if !w.checking.TryLock() {
		return
	}
	if time.Since(w.checked) < checkInterval { // the heartbeat will tell
		w.checking.Unlock()
		return
	}
	w.checked = time.Now()
	w.service.tasks.Go(func() {
		defer w.checking.Unlock()
		t, err := w.service.Store.Turn(w.service.ctx, store.Everything, w.turn.ID)
		switch {
		case err != nil:
		case !t.Status.Live():
			w.stop(errEnded)
		case t.Fence != w.turn.Fence || t.Status != store.Running:
			w.stop(errLost)
		}
	})
}

// run works on the turn.
func (w *worker) run(ctx context.Context) error {
	if w.turn.Strikes >= w.service.Strikes {
		return w.fail(ctx, event.Termination{Type: event.Failed, Code: CodePoison, Detail: fmt.Sprintf("%d workers died over it without getting ahead", w.turn.Strikes)})
	}
	if strikes := w.turn.Strikes; strikes > 0 && strikes == w.service.Strikes-1 {
		release, ok := w.service.isolate()
		if !ok {
			return w.log.end(ctx, ending{yield: true, due: w.service.now().Add(isolationPause)})
		}
		defer release()
		w.log.ahead = release
	}
	h, release, done, err := w.prepare(ctx)
	defer release()
	if done || err != nil {
		return err
	}
	ctx, span := h.observe(telemetry.Extract(ctx, w.asked.Trace))
	begun := time.Now()
	res, err := h.execute(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLost), errors.Is(cause, errEnded), w.log.broken() != nil:
		if errors.Is(cause, errEnded) {
			h.abandonDelegates(ctx)
		}
		observed(span, h.result(orEmpty(res)), cause)
		return w.log.broken()
	case yielded(res, err):
		out := h.result(res)
		observed(span, out, nil)
		return w.log.end(ctx, ending{state: out.State, yield: true})
	case err == nil && res != nil && res.Termination.Type == event.Suspended && res.State != nil:
		out := h.result(res)
		observed(span, out, nil)
		return w.log.end(ctx, ending{state: out.State, tickets: out.Tickets})
	case cause != nil && err != nil:
		observed(span, h.result(orEmpty(res)), errHandBack)
		return w.log.end(ctx, ending{yield: true})
	}
	out, err := h.finish(ctx, res, err, begun)
	observed(span, out, err)
	return w.finish(ctx, out)
}

// prepare returns the turn ready to be run, and what is called when the work on
// it is over. It is done when the turn cannot be run and was ended or handed back
// for that.
func (w *worker) prepare(ctx context.Context) (h *host, release func(), done bool, err error) {
	release = func() {}
	conversation, err := w.conversation(ctx)
	if err != nil {
		return nil, release, true, w.giveUp(ctx, err)
	}
	req, err := w.request(conversation)
	if err != nil {
		return nil, release, true, w.fail(ctx, event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: err.Error()})
	}
	if w.service.StateTransform != nil {
		req.ShowCustom = func(custom json.RawMessage) (json.RawMessage, error) {
			return w.service.shownCustom(ctx, w.turn.ID, custom)
		}
	}
	rt := w.service.Runtime
	if release, err = w.bring(ctx, req); err == nil {
		h, err = rt.prepare(ctx, rt.registry.Current(), req, w.log, nil)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, release, true, w.giveUp(ctx, err)
	case err != nil:
		return nil, release, true, w.fail(ctx, event.Termination{Type: event.Failed, Code: CodeUnresolved, Detail: err.Error()})
	}
	w.log.keep = h.session
	return h, release, false, nil
}

// isolationPause is how long a turn that has one death left waits for another
// one like it.
const isolationPause = time.Second

// isolate lets a process work on one turn at a time of those for which the next
// death would be the last, until it gets ahead. The deaths before may have been
// the fault of another turn beside it, which must not end both.
func (s *Service) isolate() (release func(), ok bool) {
	select {
	case s.isolated <- struct{}{}:
		return sync.OnceFunc(func() { <-s.isolated }), true
	default:
		return nil, false
	}
}

// giveUp ends the work on a turn that could not begin, for a reason that is not
// the turn's: the worker is to stop, or the store cannot be read.
func (w *worker) giveUp(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, errLost), errors.Is(cause, errEnded):
		return w.log.broken()
	default:
		return w.log.end(ctx, ending{yield: true})
	}
}

func orEmpty(res *backend.Result) *backend.Result {
	if res == nil {
		return new(backend.Result)
	}
	return res
}

// checkpoint keeps the turn as it is between two steps. A worker that is to stop
// does so there.
func (w *worker) checkpoint(ctx context.Context, state *backend.State) error {
	if w.service.draining.Load() {
		return backend.ErrYield
	}
	return w.log.step(ctx, state)
}

// finish keeps what the turn came to.
func (w *worker) finish(ctx context.Context, out *Result) error {
	outcome := TurnOutcome{
		Agent: out.Agent, Revision: out.Revision, Termination: out.Termination, Response: out.Response,
		FinishReason: out.FinishReason, Steps: out.Steps, Usage: event.Usage(out.Usage), Cost: out.Cost,
	}
	e := ending{status: statusOf(out.Termination), messages: out.Messages, steps: out.Steps}
	if e.status == store.Succeeded {
		snapshot, err := w.snapshot(out)
		if err != nil {
			return w.fail(ctx, event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: err.Error()})
		}
		e.snapshot, outcome.SnapshotID = snapshot, snapshot.ID
	}
	var err error
	if e.result, err = json.Marshal(outcome); err != nil {
		return err
	}
	return w.log.end(ctx, e)
}

// snapshot returns the state that the turn leaves the session in.
func (w *worker) snapshot(out *Result) (*store.Snapshot, error) {
	t := w.turn
	kept := &store.Snapshot{
		ID: t.SnapshotID, SessionID: t.SessionID, Owner: t.Owner, ParentID: t.ParentSnapshotID, TurnID: t.ID,
		FinishReason: string(out.FinishReason), Custom: out.Custom, CreatedAt: w.service.now(),
	}
	var err error
	if len(out.Session) > 0 {
		if kept.State, err = json.Marshal(out.Session); err != nil {
			return nil, fmt.Errorf("keep the state of the session: %w", err)
		}
	}
	var list []tools.Artifact
	if w.log.keep != nil {
		list = w.log.keep.Artifacts()
	}
	kept.Artifacts, err = manifestOf(list)
	return kept, err
}

// fail ends a turn that cannot be run, and what an earlier worker began for it at
// peers.
func (w *worker) fail(ctx context.Context, why event.Termination) error {
	result, err := json.Marshal(TurnOutcome{Termination: why})
	if err != nil {
		return err
	}
	w.log.replaceLast(&event.RunFinish{Status: why.Status(), Termination: why})
	w.service.Logger.Warn("turn failed", zap.String("turn_id", w.turn.ID), zap.String("session_id", w.turn.SessionID), zap.String("agent", w.turn.AgentID),
		zap.String("code", why.Code), zap.String("detail", why.Detail))
	left := w.service.leftAtPeers(ctx, w.turn.ID)
	if err := w.log.end(ctx, ending{status: store.Failed, result: result}); err != nil {
		return err
	}
	w.service.abort(w.turn.ID, left)
	return nil
}
