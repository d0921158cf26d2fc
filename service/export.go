package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// ExportVersion is the version of the export format of sessions.
const ExportVersion = 1

// SessionExport is a session in a form that can be stored in a file and imported elsewhere: its
// description, the chain of snapshots from the first to the tip with the additions of each turn,
// and the artifacts. Events, and turns that left no snapshot, are not included.
type SessionExport struct {
	Version    int              `json:"version"`
	ExportedAt time.Time        `json:"exported_at"`
	Session    ExportedSession  `json:"session"`
	Snapshots  []ExportedState  `json:"snapshots,omitempty"`
	Artifacts  []tools.Artifact `json:"artifacts,omitempty"`
}

// ExportedSession describes an exported session.
type ExportedSession struct {
	ID        string             `json:"id"`
	AgentID   string             `json:"agent_id,omitempty"`
	State     store.SessionState `json:"state"`
	Labels    map[string]string  `json:"labels,omitempty"`
	Metadata  json.RawMessage    `json:"metadata,omitempty"`
	CreatedAt time.Time          `json:"created_at"`
}

// ExportedState is a snapshot of an exported session.
type ExportedState struct {
	ID           string    `json:"id"`
	FinishReason string    `json:"finish_reason,omitempty"`
	CreatedAt    time.Time `json:"created_at"`
	// AgentID is the agent that the turn was created for, and CurrentAgentID the agent that had the
	// conversation at its end.
	AgentID        string `json:"agent_id,omitempty"`
	CurrentAgentID string `json:"current_agent_id,omitempty"`
	// Messages are the messages that the snapshot's turn was given and added.
	Messages  []json.RawMessage `json:"messages,omitempty"`
	Custom    json.RawMessage   `json:"custom,omitempty"`
	Plugins   json.RawMessage   `json:"plugins,omitempty"`
	Artifacts json.RawMessage   `json:"artifacts,omitempty"`
}

// listArtifacts returns the artifacts that the session had at the snapshot.
func (e *ExportedState) listArtifacts() ([]tools.Artifact, error) {
	var list []tools.Artifact
	if len(e.Artifacts) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(e.Artifacts, &list); err != nil {
		return nil, &InvalidError{"snapshots", fmt.Sprintf("the artifacts of snapshot %s: %v", e.ID, err)}
	}
	return list, nil
}

// flattenChain merges the chain into one snapshot: the last, with all messages.
func (e *SessionExport) flattenChain() {
	if len(e.Snapshots) < 2 {
		return
	}
	var all []json.RawMessage
	for i := range e.Snapshots {
		all = append(all, e.Snapshots[i].Messages...)
	}
	last := e.Snapshots[len(e.Snapshots)-1]
	last.Messages = all
	e.Snapshots = []ExportedState{last}
}

// ExportSession returns a session with the whole content of its tip.
func (s *Sessions) ExportSession(ctx context.Context, caller Caller, id string) (*SessionExport, error) {
	return s.exportSession(ctx, caller, id, "")
}

// exportSession returns a session up to a snapshot; empty means the tip.
func (s *Sessions) exportSession(ctx context.Context, caller Caller, id, snapshotID string) (*SessionExport, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	session, err := s.readSession(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	out := &SessionExport{Version: ExportVersion, ExportedAt: s.now(), Session: ExportedSession{
		ID: event.ShownID(session.ID), AgentID: session.AgentID, State: session.State, Labels: session.Labels, Metadata: PublicMetadata(session.Metadata), CreatedAt: session.CreatedAt,
	}}
	first := snapshotID
	if first == "" {
		first = session.Tip
	}
	for next := first; next != ""; {
		kept, err := s.settings.Store.Snapshot(ctx, scope, next)
		if err == nil && kept.SessionID != session.ID {
			err = store.ErrNotFound
		}
		if err != nil {
			return nil, nameNotFound(err, "snapshot", next)
		}
		state, err := s.exportState(ctx, kept)
		if err != nil {
			return nil, err
		}
		out.Snapshots = append(out.Snapshots, *state)
		next = kept.ParentID
	}
	slices.Reverse(out.Snapshots)
	return out, s.exportArtifacts(ctx, scope, out)
}

func (s *Sessions) exportState(ctx context.Context, kept *store.Snapshot) (*ExportedState, error) {
	owner := kept.TurnID
	if owner == "" {
		owner = kept.ID
	}
	own, err := s.settings.Store.OwnMessages(ctx, owner)
	if err != nil {
		return nil, err
	}
	state := &ExportedState{
		ID: kept.ID, FinishReason: kept.FinishReason, CreatedAt: kept.CreatedAt, AgentID: kept.AgentID, CurrentAgentID: kept.CurrentAgentID,
		Custom: kept.Custom, Plugins: kept.State, Artifacts: kept.Artifacts,
	}
	for _, m := range own {
		state.Messages = append(state.Messages, m)
	}
	return state, nil
}

// exportArtifacts adds the artifacts that the snapshots refer to.
func (s *Sessions) exportArtifacts(ctx context.Context, scope store.Scope, out *SessionExport) error {
	seen := make(map[string]bool)
	for i := range out.Snapshots {
		list, err := out.Snapshots[i].listArtifacts()
		if err != nil {
			return err
		}
		for _, a := range list {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			kept, err := s.settings.Store.Artifact(ctx, scope, a.ID)
			if err != nil {
				return nameNotFound(err, "artifact", a.ID)
			}
			a.Data = kept.Data
			out.Artifacts = append(out.Artifacts, a)
		}
	}
	return nil
}
