package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Snapshot returns a snapshot.
func (m *Store) Snapshot(ctx context.Context, scope store.Scope, id string) (found *store.Snapshot, err error) {
	err = m.withLock(ctx, func() error {
		s, ok := m.snapshots[id]
		if !ok || !scope.Sees(s.Owner) {
			return store.ErrNotFound
		}
		found = copySnapshot(s)
		return nil
	})
	return found, err
}

// Snapshots returns a page of a session's snapshots.
func (m *Store) Snapshots(ctx context.Context, q store.SnapshotQuery) (out store.SnapshotPage, err error) {
	err = m.withLock(ctx, func() error {
		var list []*store.Snapshot
		for _, s := range m.snapshots {
			if s.SessionID == q.SessionID && q.Scope.Sees(s.Owner) {
				list = append(list, copySnapshot(s))
			}
		}
		out.Snapshots, out.Next, err = rules.SortPage(list, q.Page, rules.SnapshotCursor)
		return err
	})
	return out, err
}

// Conversation returns the messages up to and including a snapshot.
func (m *Store) Conversation(ctx context.Context, snapshotID string) (all [][]byte, err error) {
	err = m.withLock(ctx, func() error {
		var chain []*store.Snapshot
		for s, ok := m.snapshots[snapshotID]; ok; s, ok = m.snapshots[s.ParentID] {
			chain = append(chain, s)
		}
		if len(chain) == 0 {
			return store.ErrNotFound
		}
		for _, s := range slices.Backward(chain) {
			all = append(all, copyList(m.messages[cmp.Or(s.TurnID, s.ID)])...)
		}
		return nil
	})
	return all, err
}

// OwnMessages returns the messages that a snapshot or a turn adds itself.
func (m *Store) OwnMessages(ctx context.Context, ownerID string) (own [][]byte, err error) {
	err = m.withLock(ctx, func() error {
		if s, ok := m.snapshots[ownerID]; ok && s.TurnID != "" {
			ownerID = s.TurnID
		}
		own = copyList(m.messages[ownerID])
		return nil
	})
	return own, err
}

// Artifact returns an artifact with its data.
func (m *Store) Artifact(ctx context.Context, scope store.Scope, id string) (found *store.Artifact, err error) {
	err = m.withLock(ctx, func() error {
		a, ok := m.artifacts[id]
		if !ok || !scope.Sees(a.Owner) {
			return store.ErrNotFound
		}
		found = copyArtifact(a)
		return nil
	})
	return found, err
}

// Artifacts returns the artifacts that a turn made, without their data.
func (m *Store) Artifacts(ctx context.Context, scope store.Scope, turnID string) (list []*store.Artifact, err error) {
	err = m.withLock(ctx, func() error {
		t, err := m.findTurn(scope, turnID)
		if err != nil {
			return err
		}
		for _, id := range t.artifacts {
			a := *m.artifacts[id]
			a.Data, a.Metadata = nil, bytes.Clone(a.Metadata)
			list = append(list, &a)
		}
		return nil
	})
	return list, err
}

func copySnapshot(s *store.Snapshot) *store.Snapshot {
	c := *s
	c.Custom, c.State, c.Artifacts, c.CreatedAt = bytes.Clone(s.Custom), bytes.Clone(s.State), bytes.Clone(s.Artifacts), truncateTime(s.CreatedAt)
	return &c
}

func copyArtifact(a *store.Artifact) *store.Artifact {
	c := *a
	c.Data, c.Metadata, c.CreatedAt = bytes.Clone(a.Data), bytes.Clone(a.Metadata), truncateTime(a.CreatedAt)
	return &c
}
