package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// CreateSession creates a session of the caller. The errors are an *InvalidError, an
// *resolve.AgentNotFoundError, a *store.ExistsError, a *store.KeyConflictError and a
// *sessionstart.Error. On error, no session exists.
func (s *Sessions) CreateSession(ctx context.Context, caller Caller, req CreateSession) (*store.Session, error) {
	return s.createWithExport(ctx, caller, req, new(SessionExport), req)
}

// createWithExport creates a session that begins with an export; request is the body of its
// idempotency key.
func (s *Sessions) createWithExport(ctx context.Context, caller Caller, req CreateSession, export *SessionExport, request any) (*store.Session, error) {
	if _, err := caller.toScope(); err != nil {
		return nil, err
	}
	if err := checkSession(&req); err != nil {
		return nil, err
	}
	sees := func(id string) (bool, error) { return s.seesSessionID(ctx, caller, id) }
	return createOwn(caller, req.ID, sees, func(id string) (*store.Session, error) {
		named := req
		named.ID = id
		return s.createNamed(ctx, caller, named, export, request)
	})
}

// createNamed is createWithExport with an id that may be marked.
func (s *Sessions) createNamed(ctx context.Context, caller Caller, req CreateSession, export *SessionExport, request any) (*store.Session, error) {
	if req.AgentID != "" {
		if err := s.checkAgent(ctx, caller, req.Revision, req.AgentID); err != nil {
			return nil, err
		}
	}
	if err := s.workspaces.checkWorkspace(&req); err != nil {
		return nil, err
	}
	key, err := keyOf(req.IdempotencyKey, req.IdempotencyBody, request)
	if err != nil {
		return nil, err
	}
	id, now := req.ID, s.now()
	if id == "" {
		id = s.settings.NewID()
	}
	n := &store.NewSession{Key: key, Session: store.Session{
		ID: id, Owner: caller.toOwner(), AgentID: req.AgentID, State: store.SessionActive,
		Labels: req.Labels, Metadata: req.Metadata, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
	}}
	if err := s.importChain(n, export); err != nil {
		return nil, err
	}
	prepared, err := s.starts.preparationOf(ctx, n.Session.Owner.Tenant, &req)
	if err != nil {
		return nil, err
	}
	return s.starts.beginSession(ctx, n, prepared)
}

// importChain adds the chain of an export to a new session, under new ids.
func (s *Sessions) importChain(n *store.NewSession, export *SessionExport) error {
	renamed := make(map[string]string)
	for i := range export.Artifacts {
		a := &export.Artifacts[i]
		renamed[a.ID] = s.settings.NewID()
		n.Artifacts = append(n.Artifacts, &store.Artifact{
			ID: renamed[a.ID], SessionID: n.Session.ID, Owner: n.Session.Owner, Name: a.Name, MediaType: a.MediaType,
			Size: len(a.Data), Data: a.Data, Metadata: a.Metadata, CreatedAt: n.Session.CreatedAt,
		})
	}
	parent := ""
	for i := range export.Snapshots {
		e := &export.Snapshots[i]
		kept, err := s.importSnapshot(n, e, parent, renamed)
		if err != nil {
			return err
		}
		n.Base = append(n.Base, *kept)
		parent = kept.Snapshot.ID
	}
	n.Session.Tip = parent
	return nil
}

func (s *Sessions) importSnapshot(n *store.NewSession, e *ExportedState, parent string, renamed map[string]string) (*store.NewSnapshot, error) {
	list, err := e.listArtifacts()
	if err != nil {
		return nil, err
	}
	for i := range list {
		id, ok := renamed[list[i].ID]
		if !ok {
			return nil, &InvalidError{"artifacts", fmt.Sprintf("snapshot %s refers to artifact %s, which is not part of the export", e.ID, list[i].ID)}
		}
		list[i].ID = id
	}
	manifest, err := work.EncodeArtifacts(list)
	if err != nil {
		return nil, err
	}
	own := make([][]byte, len(e.Messages))
	for i, m := range e.Messages {
		own[i] = bytes.Clone(m)
	}
	if _, err := work.DecodeMessages(own); err != nil {
		return nil, &InvalidError{"snapshots", fmt.Sprintf("snapshot %s: %v", e.ID, err)}
	}
	return &store.NewSnapshot{Messages: own, Snapshot: store.Snapshot{
		ID: s.settings.NewID(), SessionID: n.Session.ID, Owner: n.Session.Owner, ParentID: parent, FinishReason: e.FinishReason,
		AgentID: e.AgentID, CurrentAgentID: e.CurrentAgentID,
		Custom: e.Custom, State: e.Plugins, Artifacts: manifest, CreatedAt: e.CreatedAt.UTC().Truncate(time.Microsecond),
	}}, nil
}

// checkAgent returns an error unless the caller may use the agent and the agent resolves.
func (s *Sessions) checkAgent(ctx context.Context, caller Caller, revision, agentID string) error {
	if err := checkAgent(caller, agentID); err != nil || s.settings.Runtime == nil {
		return err
	}
	rev, err := s.acquirePinned(ctx, caller.Tenant, revision, agentID)
	if err != nil {
		return err
	}
	defer rev.Release()
	err = s.settings.Runtime.CheckRequest(ctx, &runtime.Request{AgentID: agentID, Revision: rev})
	if _, ok := errors.AsType[*resolve.VariablesError](err); ok {
		return nil // turns bring them
	}
	return hideNearest(caller, err)
}

// ImportSession creates a session of the caller from an export. Without an id in the request, the
// session, its snapshots and its artifacts get new ids. It returns the errors of CreateSession, and
// an *InvalidError for an export that this runtime cannot read.
func (s *Sessions) ImportSession(ctx context.Context, caller Caller, req CreateSession, export *SessionExport) (*store.Session, error) {
	if export.Version != ExportVersion {
		return nil, &InvalidError{"version", fmt.Sprintf("the export has version %d; this runtime reads version %d", export.Version, ExportVersion)}
	}
	nameAgent(&req, export)
	if req.Labels == nil {
		req.Labels = export.Session.Labels
	}
	if req.Metadata == nil {
		var err error // hooks run again: it is another session
		if req.Metadata, err = sessionstart.Replace(export.Session.Metadata, nil); err != nil {
			return nil, err
		}
	}
	return s.createWithExport(ctx, caller, req, export, export)
}

// nameAgent gives a new session the agents of an export, unless its request names another,
// which then has the conversation.
func nameAgent(req *CreateSession, export *SessionExport) {
	if req.AgentID == "" {
		req.AgentID = export.Session.AgentID
		return
	}
	if n := len(export.Snapshots); n > 0 {
		last := &export.Snapshots[n-1]
		last.AgentID, last.CurrentAgentID = req.AgentID, req.AgentID
	}
}

// ForkSession creates a session that belongs to the caller and begins with the conversation, state
// and artifacts of a snapshot of another session. The two sessions are then independent.
func (s *Sessions) ForkSession(ctx context.Context, caller Caller, req ForkSession) (*store.Session, error) {
	export, err := s.exportSession(ctx, caller, req.SessionID, req.SnapshotID)
	if err != nil {
		return nil, err
	}
	nameAgent(&req.New, export)
	export.flattenChain()
	return s.createWithExport(ctx, caller, req.New, export, req)
}
