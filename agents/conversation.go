package agents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/service"
	"github.com/google/uuid"
)

// conversation is the source of a turn: a session and the point to continue from.
type conversation struct {
	// id is the client-visible session id; session is nil before the first turn, and keptID is the
	// id to create it with.
	id, keptID string
	session    *service.Session
	// snapshot is the service snapshot to continue from; empty means the latest.
	snapshot string
	// lastGood is the wire id of the snapshot to continue from, if known.
	lastGood string
	// waiting is the interrupted turn of the session, or nil.
	waiting *service.Turn
}

// sessionMetadata is this protocol's part of a session's metadata: the client's session id.
type sessionMetadata struct {
	Agents sessionRecord `json:"agents"`
}

type sessionRecord struct {
	SessionID string `json:"session_id"`
}

// wireID returns the client-visible id of a session.
func wireID(s *service.Session) string {
	var kept sessionMetadata
	if json.Unmarshal(s.Metadata, &kept) == nil && kept.Agents.SessionID != "" {
		return kept.Agents.SessionID
	}
	return s.ID
}

// sessionSpace is the UUID namespace for session ids chosen by clients.
var sessionSpace = uuid.MustParse("5d0c3f0e-5a5e-4a55-9a53-0c6c5c1a8a11")

// keptIDOf returns the stored id for a session id chosen by a client. Ids are separate for each
// caller and agent, so that callers cannot learn which ids others use.
func (a *stored) keptIDOf(id string) string {
	name := strings.Join([]string{a.caller.Tenant, a.caller.Subject, a.name, id}, "\x00")
	return uuid.NewSHA1(sessionSpace, []byte(name)).String()
}

// findSession returns the agent's session with a client-visible id, or nil if it does not exist.
func (a *stored) findSession(ctx context.Context, id string) (*service.Session, error) {
	for _, kept := range []string{a.keptIDOf(id), id} {
		s, err := a.service.GetSession(ctx, a.caller, kept)
		switch {
		case err == nil && s.AgentID == a.name:
			return s, nil
		case err != nil && !errors.Is(err, service.ErrNotFound) && !errors.Is(err, service.ErrText):
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // it does not exist
}

// openConversation returns the conversation that an init chooses.
func (a *stored) openConversation(ctx context.Context, init *wire.Init) (*conversation, error) {
	if init.State != nil {
		if init.SessionID != "" || init.SnapshotID != "" {
			return nil, newError(wire.StatusInvalidArgument, "init: state excludes sessionId and snapshotId")
		}
		return nil, newError(wire.StatusFailedPrecondition, "Cannot send 'state' to agent %q: the server keeps its state; continue by sessionId or snapshotId", a.name)
	}
	if init.SnapshotID != "" {
		return a.openSnapshot(ctx, init)
	}
	if init.SessionID == "" {
		id := a.service.NewID()
		return &conversation{id: id, keptID: id}, nil
	}
	if len(init.SessionID) > service.MaxLabel || strings.ContainsRune(init.SessionID, 0) {
		return nil, newError(wire.StatusInvalidArgument, "init.sessionId must be at most %d bytes of text", service.MaxLabel)
	}
	s, err := a.findSession(ctx, init.SessionID)
	if err != nil {
		return nil, err
	}
	talk := &conversation{id: init.SessionID, keptID: a.keptIDOf(init.SessionID), session: s}
	if s == nil {
		return talk, nil
	}
	if talk.lastGood, err = a.turnOfSnapshot(ctx, s.Tip); err != nil {
		return nil, err
	}
	if talk.waiting, err = a.findWaiting(ctx, s.ID); talk.waiting != nil {
		talk.lastGood = talk.waiting.ID
	}
	return talk, err
}

// findWaiting returns the interrupted turn of a session, or nil.
func (a *stored) findWaiting(ctx context.Context, sessionID string) (*service.Turn, error) {
	list, err := a.service.ListTurns(ctx, a.caller, service.TurnQuery{
		SessionID: sessionID, Statuses: []service.Status{service.Waiting}, Page: service.Page{Limit: 1},
	})
	if err != nil || len(list.Turns) == 0 {
		return nil, err
	}
	return list.Turns[0], nil
}

// turnOfSnapshot returns the wire id of a service snapshot: its turn's id, or its own for the start
// of a forked or imported session.
func (a *stored) turnOfSnapshot(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	kept, err := a.service.GetSnapshotHead(ctx, a.caller, id)
	if err != nil {
		return "", err
	}
	if kept.TurnID != "" {
		return kept.TurnID, nil
	}
	return kept.ID, nil
}

// openSnapshot returns the conversation that continues from a turn.
func (a *stored) openSnapshot(ctx context.Context, init *wire.Init) (*conversation, error) {
	turn, err := a.getTurn(ctx, init.SnapshotID)
	if err != nil {
		return nil, err
	}
	s, err := a.service.GetSession(ctx, a.caller, turn.SessionID)
	if err != nil {
		return nil, nameError(err, "snapshot", init.SnapshotID)
	}
	talk := &conversation{id: wireID(s), keptID: s.ID, session: s}
	if init.SessionID != "" && init.SessionID != talk.id && init.SessionID != s.ID {
		return nil, newError(wire.StatusInvalidArgument, "init: snapshot %q does not belong to session %q", clip.Text(init.SnapshotID), clip.Text(init.SessionID))
	}
	switch turn.Status {
	case service.Succeeded:
		talk.snapshot, talk.lastGood = turn.SnapshotID, turn.ID
		var waiting *service.Turn
		if waiting, err = a.findWaiting(ctx, s.ID); waiting != nil {
			return nil, newError(wire.StatusFailedPrecondition, "the session is interrupted in snapshot %s: answer its tool requests first", waiting.ID)
		}
	case service.Waiting:
		talk.waiting, talk.lastGood = turn, turn.ID
	default:
		return nil, newError(wire.StatusFailedPrecondition, "a snapshot that is %s cannot be continued: continue by sessionId", snapshotStatus(turn))
	}
	return talk, err
}

// ensureSession creates the session of a conversation that has none.
func (a *stored) ensureSession(ctx context.Context, talk *conversation) (err error) {
	if talk.session != nil {
		return nil
	}
	metadata, err := json.Marshal(sessionMetadata{sessionRecord{talk.id}})
	if err != nil {
		return err
	}
	talk.session, err = a.service.CreateSession(ctx, a.caller, service.CreateSession{ID: talk.keptID, AgentID: a.name, Metadata: metadata})
	if _, exists := errors.AsType[*service.ExistsError](err); exists { // made by a concurrent request
		talk.session, err = a.service.GetSession(ctx, a.caller, talk.keptID)
	}
	return nameError(err, "session", talk.id)
}

// getTurn returns the turn that a snapshot id names. Turns of other agents and callers
// are not found.
func (a *stored) getTurn(ctx context.Context, id string) (*service.Turn, error) {
	t, err := a.service.GetTurn(ctx, a.caller, id)
	if errors.Is(err, service.ErrText) || err == nil && t.AgentID != a.name {
		return nil, notFound("snapshot", id)
	}
	return t, nameError(err, "snapshot", id)
}
