package agents

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/backend"
)

// ownedConnection is a conversation with a custom snapshot store.
type ownedConnection struct {
	agent  *owned
	memory *memory
	// parent is the snapshot that the next turn continues from. Unless pinned, it is the session's
	// last good one when the turn runs.
	parent string
	pinned bool
}

// SessionID returns the id of the session.
func (c *ownedConnection) SessionID() string { return c.memory.id }

// Begin begins the next turn.
func (c *ownedConnection) Begin(ctx context.Context, input *wire.Input) (Run, error) {
	r := &ownedRun{connection: c, id: c.agent.set.newID(), asked: input, clientRun: clientRun{agent: &c.agent.client, memory: c.memory}}
	r.snapshotID, r.parentID = r.id, c.parent
	if problem := r.prepare(ctx, input); problem != nil {
		return settledRun{r.failed(problem)}, nil
	}
	if !input.Detach {
		return r, nil
	}
	output, err := c.detach(ctx, r)
	if err != nil {
		return nil, err
	}
	return settledRun{output}, nil
}

// errOvertaken reports a turn that was not waited for until another turn of its session had ended.
var errOvertaken = newError(wire.StatusAborted, "another turn of the session ended first: the snapshot of this one is not stored")

// DetachRun moves a turn that is not running yet to the background.
func (c *ownedConnection) DetachRun(ctx context.Context, run Run) (*wire.Output, error) {
	r, ok := run.(*ownedRun)
	if !ok || r.begun {
		return nil, newError(wire.StatusFailedPrecondition, "the turn runs while its chunks are read: detach it before")
	}
	return c.detach(ctx, r)
}

// ownedRun is a turn with a custom snapshot store.
type ownedRun struct {
	clientRun
	connection *ownedConnection
	id         string
	// asked is the input, and release is set while the turn has its session.
	asked   *wire.Input
	release func()
	saved   bool
}

// SnapshotID returns the id that is reserved for the snapshot.
func (r *ownedRun) SnapshotID() string { return r.id }

// failed returns the output of a turn that failed.
func (r *ownedRun) failed(problem *wire.Error) *wire.Output {
	return &wire.Output{SessionID: r.memory.id, SnapshotID: r.parentID, FinishReason: wire.FinishFailed, Error: problem}
}

// Output runs the turn, unless it already ran, and saves its snapshot.
func (r *ownedRun) Output(ctx context.Context) (*wire.Output, error) {
	if r.saved {
		return r.output, r.err
	}
	if r.begun {
		if err := r.news.waitDone(ctx); err != nil { // it continues without its reader
			return nil, err
		}
	}
	ctx = r.connection.agent.withCaller(ctx)
	if err := r.holdSession(ctx); err != nil {
		return r.refuse(err)
	}
	defer r.freeSession()
	before := *r.memory
	output, err := r.clientRun.Output(ctx)
	if err != nil {
		return nil, err
	}
	r.saved = true
	if r.output = r.save(ctx, output); r.output.FinishReason == wire.FinishFailed {
		*r.memory = before
	}
	return r.output, r.err
}

// refuse ends a turn that could not acquire its session. The output holds what clients may see.
func (r *ownedRun) refuse(err error) (*wire.Output, error) {
	problem, shown := errors.AsType[*wire.Error](err)
	if !shown {
		return nil, err
	}
	r.begun, r.saved, r.output = true, true, r.failed(problem)
	return r.output, nil
}

// Chunks runs the turn, keeps its snapshot, and returns its chunks.
func (r *ownedRun) Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		if !r.begun {
			if err := r.holdSession(r.connection.agent.withCaller(ctx)); err != nil {
				if output, err := r.refuse(err); err != nil {
					yield(nil, err)
				} else {
					yield(&wire.Chunk{TurnEnd: turnEnd(output)}, nil)
				}
				return
			}
			defer r.freeSession()
		}
		for chunk, err := range r.clientRun.Chunks(ctx) {
			if err != nil || chunk.TurnEnd == nil {
				if !yield(chunk, err) || err != nil {
					return
				}
				continue
			}
			output, err := r.Output(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			yield(&wire.Chunk{TurnEnd: turnEnd(output)}, nil)
		}
	}
}

// save stores the snapshot of a turn that ended or is interrupted. A turn whose snapshot cannot be
// stored fails.
func (r *ownedRun) save(ctx context.Context, output *wire.Output) *wire.Output {
	if output.Error != nil {
		return r.failed(output.Error)
	}
	state, err := r.memory.state(r.agent.set.box, r.agent.name)
	if err != nil {
		return r.failed(shownError(err))
	}
	now := time.Now().UTC()
	_, err = r.connection.agent.store.SaveSnapshot(ctx, r.id, func(existing *wire.Snapshot) (*wire.Snapshot, error) {
		row := &wire.Snapshot{SessionID: r.memory.id, ParentID: r.parentID, CreatedAt: now, UpdatedAt: now, Status: wire.SnapshotCompleted, FinishReason: output.FinishReason, State: state}
		if existing != nil {
			row.CreatedAt = existing.CreatedAt
		}
		return row, nil
	})
	if err != nil {
		return r.failed(&wire.Error{Status: wire.StatusUnavailable, Message: "the snapshot of the turn could not be kept"})
	}
	r.connection.parent, r.connection.pinned = r.id, false
	kept := *output
	kept.State, kept.SnapshotID = nil, r.id
	return &kept
}

// detach moves a turn to the background.
func (c *ownedConnection) detach(ctx context.Context, r *ownedRun) (*wire.Output, error) {
	ctx = c.agent.withCaller(ctx)
	watcher, ok := c.agent.store.(SnapshotWatcher)
	if !ok {
		return r.failed(newError(wire.StatusFailedPrecondition, "agent %q cannot detach: its store does not report changes", c.agent.name)), nil
	}
	if err := r.holdSession(ctx); err != nil {
		return r.refuse(err)
	}
	defer r.freeSession()
	now := time.Now().UTC()
	_, err := c.agent.store.SaveSnapshot(ctx, r.id, func(*wire.Snapshot) (*wire.Snapshot, error) {
		return &wire.Snapshot{SessionID: c.memory.id, ParentID: r.parentID, CreatedAt: now, UpdatedAt: now, HeartbeatAt: now, Status: wire.SnapshotPending}, nil
	})
	if err != nil {
		return nil, err
	}
	later := *c.memory
	c.memory = &later // the turn changes its own memory
	if !c.agent.set.background.begin(func(until context.Context) {
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		defer context.AfterFunc(until, func() { cancel(errClosed) })()
		r.runDetached(ctx, cancel, watcher)
	}) {
		return nil, errClosed
	}
	return &wire.Output{SessionID: c.memory.id, SnapshotID: r.id, FinishReason: wire.FinishDetached}, nil
}

// runDetached runs a detached turn and stores its result.
func (r *ownedRun) runDetached(ctx context.Context, cancel context.CancelCauseFunc, watcher SnapshotWatcher) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { // ends with the turn
		defer close(ended)
		r.attend(ctx, cancel, watcher, done)
	}()
	output, err := r.clientRun.Output(ctx)
	close(done)
	<-ended
	if errors.Is(context.Cause(ctx), errClosed) {
		return // it expires
	}
	r.finalize(context.WithoutCancel(ctx), output, err)
}

// attend sends heartbeats for a detached turn and stops it when it is aborted.
func (r *ownedRun) attend(ctx context.Context, cancel context.CancelCauseFunc, watcher SnapshotWatcher, done <-chan struct{}) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := watcher.WatchStatus(watching, r.id)
	if err != nil {
		changes = nil // the turn continues; a late abort is found at its end
	}
	beat := time.NewTicker(r.agent.definition.heartbeat.Interval)
	defer beat.Stop()
	for {
		select {
		case <-done:
			return
		case status, ok := <-changes:
			switch {
			case !ok:
				changes = nil
			case status != wire.SnapshotPending:
				cancel(errStopped)
			}
		case <-beat.C:
			_, _ = r.connection.agent.store.SaveSnapshot(ctx, r.id, func(existing *wire.Snapshot) (*wire.Snapshot, error) {
				if existing == nil || existing.Status != wire.SnapshotPending {
					return nil, nil //nolint:nilnil // it has ended
				}
				existing.HeartbeatAt = time.Now().UTC()
				return existing, nil
			}) // the next heartbeat makes up for a missed one
		}
	}
}

// finalize stores the result of a detached turn. An aborted turn stays aborted and keeps the
// earlier conversation.
func (r *ownedRun) finalize(ctx context.Context, output *wire.Output, err error) {
	state, _ := r.memory.state(r.agent.set.box, r.agent.name)
	_, _ = r.connection.agent.store.SaveSnapshot(ctx, r.id, func(existing *wire.Snapshot) (*wire.Snapshot, error) {
		if existing == nil {
			return nil, nil //nolint:nilnil // it was deleted
		}
		existing.UpdatedAt, existing.HeartbeatAt = time.Now().UTC(), time.Time{}
		existing.State = state
		switch {
		case existing.Status == wire.SnapshotAborted:
			existing.FinishReason = wire.FinishAborted
		case err != nil:
			existing.Status, existing.FinishReason, existing.Error = wire.SnapshotFailed, wire.FinishFailed, shownError(err)
		case output.Error != nil:
			existing.Status, existing.FinishReason, existing.Error = wire.SnapshotFailed, wire.FinishFailed, output.Error
		default:
			existing.Status, existing.FinishReason = wire.SnapshotCompleted, output.FinishReason
		}
		return existing, nil
	}) // without it the snapshot expires
}

// followedRow is the run of a detached turn.
type followedRow struct {
	agent *owned
	row   *wire.Snapshot
}

// SnapshotID returns the id of the snapshot.
func (r *followedRow) SnapshotID() string { return r.row.SnapshotID }

// StreamID returns the snapshot's id.
func (r *followedRow) StreamID() string { return r.row.SnapshotID }

// Chunks returns the end of the turn.
func (r *followedRow) Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		output, err := r.Output(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(&wire.Chunk{TurnEnd: turnEnd(output)}, nil)
	}
}

// Output returns the turn's output.
func (r *followedRow) Output(ctx context.Context) (*wire.Output, error) {
	row, err := r.agent.WaitForSnapshot(ctx, &wire.GetSnapshotRequest{SnapshotID: r.row.SnapshotID})
	if err != nil {
		return nil, err
	}
	output := &wire.Output{SessionID: row.SessionID, SnapshotID: row.SnapshotID, FinishReason: row.FinishReason, Error: row.Error}
	if row.Status != wire.SnapshotCompleted {
		output.SnapshotID = row.ParentID
		return output, nil
	}
	if row.State != nil {
		output.Artifacts = row.State.Artifacts
		for i := len(row.State.Messages) - 1; i >= 0 && output.Message == nil; i-- {
			if row.State.Messages[i].Role == wire.RoleModel {
				output.Message = &row.State.Messages[i]
			}
		}
	}
	return output, nil
}

// holdSession waits for the session, and continues at its end, since another turn may have ended
// in the meantime. The error is a *wire.Error.
func (r *ownedRun) holdSession(ctx context.Context) error {
	if r.release != nil {
		return nil
	}
	c := r.connection
	release, err := c.agent.set.sessions.Acquire(ctx, sessionKey{c.agent.caller.Tenant, c.agent.name, c.memory.id})
	if err != nil {
		return backend.Ended(ctx)
	}
	if err := r.moveToEnd(ctx); err != nil {
		release()
		return err
	}
	r.release = release
	return nil
}

// moveToEnd makes the turn continue at the end of its session, unless it is pinned to a snapshot.
// It fails for a turn that already ran.
func (r *ownedRun) moveToEnd(ctx context.Context) error {
	c := r.connection
	if c.pinned {
		return nil
	}
	row, err := c.agent.latestGood(ctx, c.memory.id)
	if err != nil || row == nil || row.SnapshotID == r.parentID {
		return err
	}
	if r.begun {
		return errOvertaken
	}
	*c.memory = memory{id: c.memory.id}
	if err := c.load(row); err != nil {
		return err
	}
	r.parentID = c.parent
	if problem := r.prepare(ctx, r.asked); problem != nil {
		return problem
	}
	return nil
}

// freeSession releases the session for the next turn.
func (r *ownedRun) freeSession() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// load continues from a snapshot.
func (c *ownedConnection) load(row *wire.Snapshot) error {
	c.parent = row.SnapshotID
	if row.SessionID != "" {
		c.memory.id = row.SessionID
	}
	if row.State == nil {
		return nil
	}
	state := *row.State
	state.SessionID = c.memory.id
	return c.memory.load(&state, c.agent.set.box, c.agent.name)
}
