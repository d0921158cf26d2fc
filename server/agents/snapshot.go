package agents

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// readCompanion returns the data of a request to a companion route, which has no init.
func (c *call) readCompanion() ([]byte, error) {
	request, err := c.readRequest()
	if err != nil {
		return nil, err
	}
	if len(request.Init) > 0 {
		return nil, newError(wire.StatusInvalidArgument, "init is only for turns: remove it")
	}
	return request.Data, nil
}

// chooseTurn returns the turn of a GetSnapshotRequest.
func (c *call) chooseTurn() (*service.Turn, error) {
	data, err := c.readCompanion()
	if err != nil {
		return nil, err
	}
	request, err := wire.DecodeGetSnapshot(data)
	if err != nil {
		return nil, err
	}
	if request.SnapshotID == "" {
		return c.latestTurn(request.SessionID)
	}
	turn, err := c.getTurn(request.SnapshotID)
	if err != nil || request.SessionID == "" {
		return turn, err
	}
	id, err := c.sessionIDOf(c.r.Context(), turn)
	if err == nil && request.SessionID != id && request.SessionID != turn.SessionID {
		err = newError(wire.StatusInvalidArgument, "the snapshot belongs to another session than sessionId")
	}
	return turn, err
}

// latestTurn returns the newest turn of a session.
func (c *call) latestTurn(sessionID string) (*service.Turn, error) {
	s, err := c.findSession(sessionID)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, notFound("session", sessionID)
	}
	list, err := c.settings.Service.ListTurns(c.r.Context(), c.caller, service.TurnQuery{SessionID: s.ID, Page: service.Page{Limit: 1}})
	if err != nil {
		return nil, nameError(err, "session", sessionID)
	}
	if len(list.Turns) == 0 {
		return nil, notFound("session", sessionID)
	}
	return list.Turns[0], nil
}

// sessionIDOf returns the id of a turn's session as clients know it.
func (c *call) sessionIDOf(ctx context.Context, t *service.Turn) (string, error) {
	s, err := c.settings.Service.GetSession(ctx, c.caller, t.SessionID)
	if err != nil {
		return "", nameError(err, "session", t.SessionID)
	}
	return wireID(s), nil
}

// getSnapshot answers with a snapshot.
func (c *call) getSnapshot() error {
	turn, err := c.chooseTurn()
	if err != nil {
		return err
	}
	return c.writeSnapshot(turn)
}

// waitForSnapshot answers with a snapshot once it is not pending any more.
func (c *call) waitForSnapshot() error {
	turn, err := c.chooseTurn()
	if err != nil {
		return err
	}
	if turn.Status.Live() && turn.Status != service.Waiting {
		if turn, err = c.awaitTurn(c.r.Context(), turn.ID, turn.Seq); err != nil {
			return err
		}
	}
	return c.writeSnapshot(turn)
}

// abortTurn cancels a turn, also an interrupted one, which would block its session. A
// turn that has ended stays as it is.
func (c *call) abortTurn() error {
	data, err := c.readCompanion()
	if err != nil {
		return err
	}
	request, err := wire.DecodeAbort(data)
	if err != nil {
		return err
	}
	turn, err := c.getTurn(request.SnapshotID)
	if err != nil {
		return err
	}
	if turn.Status.Live() {
		if turn, err = c.settings.Service.CancelTurn(c.r.Context(), c.caller, turn.ID, "aborted"); err != nil {
			return nameError(err, "snapshot", request.SnapshotID)
		}
	}
	return server.WriteJSON(c.w, http.StatusOK, wire.Reply[wire.AbortResponse]{Result: wire.AbortResponse{SnapshotID: turn.ID, Status: snapshotStatus(turn)}})
}

// snapshotStatus returns the status of the snapshot of a turn. An interrupted turn is
// complete until it is resumed.
func snapshotStatus(t *service.Turn) wire.SnapshotStatus {
	switch t.Status {
	case service.Succeeded, service.Waiting:
		return wire.SnapshotCompleted
	case service.Failed:
		return wire.SnapshotFailed
	case service.Canceled:
		return wire.SnapshotAborted
	default:
		if t.Expired {
			return wire.SnapshotExpired
		}
		return wire.SnapshotPending
	}
}

// writeSnapshot answers with the snapshot of a turn.
func (c *call) writeSnapshot(t *service.Turn) error {
	snapshot, err := c.toSnapshot(t)
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, wire.Reply[*wire.Snapshot]{Result: snapshot})
}

// toSnapshot returns the snapshot of a turn.
func (c *call) toSnapshot(t *service.Turn) (*wire.Snapshot, error) {
	ctx := c.r.Context()
	s := &wire.Snapshot{
		SnapshotID: t.ID, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Status: snapshotStatus(t), FinishReason: finishReason(t), Error: outcomeError(t),
	}
	var err error
	if s.SessionID, err = c.sessionIDOf(ctx, t); err != nil {
		return nil, err
	}
	if s.ParentID, err = c.turnOfSnapshot(t.ParentSnapshotID); err != nil {
		return nil, err
	}
	switch t.Status {
	case service.Succeeded:
		kept, err := c.settings.Service.GetSnapshot(ctx, c.caller, t.SnapshotID)
		if err != nil {
			return nil, nameError(err, "snapshot", t.ID)
		}
		if kept.State != nil {
			s.State = &wire.SessionState{SessionID: s.SessionID, Messages: fromModelMessages(kept.State.Messages), Custom: kept.State.Custom}
		}
	case service.Pending, service.Running:
		s.HeartbeatAt = t.HeartbeatAt
	}
	return s, nil
}
