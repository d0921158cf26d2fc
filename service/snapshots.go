package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// Snapshots reads the snapshots of sessions and the artifacts of turns. It is safe for concurrent
// use.
type Snapshots struct{ *core }

// Snapshot is the state of a session after a successful turn.
type Snapshot struct {
	store.Snapshot
	// State is the stored state; nil when a StateTransform omitted it.
	State *SessionState
}

// errHidden means that a StateTransform omitted a state.
var errHidden = errors.New("the state is not shown")

// shownCustom returns the application's state in the callers' form, while its turn runs.
func (s *Snapshots) shownCustom(ctx context.Context, turnID string, custom json.RawMessage) (json.RawMessage, error) {
	state, err := s.transformState(ctx, "of turn "+turnID, &SessionState{Custom: custom})
	switch {
	case err != nil:
		s.settings.Logger.Warn("a change of the application's state is not shown", zap.String("turn_id", turnID), zap.Error(err))
		return nil, err
	case state == nil:
		return nil, errHidden
	default:
		return state.Custom, nil
	}
}

// GetSnapshot returns a snapshot with its state.
func (s *Snapshots) GetSnapshot(ctx context.Context, caller Caller, id string) (*Snapshot, error) {
	kept, err := s.readSnapshot(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	state, err := s.stateOf(ctx, kept)
	if err != nil {
		return nil, err
	}
	if state, err = s.transformState(ctx, id, state); err != nil {
		return nil, err
	}
	return &Snapshot{Snapshot: *withoutState(kept), State: state}, nil
}

// GetSnapshotHead returns a snapshot with its state but without the conversation, so its cost
// does not grow. A StateTransform gets a state without messages, as for custom_patch events.
func (s *Snapshots) GetSnapshotHead(ctx context.Context, caller Caller, id string) (*Snapshot, error) {
	kept, err := s.readSnapshot(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	state := &SessionState{Custom: kept.Custom}
	if state.Artifacts, err = artifactsOf(kept); err != nil {
		return nil, err
	}
	if state, err = s.transformState(ctx, id, state); err != nil {
		return nil, err
	}
	return &Snapshot{Snapshot: *withoutState(kept), State: state}, nil
}

// withoutState returns a snapshot without the parts that a StateTransform may hide.
func withoutState(kept *store.Snapshot) *store.Snapshot {
	kept.Custom, kept.State, kept.Artifacts = nil, nil, nil
	return kept
}

// ListSnapshots returns a page of a session's snapshots, newest first, without their states. The
// scope of the query is set from the caller.
func (s *Snapshots) ListSnapshots(ctx context.Context, caller Caller, q store.SnapshotQuery) (store.SnapshotPage, error) {
	var err error
	if q.Scope, err = caller.toScope(); err != nil {
		return store.SnapshotPage{}, err
	}
	if _, err := s.readSession(ctx, caller, q.SessionID); err != nil {
		return store.SnapshotPage{}, err
	}
	page, err := s.settings.Store.Snapshots(ctx, q)
	for _, kept := range page.Snapshots {
		withoutState(kept)
	}
	return page, err
}

// GetArtifact returns an artifact with its data.
func (s *Snapshots) GetArtifact(ctx context.Context, caller Caller, id string) (*store.Artifact, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	a, err := s.settings.Store.Artifact(ctx, scope, id)
	if err == nil && caller.Agents != nil {
		if a.TurnID != "" {
			_, err = s.readTurn(ctx, caller, a.TurnID)
		} else { // it came with an import or a fork
			_, err = s.readSession(ctx, caller, a.SessionID)
		}
	}
	if err != nil {
		return nil, nameNotFound(err, "artifact", id)
	}
	return a, nil
}

// ListArtifacts returns the artifacts that a turn created, in order, without their data.
func (s *Snapshots) ListArtifacts(ctx context.Context, caller Caller, turnID string) ([]*store.Artifact, error) {
	t, err := s.readTurn(ctx, caller, turnID)
	if err != nil {
		return nil, err
	}
	return s.settings.Store.Artifacts(ctx, store.Of(t.Owner), turnID)
}

func (s *Snapshots) stateOf(ctx context.Context, kept *store.Snapshot) (*SessionState, error) {
	conversation, err := s.settings.Store.Conversation(ctx, kept.ID)
	if err != nil {
		return nil, err
	}
	state := &SessionState{Custom: kept.Custom}
	if state.Messages, err = work.DecodeMessages(conversation); err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", kept.ID, err)
	}
	if state.Artifacts, err = artifactsOf(kept); err != nil {
		return nil, err
	}
	return state, nil
}

// artifactsOf returns the artifacts that a snapshot holds, without their data.
func artifactsOf(kept *store.Snapshot) (list []tools.Artifact, err error) {
	if len(kept.Artifacts) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(kept.Artifacts, &list); err != nil {
		return nil, fmt.Errorf("read the artifacts of snapshot %s: %w", kept.ID, err)
	}
	return list, nil
}

// transformState returns a state in the callers' form.
func (s *Snapshots) transformState(ctx context.Context, id string, state *SessionState) (_ *SessionState, err error) {
	if s.settings.StateTransform == nil {
		return state, nil
	}
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("show snapshot %s: %w", id, p)
	})
	state, err = s.settings.StateTransform(ctx, state)
	if err != nil {
		return nil, fmt.Errorf("show snapshot %s: %w", id, err)
	}
	return state, nil
}
