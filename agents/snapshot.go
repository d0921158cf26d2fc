package agents

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/service"
)

// chooseTurn returns the requested turn.
func (a *stored) chooseTurn(ctx context.Context, request *wire.GetSnapshotRequest) (*service.Turn, error) {
	if request.SnapshotID == "" {
		return a.latestTurn(ctx, request.SessionID)
	}
	turn, err := a.getTurn(ctx, request.SnapshotID)
	if err != nil || request.SessionID == "" {
		return turn, err
	}
	id, err := a.sessionIDOf(ctx, turn)
	if err == nil && request.SessionID != id && request.SessionID != turn.SessionID {
		err = newError(wire.StatusInvalidArgument, "the snapshot does not belong to session %q", clip.Text(request.SessionID))
	}
	return turn, err
}

// overlapping is the number of a session's turns that may be created concurrently without confusing
// latestTurn.
const overlapping = 8

// latestTurn returns the turn of a session that runs last. Turns created concurrently may run in a
// different order than their ids.
func (a *stored) latestTurn(ctx context.Context, sessionID string) (*service.Turn, error) {
	s, err := a.findSession(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, notFound("session", sessionID)
	}
	list, err := a.service.ListTurns(ctx, a.caller, service.TurnQuery{SessionID: s.ID, Page: service.Page{Limit: overlapping}})
	if err != nil {
		return nil, nameError(err, "session", sessionID)
	}
	if len(list.Turns) == 0 {
		return nil, notFound("session", sessionID)
	}
	last := list.Turns[0]
	for _, t := range list.Turns[1:] {
		if last.Status.Live() {
			break
		}
		if t.Status.Live() || t.FinishedAt.After(last.FinishedAt) {
			last = t
		}
	}
	return last, nil
}

// sessionIDOf returns the client-visible id of a turn's session.
func (a *stored) sessionIDOf(ctx context.Context, t *service.Turn) (string, error) {
	s, err := a.service.GetSession(ctx, a.caller, t.SessionID)
	if err != nil {
		return "", nameError(err, "session", t.SessionID)
	}
	return wireID(s), nil
}

// GetSnapshot returns a snapshot.
func (a *stored) GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	turn, err := a.chooseTurn(ctx, request)
	if err != nil {
		return nil, err
	}
	return a.toSnapshot(ctx, turn)
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (a *stored) WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	turn, err := a.chooseTurn(ctx, request)
	if err != nil {
		return nil, err
	}
	if turn.Status.Live() && turn.Status != service.Waiting {
		if turn, err = a.awaitTurn(ctx, turn.ID, turn.Seq); err != nil {
			return nil, err
		}
	}
	return a.toSnapshot(ctx, turn)
}

// Abort cancels a turn, even an interrupted one, which would block its session. A turn that has
// ended is unchanged.
func (a *stored) Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error) {
	turn, err := a.getTurn(ctx, request.SnapshotID)
	if err != nil {
		return nil, err
	}
	if turn.Status.Live() {
		if turn, err = a.service.CancelTurn(ctx, a.caller, turn.ID, "aborted"); err != nil {
			return nil, nameError(err, "snapshot", request.SnapshotID)
		}
	}
	return &wire.AbortResponse{SnapshotID: turn.ID, Status: snapshotStatus(turn)}, nil
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

// toSnapshot returns the snapshot of a turn.
func (a *stored) toSnapshot(ctx context.Context, t *service.Turn) (*wire.Snapshot, error) {
	s := &wire.Snapshot{
		SnapshotID: t.ID, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Status: snapshotStatus(t), FinishReason: finishReason(t), Error: outcomeError(t),
	}
	var err error
	if s.SessionID, err = a.sessionIDOf(ctx, t); err != nil {
		return nil, err
	}
	if s.ParentID, err = a.turnOfSnapshot(ctx, t.ParentSnapshotID); err != nil {
		return nil, err
	}
	switch t.Status {
	case service.Pending, service.Running:
		s.HeartbeatAt = t.HeartbeatAt
		return s, nil
	case service.Succeeded:
		s.State, err = a.keptState(ctx, t.SnapshotID)
	default:
		s.State, err = a.partialState(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	return s, a.showState(ctx, s)
}

// showState replaces a snapshot's state with the version that callers see.
func (a *stored) showState(ctx context.Context, s *wire.Snapshot) (err error) {
	if s.State == nil {
		return nil
	}
	s.State.SessionID = s.SessionID
	s.State, err = a.definition.shownState(ctx, s.State)
	return err
}

// keptState returns the state of a service snapshot; nil if it is hidden.
func (a *stored) keptState(ctx context.Context, id string) (*wire.SessionState, error) {
	kept, err := a.service.GetSnapshot(ctx, a.caller, id)
	if err != nil {
		return nil, nameError(err, "snapshot", id)
	}
	if kept.State == nil {
		return nil, nil //nolint:nilnil // it is not shown
	}
	state := &wire.SessionState{Messages: fromModelMessages(kept.State.Messages), Custom: kept.State.Custom}
	state.Artifacts, err = a.readArtifacts(ctx, kept.State.Artifacts)
	return state, err
}

// partialState returns the state of a turn without a snapshot: the conversation including its
// additions. The custom state and artifacts are from before the turn, or current if the turn is
// interrupted.
func (a *stored) partialState(ctx context.Context, t *service.Turn) (*wire.SessionState, error) {
	state := new(wire.SessionState)
	if t.ParentSnapshotID != "" {
		before, err := a.keptState(ctx, t.ParentSnapshotID)
		if before == nil {
			return nil, err
		}
		state = before
	}
	own, err := a.service.TurnMessages(ctx, a.caller, t.ID)
	if err != nil {
		return nil, nameError(err, "snapshot", t.ID)
	}
	state.Messages = append(state.Messages, fromModelMessages(own)...)
	if t.Status != service.Waiting {
		return state, nil
	}
	open, err := a.openInteractions(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	for _, asked := range open {
		markInterrupt(state.Messages, &asked.Request)
	}
	return state, a.applyChanges(ctx, t, state)
}

// markInterrupt adds the question to the open tool request.
func markInterrupt(list []wire.Message, asked *interaction.Request) {
	for i := range slices.Backward(list) {
		for j := range list[i].Content {
			part := &list[i].Content[j]
			if r := part.ToolRequest; r != nil && r.Name == asked.Tool && r.Ref == asked.CallID {
				part.Metadata = interruptPart(asked).Metadata
				return
			}
		}
	}
}

// applyChanges applies the changes that a turn has emitted to the state before the turn.
func (a *stored) applyChanges(ctx context.Context, t *service.Turn, state *wire.SessionState) error {
	for after := uint64(0); ; {
		records, err := a.service.ReadEvents(ctx, a.caller, t.ID, after, service.MaxPage)
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			after = records[i].Seq
			if records[i].Type != event.TypeCustomPatch && records[i].Type != event.TypeArtifact {
				continue
			}
			ev, err := records[i].Event()
			if err != nil {
				return err
			}
			switch d := ev.Data.(type) {
			case *event.CustomPatch:
				if state.Custom, err = ApplyPatch(state.Custom, toPatch(d.Patch)); err != nil {
					return err
				}
			case *event.Artifact:
				artifact, err := a.readArtifact(ctx, d.ID)
				if err != nil {
					return err
				}
				state.Artifacts = putArtifact(state.Artifacts, artifact)
			}
		}
	}
}
