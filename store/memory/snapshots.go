package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
)

// Snapshot returns a snapshot.
func (m *Store) Snapshot(ctx context.Context, scope store.Scope, id string) (found *store.Snapshot, err error) {
	err = m.look(ctx, func() error {
		kept, ok := m.snapshots[id]
		if !ok || !scope.Sees(kept.Owner) {
			return store.ErrNotFound
		}
		found = copySnapshot(kept)
		return nil
	})
	return found, err
}

// Snapshots returns a page of a session's snapshots.
func (m *Store) Snapshots(ctx context.Context, q store.SnapshotQuery) (out store.SnapshotPage, err error) {
	err = m.look(ctx, func() error {
		var list []*store.Snapshot
		for _, kept := range m.snapshots {
			if kept.SessionID == q.SessionID && q.Scope.Sees(kept.Owner) {
				list = append(list, copySnapshot(kept))
			}
		}
		out.Snapshots, out.Next, err = page(list, q.Page, func(k *store.Snapshot) store.Cursor { return store.Cursor{Time: k.CreatedAt, ID: k.ID} })
		return err
	})
	return out, err
}

// Conversation returns the messages up to and with a snapshot.
func (m *Store) Conversation(ctx context.Context, snapshotID string) (all [][]byte, err error) {
	err = m.look(ctx, func() error {
		var chain []*store.Snapshot
		for kept, ok := m.snapshots[snapshotID]; ok; kept, ok = m.snapshots[kept.ParentID] {
			chain = append(chain, kept)
		}
		if len(chain) == 0 {
			return store.ErrNotFound
		}
		for _, kept := range slices.Backward(chain) {
			all = append(all, copyList(m.messages[cmp.Or(kept.TurnID, kept.ID)])...)
		}
		return nil
	})
	return all, err
}

// OwnMessages returns the messages that a snapshot or a turn adds itself.
func (m *Store) OwnMessages(ctx context.Context, ownerID string) (own [][]byte, err error) {
	err = m.look(ctx, func() error {
		if kept, ok := m.snapshots[ownerID]; ok && kept.TurnID != "" {
			ownerID = kept.TurnID
		}
		own = copyList(m.messages[ownerID])
		return nil
	})
	return own, err
}

// Artifact returns an artifact with its data.
func (m *Store) Artifact(ctx context.Context, scope store.Scope, id string) (found *store.Artifact, err error) {
	err = m.look(ctx, func() error {
		a, ok := m.artifacts[id]
		if !ok || !scope.Sees(a.Owner) {
			return store.ErrNotFound
		}
		found = copyArtifact(a)
		return nil
	})
	return found, err
}

// Artifacts returns those that a turn made, without their data.
func (m *Store) Artifacts(ctx context.Context, scope store.Scope, turnID string) (list []*store.Artifact, err error) {
	err = m.look(ctx, func() error {
		t, err := m.turn(scope, turnID)
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
	c.Custom, c.State, c.Artifacts = bytes.Clone(s.Custom), bytes.Clone(s.State), bytes.Clone(s.Artifacts)
	return &c
}

func copyArtifact(a *store.Artifact) *store.Artifact {
	c := *a
	c.Data, c.Metadata = bytes.Clone(a.Data), bytes.Clone(a.Metadata)
	return &c
}
