package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
)

// SaveModelRequest stores a request to a model.
func (m *Store) SaveModelRequest(ctx context.Context, r *store.ModelRequest) error {
	if err := r.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		t, err := m.findTurn(store.Everything, r.TurnID)
		if err != nil {
			return err
		}
		t.requests = slices.DeleteFunc(t.requests, func(other *store.ModelRequest) bool { return other.MessageID == r.MessageID && other.Call == r.Call })
		kept := copyModelRequest(r)
		kept.SentAt = truncateTime(r.SentAt)
		t.requests = append(t.requests, kept)
		return nil
	})
}

// ModelRequests returns the requests for a message of a turn.
func (m *Store) ModelRequests(ctx context.Context, turnID, messageID string) (list []*store.ModelRequest, err error) {
	err = m.withLock(ctx, func() error {
		if t := m.turns[turnID]; t != nil {
			for _, r := range t.requests {
				if r.MessageID == messageID {
					list = append(list, copyModelRequest(r))
				}
			}
		}
		slices.SortFunc(list, func(a, b *store.ModelRequest) int { return cmp.Compare(a.Call, b.Call) })
		return nil
	})
	return list, err
}

func copyModelRequest(r *store.ModelRequest) *store.ModelRequest {
	c := *r
	c.Request = bytes.Clone(r.Request)
	return &c
}
