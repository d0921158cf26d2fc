package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// sweepWorkspacesInterval is the interval of searching for orphaned workspaces: leftovers of dead
// processes and of sessions deleted by retention.
const sweepWorkspacesInterval = 10 * time.Minute

// Workspaces checks, opens and deletes the workspaces of sessions. It is safe for concurrent use.
type Workspaces struct {
	*core

	starts *starts
}

// SupportsCheckouts reports whether sessions can request workspaces with checkouts.
func (w *Workspaces) SupportsCheckouts() bool { return w.settings.Workspaces.AcceptsCheckouts() }

// CheckWorkspace returns an error if a session of an agent cannot have a workspace, without
// creating one. The error is an *InvalidError or a *workspace.PolicyError.
func (w *Workspaces) CheckWorkspace(agentID string, r *workspace.Request) error {
	if err := r.Validate(); err != nil {
		return nameInvalid(err)
	}
	if err := w.settings.Workspaces.Check(r); err != nil {
		return err
	}
	return w.checkPlace(agentID)
}

// checkPlace returns an error for an agent that runs elsewhere, where the workspace does not exist.
func (w *Workspaces) checkPlace(agentID string) error {
	if agentID == "" || w.settings.Runtime == nil {
		return nil
	}
	if agent, ok := w.settings.Runtime.Revision().Set().Agent(agentID); ok && !agent.UsesTools() {
		return &workspace.PolicyError{Problem: fmt.Sprintf("agent %q works at its endpoint, which cannot reach a workspace of this machine", agentID)}
	}
	return nil
}

// nameInvalid adds the field of the workspace to an error of a workspace request.
func nameInvalid(err error) error {
	if wrong, ok := errors.AsType[*workspace.InvalidError](err); ok {
		return &InvalidError{"workspace." + wrong.Field, wrong.Problem}
	}
	return err
}

// checkWorkspace validates the workspace of a request before any other work.
func (w *Workspaces) checkWorkspace(req *CreateSession) error {
	switch {
	case req.Workspace != nil && req.Prepared != nil:
		return &InvalidError{"workspace", "the session has a prepared workspace already"}
	case req.Workspace != nil:
		return w.CheckWorkspace(req.AgentID, req.Workspace)
	case req.Prepared != nil:
		if _, err := w.settings.Workspaces.Accept(req.Prepared); err != nil {
			return nameInvalid(err)
		}
		return w.checkPlace(req.AgentID)
	default:
		return nil
	}
}

// recordOf returns the workspace record of a session; nil if it has none.
func recordOf(session *store.Session) *workspace.Record {
	return workspace.ReadRecord(sessionstart.Member(session.Metadata, sessionstart.WorkspaceKey))
}

// encodeRecord adds a session's workspace to its stored metadata.
func encodeRecord(kept map[string]json.RawMessage, r *workspace.Record) error {
	encoded, err := json.Marshal(r)
	kept[sessionstart.WorkspaceKey] = encoded
	return err
}

// openWorkspace returns the workspace that a turn works in; nil if its session has none.
func (w *Workspaces) openWorkspace(r *workspace.Record) (*tools.Workspace, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // no workspace
	}
	return w.settings.Workspaces.Open(r)
}

// releaseWorkspace deletes the workspace of an ended session. While a turn works in it, the
// workspace stays, and a later sweep deletes it.
func (w *Workspaces) releaseWorkspace(ctx context.Context, session *store.Session) {
	r := recordOf(session)
	if r == nil || w.hasLiveTurns(ctx, session.ID) {
		return
	}
	if err := w.settings.Workspaces.Remove(r); err != nil {
		w.logError(ctx, "deleting a workspace failed", err, zap.String("session_id", session.ID))
	}
}

// hasLiveTurns reports whether a session has or may have live turns.
func (w *Workspaces) hasLiveTurns(ctx context.Context, sessionID string) bool {
	live, err := w.settings.Store.Turns(ctx, store.TurnQuery{Scope: store.Everything, SessionID: sessionID, Statuses: liveStatuses, Page: store.Page{Limit: 1}})
	return err != nil || len(live.Turns) > 0
}

// sweepWorkspaces periodically deletes workspaces that no session needs, until the service is
// closed.
func (w *Workspaces) sweepWorkspaces() {
	ticker := time.NewTicker(sweepWorkspacesInterval)
	defer ticker.Stop()
	for {
		w.starts.dropAbandoned(w.ctx)
		if err := w.settings.Workspaces.Sweep(w.ctx, w.needsWorkspace); err != nil {
			w.logError(w.ctx, "deleting abandoned workspaces failed", err)
		}
		select {
		case <-ticker.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// needsWorkspace reports whether a session has or may have a workspace.
func (w *Workspaces) needsWorkspace(ctx context.Context, o *workspace.Orphan) bool {
	session, err := w.settings.Store.Session(ctx, store.Everything, o.SessionID)
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
		return w.hasLiveTurns(ctx, session.ID)
	default:
		r := recordOf(session)
		return r != nil && r.Name == o.Name
	}
}
