package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
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
	// trace is the trace that the turn was asked for in.
	trace http.Header
	// stop ends the context that the turn runs under.
	stop context.CancelCauseFunc
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
	if err := w.run(ctx); err != nil && !errors.As(err, new(*store.FencedError)) {
		s.complain(ctx, "the work on a turn broke off; it is taken up again", err, zap.String("turn_id", turnID), zap.String("session_id", w.turn.SessionID))
	}
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
	conversation, err := w.conversation(ctx)
	if err != nil {
		return w.giveUp(ctx, err)
	}
	req, err := w.request(conversation)
	if err != nil {
		return w.fail(ctx, event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: err.Error()})
	}
	if w.service.StateTransform != nil {
		req.ShowCustom = func(custom json.RawMessage) (json.RawMessage, error) {
			return w.service.shownCustom(ctx, w.turn.ID, custom)
		}
	}
	rt := w.service.Runtime
	h, err := rt.prepare(ctx, rt.registry.Current(), req, w.log, nil)
	if err != nil && ctx.Err() != nil {
		return w.giveUp(ctx, err)
	}
	if err != nil {
		return w.fail(ctx, event.Termination{Type: event.Failed, Code: CodeUnresolved, Detail: err.Error()})
	}
	h.job.Answered = true
	w.log.keep = h.session
	ctx, span := h.observe(telemetry.Extract(ctx, w.trace))
	begun := time.Now()
	res, err := h.execute(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLost), errors.Is(cause, errEnded), w.log.broken() != nil:
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

// request returns what the runtime is asked for: the turn from its beginning, or
// from where its state says.
func (w *worker) request(conversation [][]byte) (*Request, error) {
	s, c := w.service, w.claimed
	var asked turnRequest
	if err := json.Unmarshal(w.turn.Request, &asked); err != nil {
		return nil, fmt.Errorf("read what the turn was asked for: %w", err)
	}
	own, err := decodeMessages(c.Messages)
	if err != nil {
		return nil, err
	}
	w.trace = asked.Trace
	if asked.Input > len(own) {
		return nil, fmt.Errorf("the turn has %d messages, but an input of %d", len(own), asked.Input)
	}
	req := &Request{
		AgentID: w.turn.AgentID, TurnID: w.turn.ID, SessionID: w.turn.SessionID, Input: own[:asked.Input],
		Params: asked.Params, Overrides: asked.Overrides, Depth: asked.Depth, Checkpoint: w.checkpoint,
		Journal: w.log, Indeterminate: s.Indeterminate,
		SnapshotID: w.turn.SnapshotID, ParentSnapshotID: w.turn.ParentSnapshotID,
	}
	if err := w.history(req, conversation); err != nil {
		return nil, err
	}
	w.log.messages = len(own) - asked.Input
	if len(c.State) == 0 {
		return req, nil
	}
	if req.State, err = restored(c, own[asked.Input:]); err != nil {
		return nil, err
	}
	w.log.inDoubt = inDoubt(req.State)
	req.Resolutions, err = answers(req.State, c.Interactions)
	return req, err
}

// conversation reads what was said in the session before the turn.
func (w *worker) conversation(ctx context.Context) ([][]byte, error) {
	if w.claimed.Snapshot == nil {
		return nil, nil
	}
	return w.service.Store.Conversation(ctx, w.claimed.Snapshot.ID)
}

// history gives the request what the session has come to.
func (w *worker) history(req *Request, conversation [][]byte) (err error) {
	kept := w.claimed.Snapshot
	if kept == nil {
		return nil
	}
	if req.History, err = decodeMessages(conversation); err != nil {
		return err
	}
	req.Custom = kept.Custom
	if len(kept.State) > 0 {
		if err := json.Unmarshal(kept.State, &req.Session); err != nil {
			return fmt.Errorf("read the state of session %s: %w", w.turn.SessionID, err)
		}
	}
	if len(kept.Artifacts) > 0 {
		if err := json.Unmarshal(kept.Artifacts, &req.Artifacts); err != nil {
			return fmt.Errorf("read the artifacts of session %s: %w", w.turn.SessionID, err)
		}
	}
	return nil
}

// restored returns the state that was committed last, with what was recorded
// since.
func restored(c *store.Claimed, added []model.Message) (*backend.State, error) {
	state := new(backend.State)
	if err := json.Unmarshal(c.State, state); err != nil {
		return nil, fmt.Errorf("read the state of the turn: %w", err)
	}
	state.Messages = added
	entries := make([]backend.JournalEntry, len(c.Journal))
	state.Journal = make([]backend.JournalEntry, len(c.Journal))
	for i := range c.Journal {
		if err := json.Unmarshal(c.Journal[i].Entry, &entries[i]); err != nil {
			return nil, fmt.Errorf("read the journal of the turn: %w", err)
		}
		state.Journal[i] = entries[i]
		state.Journal[i].After = nil
	}
	for i := range c.Journal {
		var result *model.ToolResult
		if len(c.Journal[i].Result) > 0 {
			result = new(model.ToolResult)
			if err := json.Unmarshal(c.Journal[i].Result, result); err != nil {
				return nil, fmt.Errorf("read the journal of the turn: %w", err)
			}
		}
		state.Record(entries[i], result)
	}
	return state, nil
}

// inDoubt returns the keys of the calls that the state has as begun and without an
// outcome. A journal may also have calls of a step of which nothing else was
// kept: those begin anew.
func inDoubt(state *backend.State) map[string]bool {
	open := make(map[string]bool)
	for i := range state.Calls {
		c := &state.Calls[i]
		open[c.ID] = c.Decided && c.Outcome == "" && c.Result == nil
	}
	keys := make(map[string]bool)
	for i := range state.Journal {
		if e := &state.Journal[i]; e.Outcome == "" && e.Step == state.Stats.Steps && open[e.CallID] {
			keys[e.IdempotencyKey] = true
		}
	}
	return keys
}

// answers returns the answers that the state does not have yet.
func answers(state *backend.State, interactions []*store.Interaction) ([]plugins.Resolution, error) {
	open := make(map[string]bool)
	for _, t := range state.Tickets() {
		open[t.ID] = true
	}
	var list []plugins.Resolution
	for _, i := range interactions {
		if !open[i.ID] || i.State != store.InteractionResolved {
			continue
		}
		var r plugins.Resolution
		if err := json.Unmarshal(i.Resolution, &r); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %s: %w", i.ID, err)
		}
		list = append(list, r)
	}
	return list, nil
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

// fail ends a turn that cannot be run.
func (w *worker) fail(ctx context.Context, why event.Termination) error {
	result, err := json.Marshal(TurnOutcome{Termination: why})
	if err != nil {
		return err
	}
	w.log.replaceLast(&event.RunFinish{Status: why.Status(), Termination: why})
	w.service.Logger.Warn("turn failed", zap.String("turn_id", w.turn.ID), zap.String("session_id", w.turn.SessionID), zap.String("agent", w.turn.AgentID),
		zap.String("code", why.Code), zap.String("detail", why.Detail))
	return w.log.end(ctx, ending{status: store.Failed, result: result})
}
