package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/service/sessionstart"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// sweepWorkspacesInterval is how often workspaces are looked for that belong to no
// session: those of dead processes, and of sessions that retention deleted.
const sweepWorkspacesInterval = 10 * time.Minute

// SupportsCheckouts reports whether sessions can ask for workspaces with checkouts, and
// SupportsPrepared whether a host can hand one over.
func (s *Service) SupportsCheckouts() bool { return s.settings.Workspaces.AcceptsCheckouts() }

// SupportsPrepared reports whether a host can hand over a workspace that it prepared.
func (s *Service) SupportsPrepared() bool { return s.settings.Workspaces.AcceptsPrepared() }

// CheckWorkspace reports why a session of an agent cannot have a workspace, without making
// one. The error is an *InvalidError or a *workspace.PolicyError.
func (s *Service) CheckWorkspace(agentID string, r *workspace.Request) error {
	if err := r.Validate(); err != nil {
		return nameInvalid(err)
	}
	if err := s.settings.Workspaces.Check(r); err != nil {
		return err
	}
	return s.checkPlace(agentID)
}

// checkPlace reports an agent that works elsewhere, where the workspace is not.
func (s *Service) checkPlace(agentID string) error {
	if agentID == "" || s.settings.Runtime == nil {
		return nil
	}
	if agent, ok := s.settings.Runtime.Revision().Set().Agent(agentID); ok && !agent.UsesTools() {
		return &workspace.PolicyError{Problem: fmt.Sprintf("agent %q works at its endpoint, which cannot reach a workspace of this machine", agentID)}
	}
	return nil
}

// nameInvalid returns an error of a workspace request under the name of the field.
func nameInvalid(err error) error {
	if wrong, ok := errors.AsType[*workspace.InvalidError](err); ok {
		return &InvalidError{"workspace." + wrong.Field, wrong.Problem}
	}
	return err
}

// checkWorkspace checks what a request says of a workspace, before anything is done.
func (s *Service) checkWorkspace(req *CreateSession) error {
	switch {
	case req.Workspace != nil && req.Prepared != nil:
		return &InvalidError{"workspace", "the session has a prepared workspace already"}
	case req.Workspace != nil:
		return s.CheckWorkspace(req.AgentID, req.Workspace)
	case req.Prepared != nil:
		if _, err := s.settings.Workspaces.Accept(req.Prepared); err != nil {
			return nameInvalid(err)
		}
		return s.checkPlace(req.AgentID)
	default:
		return nil
	}
}

// recordOf returns what a session keeps of its workspace; nil if it has none.
func recordOf(session *store.Session) *workspace.Record {
	return workspace.ReadRecord(sessionstart.Member(session.Metadata, sessionstart.WorkspaceKey))
}

// encodeRecord adds the workspace of a session to what its metadata keeps.
func encodeRecord(kept map[string]json.RawMessage, r *workspace.Record) error {
	encoded, err := json.Marshal(r)
	kept[sessionstart.WorkspaceKey] = encoded
	return err
}

// openWorkspace returns the workspace that a turn works in; nil if its session has none.
func (s *Service) openWorkspace(r *workspace.Record) (*tools.Workspace, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // no workspace
	}
	return s.settings.Workspaces.Open(r)
}

// releaseWorkspace deletes the workspace of a session that has ended. While a turn works
// in it, it stays, and is deleted by the sweep after that.
func (s *Service) releaseWorkspace(ctx context.Context, session *store.Session) {
	r := recordOf(session)
	if r == nil || s.hasLiveTurns(ctx, session.ID) {
		return
	}
	if err := s.settings.Workspaces.Remove(r); err != nil {
		s.logError(ctx, "deleting a workspace failed", err, zap.String("session_id", session.ID))
	}
}

// hasLiveTurns reports whether a session has turns that have not ended, or may have.
func (s *Service) hasLiveTurns(ctx context.Context, sessionID string) bool {
	live, err := s.settings.Store.Turns(ctx, store.TurnQuery{Scope: store.Everything, SessionID: sessionID, Statuses: liveStatuses, Page: store.Page{Limit: 1}})
	return err != nil || len(live.Turns) > 0
}

// sweepWorkspaces deletes workspaces that no session needs until the service is closed.
func (s *Service) sweepWorkspaces() {
	ticker := time.NewTicker(sweepWorkspacesInterval)
	defer ticker.Stop()
	for {
		s.dropAbandoned(s.ctx)
		if err := s.settings.Workspaces.Sweep(s.ctx, s.needsWorkspace); err != nil {
			s.logError(s.ctx, "deleting abandoned workspaces failed", err)
		}
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// needsWorkspace reports whether a session has a workspace, or may have.
func (s *Service) needsWorkspace(ctx context.Context, o *workspace.Orphan) bool {
	session, err := s.settings.Store.Session(ctx, store.Everything, o.SessionID)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	if err != nil {
		return true
	}
	switch session.State {
	case store.SessionStarting:
		return readStart(session).Token == o.Token
	case store.SessionArchived:
		return s.hasLiveTurns(ctx, session.ID)
	default:
		r := recordOf(session)
		return r != nil && r.Name == o.Name
	}
}
