package memory

import (
	"cmp"
	"context"
	"maps"

	"github.com/agentruntime/agentruntime/store"
)

// defaultLimit is how much one call of Prune deletes.
const defaultLimit = 1000

// Prune deletes what is too old.
func (m *Store) Prune(ctx context.Context, r store.Retention) (out store.Pruned, err error) {
	limit := cmp.Or(r.Limit, defaultLimit)
	err = m.look(ctx, func() error {
		if r.Sessions > 0 {
			out.Sessions = m.pruneSessions(&r, limit)
		}
		if r.Events > 0 {
			out.Turns = m.pruneEvents(&r, limit)
		}
		if r.Keys > 0 {
			before := len(m.keys)
			maps.DeleteFunc(m.keys, func(_ string, k *key) bool { return k.at.Before(r.Now.Add(-r.Keys)) })
			out.Keys = before - len(m.keys)
		}
		return nil
	})
	return out, err
}

func (m *Store) pruneSessions(r *store.Retention, limit int) (n int) {
	for _, s := range m.sessions {
		live := false
		for _, t := range s.turns {
			live = live || t.Status.Live()
		}
		if n < limit && !live && s.ActiveAt.Before(r.Now.Add(-r.Sessions)) {
			m.drop(s)
			n++
		}
	}
	return n
}

func (m *Store) pruneEvents(r *store.Retention, limit int) (n int) {
	for _, t := range m.turns {
		if n < limit && !t.Status.Live() && len(t.events)+len(t.journal) > 0 && t.FinishedAt.Before(r.Now.Add(-r.Events)) {
			t.events, t.journal = nil, nil
			n++
		}
	}
	return n
}
