package snapshottest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/google/uuid"
)

// Memory is an in-memory snapshot store. It shows how to implement a store.
type Memory struct {
	mu   sync.Mutex
	rows map[string]*wire.Snapshot
	// changed is closed and replaced by each change.
	changed chan struct{}
}

var (
	_ agents.SnapshotStore   = (*Memory)(nil)
	_ agents.SnapshotWatcher = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{rows: make(map[string]*wire.Snapshot), changed: make(chan struct{})}
}

// GetSnapshot returns a snapshot, or nil.
func (m *Memory) GetSnapshot(_ context.Context, id string) (*wire.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copyRow(m.rows[id])
}

// GetLatestSnapshot returns the newest snapshot of a session, or nil.
func (m *Memory) GetLatestSnapshot(_ context.Context, sessionID string) (*wire.Snapshot, error) {
	if sessionID == "" {
		return nil, errors.New("the session id is empty")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var latest *wire.Snapshot
	for _, row := range m.rows {
		if row.SessionID != sessionID {
			continue
		}
		if latest == nil || row.CreatedAt.After(latest.CreatedAt) || row.CreatedAt.Equal(latest.CreatedAt) && row.SnapshotID > latest.SnapshotID {
			latest = row
		}
	}
	return copyRow(latest)
}

// SaveSnapshot changes a snapshot.
func (m *Memory) SaveSnapshot(_ context.Context, id string, change func(*wire.Snapshot) (*wire.Snapshot, error)) (*wire.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	existing, err := copyRow(m.rows[id])
	if err != nil {
		return nil, err
	}
	next, err := change(existing)
	if err != nil || next == nil {
		return nil, err
	}
	if next, err = copyRow(next); err != nil {
		return nil, err
	}
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	next.SnapshotID = id
	if before := m.rows[id]; before != nil {
		next.SessionID = before.SessionID
	}
	if next.SessionID == "" {
		return nil, fmt.Errorf("snapshot %s has no session", id)
	}
	m.rows[id] = next
	close(m.changed)
	m.changed = make(chan struct{})
	return copyRow(next)
}

// WatchStatus reports the status of a snapshot, and its changes.
func (m *Memory) WatchStatus(ctx context.Context, id string) (<-chan wire.SnapshotStatus, error) {
	out := make(chan wire.SnapshotStatus, 1)
	go func() { // ends with ctx, or with the snapshot
		defer close(out)
		var last wire.SnapshotStatus
		for {
			m.mu.Lock()
			row, changed := m.rows[id], m.changed
			m.mu.Unlock()
			if row == nil {
				return
			}
			if status := row.Status; status != last {
				select {
				case <-out: // an unread status
				default:
				}
				out <- status
				last = status
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// copyRow returns a deep copy of a snapshot; nil for nil.
func copyRow(in *wire.Snapshot) (*wire.Snapshot, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // there is no snapshot
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	out := new(wire.Snapshot) // an empty status is read as completed
	return out, json.Unmarshal(raw, out)
}
