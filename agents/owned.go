package agents

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
)

// owned is an agent with a custom snapshot store. Its turns run in this process.
type owned struct {
	client
	store SnapshotStore
}

var _ Handle = (*owned)(nil)

type callerKey struct{}

// CallerFrom returns the caller of a SnapshotStore method, or false in any other context. A store
// that serves several tenants uses it to separate their snapshots.
func CallerFrom(ctx context.Context) (service.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(service.Caller)
	return caller, ok
}

func (a *owned) withCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, a.caller)
}

// Metadata describes the agent.
func (a *owned) Metadata() wire.Metadata { return a.definition.metadata() }

// Begin begins a turn.
func (a *owned) Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error) {
	return connectAndBegin(ctx, a, init, input)
}

// Detach starts a turn in the background, with the options of stored turns.
func (a *owned) Detach(ctx context.Context, init *wire.Init, input *wire.Input, o DetachOptions) (*wire.Output, error) {
	if !o.NotBefore.IsZero() || len(o.Metadata) > 0 {
		return nil, newError(wire.StatusUnimplemented, "agent %q keeps its own snapshots: a detached turn begins at once and has no metadata", a.name)
	}
	if !o.Deadline.IsZero() {
		return nil, newError(wire.StatusUnimplemented, "agent %q keeps its own snapshots: a detached turn has no deadline", a.name)
	}
	return beginDetached(ctx, a, init, input)
}

// Connect opens a conversation.
func (a *owned) Connect(ctx context.Context, init *wire.Init) (Connection, error) {
	ctx = a.withCaller(ctx)
	c := &ownedConnection{agent: a, memory: &memory{id: a.set.newID()}}
	var row *wire.Snapshot
	var err error
	switch {
	case init.State != nil && (init.SessionID != "" || init.SnapshotID != ""):
		return nil, newError(wire.StatusInvalidArgument, "init: state excludes sessionId and snapshotId")
	case init.State != nil:
		return nil, newError(wire.StatusFailedPrecondition, "Cannot send 'state' to agent %q: the server keeps its state; continue by sessionId or snapshotId", a.name)
	case init.SnapshotID != "":
		c.pinned = true
		row, err = a.openRow(ctx, init)
	case init.SessionID != "":
		c.memory.id = init.SessionID
		row, err = a.latestGood(ctx, init.SessionID)
	}
	if err == nil {
		err = c.memory.beginCode(ctx, a.definition)
	}
	if err != nil || row == nil {
		return c, err
	}
	return c, c.load(row)
}

// openRow returns the snapshot that an init names, if a turn can continue from it.
func (a *owned) openRow(ctx context.Context, init *wire.Init) (*wire.Snapshot, error) {
	row, err := a.readRow(ctx, init.SnapshotID)
	if err != nil {
		return nil, err
	}
	if init.SessionID != "" && row.SessionID != init.SessionID {
		return nil, newError(wire.StatusInvalidArgument, "init: snapshot %q does not belong to session %q", init.SnapshotID, init.SessionID)
	}
	if row.Status != wire.SnapshotCompleted {
		return nil, newError(wire.StatusFailedPrecondition, "a snapshot that is %s cannot be continued: continue by sessionId", row.Status)
	}
	return row, nil
}

// readRow returns a snapshot with its current status.
func (a *owned) readRow(ctx context.Context, id string) (*wire.Snapshot, error) {
	row, err := a.store.GetSnapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, notFound("snapshot", id)
	}
	a.setExpired(row)
	return row, nil
}

// setExpired marks a pending snapshot as expired if its worker died.
func (a *owned) setExpired(row *wire.Snapshot) {
	if row.Status == "" {
		row.Status = wire.SnapshotCompleted
	}
	if row.Status == wire.SnapshotPending && !row.HeartbeatAt.IsZero() && time.Since(row.HeartbeatAt) > a.definition.heartbeat.Expiry {
		row.Status = wire.SnapshotExpired
	}
}

// latestGood returns the last completed snapshot of a session, or nil. Failed, aborted and expired
// snapshots are skipped.
func (a *owned) latestGood(ctx context.Context, sessionID string) (*wire.Snapshot, error) {
	row, err := a.store.GetLatestSnapshot(ctx, sessionID)
	for err == nil && row != nil {
		if row.SessionID != sessionID {
			return nil, newError(wire.StatusInternal, "the store has a snapshot of another session")
		}
		a.setExpired(row)
		switch {
		case row.Status == wire.SnapshotCompleted:
			return row, nil
		case row.Status == wire.SnapshotPending:
			return nil, newError(wire.StatusFailedPrecondition, "a detached turn of the session still runs: wait for snapshot %q, or abort it", row.SnapshotID)
		case row.ParentID == "":
			return nil, nil //nolint:nilnil // it begins under that id
		}
		row, err = a.store.GetSnapshot(ctx, row.ParentID)
	}
	return nil, err
}

// GetSnapshot returns a snapshot.
func (a *owned) GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	row, err := a.findRow(a.withCaller(ctx), request)
	if err != nil {
		return nil, err
	}
	if row.State != nil {
		row.State, err = a.definition.shownState(ctx, row.State)
		if row.State != nil {
			row.State.SessionID = row.SessionID
		}
	}
	return row, err
}

// findRow returns the requested snapshot.
func (a *owned) findRow(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	if request.SnapshotID != "" {
		row, err := a.readRow(ctx, request.SnapshotID)
		if err == nil && request.SessionID != "" && row.SessionID != request.SessionID {
			err = newError(wire.StatusInvalidArgument, "the snapshot does not belong to session %q", request.SessionID)
		}
		return row, err
	}
	row, err := a.store.GetLatestSnapshot(ctx, request.SessionID)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, notFound("session", request.SessionID)
	}
	a.setExpired(row)
	return row, nil
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (a *owned) WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	row, err := a.findRow(a.withCaller(ctx), request)
	if err != nil {
		return nil, err
	}
	if err := a.awaitRow(a.withCaller(ctx), row); err != nil {
		return nil, err
	}
	return a.GetSnapshot(ctx, &wire.GetSnapshotRequest{SnapshotID: row.SnapshotID})
}

// awaitRow waits until a snapshot is no longer pending, or expires.
func (a *owned) awaitRow(ctx context.Context, row *wire.Snapshot) error {
	if row.Status != wire.SnapshotPending {
		return nil
	}
	watcher, ok := a.store.(SnapshotWatcher)
	if !ok {
		return newError(wire.StatusFailedPrecondition, "the store of agent %q does not report changes", a.name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := watcher.WatchStatus(ctx, row.SnapshotID)
	if err != nil {
		return err
	}
	again := time.NewTicker(a.definition.heartbeat.Interval)
	defer again.Stop()
	for {
		select {
		case status, ok := <-changes:
			if !ok || status != wire.SnapshotPending {
				return context.Cause(ctx)
			}
		case <-again.C:
			if now, err := a.readRow(ctx, row.SnapshotID); err != nil || now.Status != wire.SnapshotPending {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Abort marks a pending snapshot as aborted. The process that runs its turn stops it.
func (a *owned) Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error) {
	ctx = a.withCaller(ctx)
	row, err := a.store.GetSnapshot(ctx, request.SnapshotID)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, notFound("snapshot", request.SnapshotID)
	}
	status := row.Status
	saved, err := a.store.SaveSnapshot(ctx, request.SnapshotID, func(existing *wire.Snapshot) (*wire.Snapshot, error) {
		if existing == nil || existing.Status != wire.SnapshotPending {
			return nil, nil //nolint:nilnil // it has ended
		}
		existing.Status, existing.UpdatedAt = wire.SnapshotAborted, time.Now().UTC()
		return existing, nil
	})
	if err != nil {
		return nil, err
	}
	if saved != nil {
		status = saved.Status
	}
	return &wire.AbortResponse{SnapshotID: request.SnapshotID, Status: status}, nil
}

// Follow returns the run of a detached turn. Such turns have no chunks.
func (a *owned) Follow(ctx context.Context, snapshotID string) (Run, error) {
	row, err := a.readRow(a.withCaller(ctx), snapshotID)
	if err != nil {
		return nil, err
	}
	return &followedRow{agent: a, row: row}, nil
}
