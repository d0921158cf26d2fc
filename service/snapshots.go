package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// Snapshot is the state of a session as a successful turn left it.
type Snapshot struct {
	store.Snapshot
	// State is what it holds; nil when a StateTransform left it out.
	State *SessionState
}

// SessionState is what a session has come to.
type SessionState struct {
	// Messages is the conversation, the oldest first.
	Messages []model.Message `json:"messages,omitempty"`
	// Custom is the application's own state; nil when there is none.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Artifacts are those that the session holds, without their data.
	Artifacts []tools.Artifact `json:"artifacts,omitempty"`
}

// StateTransform changes a state before a caller sees it. It is handed a copy of
// its own. Nil leaves the state out, an error refuses the caller. What is stored
// and what agents see is not changed. It is also asked for what custom_patch
// events show, with the application's state alone; nil or an error leaves such an
// event out.
type StateTransform func(ctx context.Context, state *SessionState) (*SessionState, error)

// errHidden says that a StateTransform left a state out.
var errHidden = errors.New("the state is not shown")

// shownCustom returns the application's state as callers see it, while its turn
// runs.
func (s *Service) shownCustom(ctx context.Context, turnID string, custom json.RawMessage) (json.RawMessage, error) {
	state, err := s.transformed(ctx, "of turn "+turnID, &SessionState{Custom: custom})
	switch {
	case err != nil:
		s.Logger.Warn("a change of the application's state is not shown", zap.String("turn_id", turnID), zap.Error(err))
		return nil, err
	case state == nil:
		return nil, errHidden
	default:
		return state.Custom, nil
	}
}

// GetSnapshot returns a snapshot with its state.
func (s *Service) GetSnapshot(ctx context.Context, caller Caller, id string) (*Snapshot, error) {
	kept, err := s.readSnapshot(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	state, err := s.stateOf(ctx, kept)
	if err != nil {
		return nil, err
	}
	if state, err = s.transformed(ctx, id, state); err != nil {
		return nil, err
	}
	return &Snapshot{Snapshot: *withoutState(kept), State: state}, nil
}

// withoutState returns a snapshot without what a StateTransform may hide.
func withoutState(kept *store.Snapshot) *store.Snapshot {
	kept.Custom, kept.State, kept.Artifacts = nil, nil, nil
	return kept
}

// ListSnapshots returns a page of a session's snapshots, the newest first,
// without their states. The scope of the query is set by the caller.
func (s *Service) ListSnapshots(ctx context.Context, caller Caller, q store.SnapshotQuery) (store.SnapshotPage, error) {
	var err error
	if q.Scope, err = caller.scope(); err != nil {
		return store.SnapshotPage{}, err
	}
	if _, err := s.readSession(ctx, caller, q.SessionID); err != nil {
		return store.SnapshotPage{}, err
	}
	page, err := s.Store.Snapshots(ctx, q)
	for _, kept := range page.Snapshots {
		withoutState(kept)
	}
	return page, err
}

// GetArtifact returns an artifact with its data.
func (s *Service) GetArtifact(ctx context.Context, caller Caller, id string) (*store.Artifact, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	a, err := s.Store.Artifact(ctx, scope, id)
	if err == nil && caller.Agents != nil {
		if a.TurnID != "" {
			_, err = s.readTurn(ctx, caller, a.TurnID)
		} else { // it came with an import or a fork
			_, err = s.readSession(ctx, caller, a.SessionID)
		}
	}
	if err != nil {
		return nil, named(err, "artifact", id)
	}
	return a, nil
}

func (s *Service) stateOf(ctx context.Context, kept *store.Snapshot) (*SessionState, error) {
	conversation, err := s.Store.Conversation(ctx, kept.ID)
	if err != nil {
		return nil, err
	}
	state := &SessionState{Custom: kept.Custom}
	if state.Messages, err = decodeMessages(conversation); err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", kept.ID, err)
	}
	if len(kept.Artifacts) > 0 {
		if err := json.Unmarshal(kept.Artifacts, &state.Artifacts); err != nil {
			return nil, fmt.Errorf("read the artifacts of snapshot %s: %w", kept.ID, err)
		}
	}
	return state, nil
}

// transformed returns a state as callers see it.
func (s *Service) transformed(ctx context.Context, id string, state *SessionState) (_ *SessionState, err error) {
	if s.StateTransform == nil {
		return state, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("show snapshot %s: %w", id, backend.Panicked(v))
		}
	}()
	state, err = s.StateTransform(ctx, state)
	if err != nil {
		return nil, fmt.Errorf("show snapshot %s: %w", id, err)
	}
	return state, nil
}

// ForkSession asks for a session that begins where another one is, or was.
type ForkSession struct {
	// SessionID is the session to fork, and SnapshotID the one of its snapshots
	// to begin with; empty is the latest.
	SessionID  string
	SnapshotID string
	// New is the session to make. Without an agent it has that of the other.
	New CreateSession
}

// ForkSession makes a session that belongs to the caller and begins with the
// conversation, state and artifacts of a snapshot of another one, of which it is
// independent from then on.
func (s *Service) ForkSession(ctx context.Context, caller Caller, req ForkSession) (*store.Session, error) {
	export, err := s.export(ctx, caller, req.SessionID, req.SnapshotID)
	if err != nil {
		return nil, err
	}
	if req.New.AgentID == "" {
		req.New.AgentID = export.Session.AgentID
	}
	export.flatten()
	return s.found(ctx, caller, req.New, export, req)
}
