package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Prune deletes expired records.
func (m *Store) Prune(ctx context.Context, r store.Retention) (out store.Pruned, err error) {
	err = m.withLock(ctx, func() error {
		out, err = rules.Prune(ctx, r, rules.Pruner{Sessions: m.pruneSessions, Events: m.pruneEvents, Keys: m.pruneKeys, Revisions: m.pruneRevisions, Usage: m.pruneUsage})
		return err
	})
	return out, err
}

// pruneKeys deletes old idempotency keys.
func (m *Store) pruneKeys(_ context.Context, c rules.Cutoff) (int, error) {
	before := len(m.keys)
	maps.DeleteFunc(m.keys, func(_ string, k *key) bool { return k.at.Before(c.Before) })
	return before - len(m.keys), nil
}

// pruneSessions deletes old sessions without a live turn, oldest first.
func (m *Store) pruneSessions(_ context.Context, c rules.Cutoff) (int, error) {
	var old []*session
	for _, s := range m.sessions {
		if len(s.live) == 0 && s.ActiveAt.Before(c.Before) &&
			(s.ActiveAt.Before(c.Latest) || !slices.ContainsFunc(s.turns, (*turn).hasActiveWebhook)) {
			old = append(old, s)
		}
	}
	slices.SortFunc(old, func(a, b *session) int { return cmp.Or(a.ActiveAt.Compare(b.ActiveAt), cmp.Compare(a.ID, b.ID)) })
	old = old[:min(c.Limit, len(old))]
	for _, s := range old {
		m.deleteSession(s)
	}
	return len(old), nil
}

// pruneEvents deletes the events, journals, model requests and webhooks of turns that ended
// long ago.
func (m *Store) pruneEvents(_ context.Context, c rules.Cutoff) (n int, err error) {
	for _, t := range m.turns {
		if n < c.Limit && !t.Status.Live() && len(t.events)+len(t.journal)+len(t.webhooks)+len(t.requests) > 0 && t.FinishedAt.Before(c.Before) &&
			(t.FinishedAt.Before(c.Latest) || !t.hasActiveWebhook()) {
			t.events, t.journal, t.webhooks, t.requests = nil, nil, nil, nil
			delete(m.told, t.ID)
			n++
		}
	}
	return n, nil
}
