package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/store"
)

// Sessions creates, reads, changes, exports and deletes sessions. It is safe for concurrent use.
type Sessions struct {
	*core

	starts     *starts
	turns      *Turns
	workspaces *Workspaces
}

// GetSession returns a session.
func (s *Sessions) GetSession(ctx context.Context, caller Caller, id string) (*store.Session, error) {
	return s.readSession(ctx, caller, id)
}

// ListSessions returns a page of the caller's sessions, most recently active first. The scope of
// the query is set from the caller. A page may be short if the caller may not use all agents.
func (s *Sessions) ListSessions(ctx context.Context, caller Caller, q store.SessionQuery) (store.SessionPage, error) {
	var err error
	if q.Scope, err = caller.toScope(); err != nil {
		return store.SessionPage{}, err
	}
	if err := checkLabels(q.Labels); err != nil {
		return store.SessionPage{}, err
	}
	page, err := s.settings.Store.Sessions(ctx, q)
	if err != nil {
		return page, err
	}
	page.Sessions, err = keepVisible(page.Sessions, func(session *store.Session) (bool, error) {
		s.hideCurrent(session)
		if session.State == store.SessionStarting {
			return false, nil
		}
		return s.seesSession(ctx, caller, session)
	})
	return page, err
}

// UpdateSession applies a patch and returns the session. Archiving a session deletes its
// workspace.
func (s *Sessions) UpdateSession(ctx context.Context, caller Caller, id string, p store.SessionPatch) (*store.Session, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	found, err := s.readSession(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if p.State != nil && *p.State != store.SessionActive && *p.State != store.SessionArchived {
		return nil, &InvalidError{"state", fmt.Sprintf("unknown state %q: use active or archived", *p.State)}
	}
	if p.Labels != nil {
		if err := checkLabels(*p.Labels); err != nil {
			return nil, err
		}
	}
	if p.Metadata != nil {
		if err := checkSessionMetadata(*p.Metadata); err != nil {
			return nil, err
		}
		changed, err := sessionstart.Replace(*p.Metadata, sessionstart.Kept(found.Metadata))
		if err != nil {
			return nil, err
		}
		p.Metadata = &changed
	}
	if p.AgentID != nil && *p.AgentID != "" {
		if err := s.checkAgent(ctx, caller, "", *p.AgentID); err != nil {
			return nil, err
		}
	}
	p.Now = s.now()
	session, err := s.settings.Store.UpdateSession(ctx, scope, id, p)
	if err != nil {
		return nil, nameNotFound(err, "session", id)
	}
	if session.State == store.SessionArchived {
		s.workspaces.releaseWorkspace(context.WithoutCancel(ctx), session)
	}
	s.hideCurrent(session)
	return session, nil
}

// maxMetadataTries limits the attempts of ChangeSessionMetadata.
const maxMetadataTries = 100

// ChangeSessionMetadata changes the metadata of a session with a function. The function is called
// again if another request changes the metadata concurrently.
func (s *Sessions) ChangeSessionMetadata(ctx context.Context, caller Caller, id string, change func(json.RawMessage) (json.RawMessage, error)) error {
	for range maxMetadataTries {
		found, err := s.readSession(ctx, caller, id)
		if err != nil {
			return err
		}
		next, err := change(found.Metadata)
		if err != nil {
			return err
		}
		_, err = s.UpdateSession(ctx, caller, id, store.SessionPatch{Metadata: &next, IfMetadata: &found.Metadata})
		if !errors.Is(err, store.ErrChanged) {
			return err
		}
	}
	return store.ErrChanged
}

// DeleteSession cancels the session's live turns and deletes the session with all its records and
// its workspace.
func (s *Sessions) DeleteSession(ctx context.Context, caller Caller, id string) error {
	scope, err := caller.toScope()
	if err != nil {
		return err
	}
	session, err := s.readSession(ctx, caller, id)
	if err != nil {
		return err
	}
	for {
		live, err := s.settings.Store.Turns(ctx, store.TurnQuery{Scope: scope, SessionID: id, Statuses: liveStatuses, Page: store.Page{Limit: store.MaxPage}})
		if err != nil {
			return err
		}
		for _, t := range live.Turns {
			if _, err := s.turns.CancelTurn(ctx, caller, t.ID, "the session is deleted"); err != nil {
				return err
			}
		}
		if len(live.Turns) == 0 {
			err := s.settings.Store.DeleteSession(ctx, scope, id)
			if err == nil {
				s.workspaces.releaseWorkspace(context.WithoutCancel(ctx), session)
			}
			return nameNotFound(err, "session", id)
		}
	}
}

var liveStatuses = []store.Status{store.Pending, store.Running, store.Waiting}
