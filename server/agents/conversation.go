package agents

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
	"github.com/google/uuid"
)

// conversation is the source of a turn: a session, and where the turn continues.
type conversation struct {
	// id is the id of the session as clients know it; session is nil before the first
	// turn, and keptID is the id that it will be created with.
	id, keptID string
	session    *service.Session
	// snapshot is the snapshot of the service to continue from; empty is the latest.
	snapshot string
	// lastGood is the wire id of the snapshot that the turn continues from, if known.
	lastGood string
	// waiting is the interrupted turn of the session, or nil.
	waiting *service.Turn
}

// ownKey is the member of a session's metadata that belongs to this protocol.
const ownKey = "agents"

// sessionRecord is the value of ownKey.
type sessionRecord struct {
	SessionID string `json:"session_id"`
}

// wireID returns the id of a session as clients know it.
func wireID(s *service.Session) string {
	var kept map[string]sessionRecord
	if json.Unmarshal(s.Metadata, &kept) == nil && kept[ownKey].SessionID != "" {
		return kept[ownKey].SessionID
	}
	return s.ID
}

// sessionSpace is the namespace of the ids of sessions that clients name.
var sessionSpace = uuid.MustParse("5d0c3f0e-5a5e-4a55-9a53-0c6c5c1a8a11")

// keptIDOf returns the id under which a session is stored whose id a client chose: each
// caller and agent has ids of their own, so that nobody learns which ones others use.
func (c *call) keptIDOf(id string) string {
	name := strings.Join([]string{c.caller.Tenant, c.caller.Subject, c.agent, id}, "\x00")
	return uuid.NewSHA1(sessionSpace, []byte(name)).String()
}

// findSession returns a session of the agent by the id that clients know; nil if it
// does not exist.
func (c *call) findSession(id string) (*service.Session, error) {
	for _, kept := range []string{c.keptIDOf(id), id} {
		s, err := c.settings.Service.GetSession(c.r.Context(), c.caller, kept)
		switch {
		case err == nil && s.AgentID == c.agent:
			return s, nil
		case err != nil && !errors.Is(err, service.ErrNotFound) && !errors.Is(err, service.ErrText):
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // it does not exist
}

// openConversation returns the conversation that an init chooses.
func (c *call) openConversation(init *wire.Init) (*conversation, error) {
	if init.State != nil {
		if init.SessionID != "" || init.SnapshotID != "" {
			return nil, newError(wire.StatusInvalidArgument, "init: state excludes sessionId and snapshotId")
		}
		return nil, newError(wire.StatusFailedPrecondition, "init.state: the server keeps the state of this agent; continue by sessionId or snapshotId")
	}
	if init.SnapshotID != "" {
		return c.openSnapshot(init)
	}
	if init.SessionID == "" {
		id := c.settings.Service.NewID()
		return &conversation{id: id, keptID: id}, nil
	}
	if len(init.SessionID) > service.MaxLabel || strings.ContainsRune(init.SessionID, 0) {
		return nil, newError(wire.StatusInvalidArgument, "init.sessionId must be at most %d bytes of text", service.MaxLabel)
	}
	s, err := c.findSession(init.SessionID)
	if err != nil {
		return nil, err
	}
	talk := &conversation{id: init.SessionID, keptID: c.keptIDOf(init.SessionID), session: s}
	if s == nil {
		return talk, nil
	}
	if talk.lastGood, err = c.turnOfSnapshot(s.Tip); err != nil {
		return nil, err
	}
	talk.waiting, err = c.findWaiting(s.ID)
	return talk, err
}

// findWaiting returns the interrupted turn of a session, or nil.
func (c *call) findWaiting(sessionID string) (*service.Turn, error) {
	list, err := c.settings.Service.ListTurns(c.r.Context(), c.caller, service.TurnQuery{
		SessionID: sessionID, Statuses: []service.Status{service.Waiting}, Page: service.Page{Limit: 1},
	})
	if err != nil || len(list.Turns) == 0 {
		return nil, err
	}
	return list.Turns[0], nil
}

// turnOfSnapshot returns the wire id of a snapshot of the service: the id of its turn,
// or its own for the beginning of a session that was forked or imported.
func (c *call) turnOfSnapshot(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	kept, err := c.settings.Service.GetSnapshot(c.r.Context(), c.caller, id)
	if err != nil {
		return "", err
	}
	if kept.TurnID != "" {
		return kept.TurnID, nil
	}
	return kept.ID, nil
}

// openSnapshot returns the conversation that continues from a turn.
func (c *call) openSnapshot(init *wire.Init) (*conversation, error) {
	turn, err := c.getTurn(init.SnapshotID)
	if err != nil {
		return nil, err
	}
	s, err := c.settings.Service.GetSession(c.r.Context(), c.caller, turn.SessionID)
	if err != nil {
		return nil, nameError(err, "snapshot", init.SnapshotID)
	}
	talk := &conversation{id: wireID(s), keptID: s.ID, session: s}
	if init.SessionID != "" && init.SessionID != talk.id && init.SessionID != s.ID {
		return nil, newError(wire.StatusInvalidArgument, "init: the snapshot belongs to another session than sessionId")
	}
	switch turn.Status {
	case service.Succeeded:
		talk.snapshot, talk.lastGood = turn.SnapshotID, turn.ID
		talk.waiting, err = c.findWaiting(s.ID)
		if talk.waiting != nil {
			return nil, newError(wire.StatusFailedPrecondition, "the session is interrupted in snapshot %s: answer its tool requests first", talk.waiting.ID)
		}
	case service.Waiting:
		talk.waiting, talk.lastGood = turn, turn.ID
	default:
		return nil, newError(wire.StatusFailedPrecondition, "a snapshot that is %s cannot be continued: continue by sessionId", snapshotStatus(turn))
	}
	return talk, err
}

// ensureSession creates the session of a conversation that has none.
func (c *call) ensureSession(talk *conversation) (err error) {
	if talk.session != nil {
		return nil
	}
	metadata, err := json.Marshal(map[string]sessionRecord{ownKey: {talk.id}})
	if err != nil {
		return err
	}
	talk.session, err = c.settings.Service.CreateSession(c.r.Context(), c.caller, service.CreateSession{ID: talk.keptID, AgentID: c.agent, Metadata: metadata})
	if _, exists := errors.AsType[*service.ExistsError](err); exists { // by a request at the same time
		talk.session, err = c.settings.Service.GetSession(c.r.Context(), c.caller, talk.keptID)
	}
	return nameError(err, "session", talk.id)
}

// getTurn returns the turn that a snapshot id names. Turns of other agents and callers
// are not found.
func (c *call) getTurn(id string) (*service.Turn, error) {
	t, err := c.settings.Service.GetTurn(c.r.Context(), c.caller, id)
	if errors.Is(err, service.ErrText) || err == nil && t.AgentID != c.agent {
		return nil, notFound("snapshot", id)
	}
	return t, nameError(err, "snapshot", id)
}
