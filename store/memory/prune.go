package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// defaultLimit is how much one call of Prune deletes.
const defaultLimit = 1000

// Prune deletes what is too old.
func (m *Store) Prune(ctx context.Context, r store.Retention) (out store.Pruned, err error) {
	limit := cmp.Or(r.Limit, defaultLimit)
	err = m.look(ctx, func() error {
		if r.Sessions > 0 {
			out.Sessions = m.pruneSessions(r.Now.Add(-r.Sessions), limit)
		}
		if r.Events > 0 {
			out.Turns = m.pruneEvents(r.Now.Add(-r.Events), limit)
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

// pruneSessions deletes old sessions without a live turn, the oldest first.
func (m *Store) pruneSessions(before time.Time, limit int) int {
	var old []*session
	for _, s := range m.sessions {
		if len(s.live) == 0 && s.ActiveAt.Before(before) &&
			(s.ActiveAt.Before(before.Add(-store.WebhookHold)) || !slices.ContainsFunc(s.turns, (*turn).tells)) {
			old = append(old, s)
		}
	}
	slices.SortFunc(old, func(a, b *session) int { return cmp.Or(a.ActiveAt.Compare(b.ActiveAt), cmp.Compare(a.ID, b.ID)) })
	old = old[:min(limit, len(old))]
	for _, s := range old {
		m.drop(s)
	}
	return len(old)
}

// pruneEvents deletes the events, journals and webhooks of turns that ended long
// ago.
func (m *Store) pruneEvents(before time.Time, limit int) (n int) {
	latest := before.Add(-store.WebhookHold)
	for _, t := range m.turns {
		if n < limit && !t.Status.Live() && len(t.events)+len(t.journal)+len(t.webhooks) > 0 && t.FinishedAt.Before(before) &&
			(t.FinishedAt.Before(latest) || !t.tells()) {
			t.events, t.journal, t.webhooks = nil, nil, nil
			delete(m.told, t.ID)
			n++
		}
	}
	return n
}
