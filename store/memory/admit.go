package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// admitTurn queues a pending turn if it is the next of its session and its tenant
// has room. It reports whether it did.
func (m *Store) admitTurn(t *turn, now time.Time, jobs *jobs) bool {
	if t.Status != store.Pending || t.Admitted || m.sessions[t.SessionID].nextTurn(now) != t || !m.hasRoom(t.Owner.Tenant) {
		return false
	}
	t.Admitted = true
	*jobs = append(*jobs, store.Job{TurnID: t.ID})
	return true
}

// startedTurn returns the live turn that has begun, or nil if none.
func (s *session) startedTurn() *turn {
	i := slices.IndexFunc(s.live, func(t *turn) bool { return !t.StartedAt.IsZero() })
	if i < 0 {
		return nil
	}
	return s.live[i]
}

// nextTurn returns the session's next turn: the turn that has started, or else the first that is
// due or admitted; nil if none.
func (s *session) nextTurn(now time.Time) *turn {
	if t := s.startedTurn(); t != nil {
		return t
	}
	i := slices.IndexFunc(s.live, func(t *turn) bool { return t.Admitted || !t.NotBefore.After(now) })
	if i < 0 {
		return nil
	}
	return s.live[i]
}

// hasRoom reports whether a tenant may have one more admitted turn.
func (m *Store) hasRoom(tenant string) bool {
	if m.settings.TenantTurns <= 0 {
		return true
	}
	n := 0
	for _, t := range m.live {
		if t.Owner.Tenant == tenant && t.Admitted {
			n++
		}
	}
	return n < m.settings.TenantTurns
}

// makeRoom admits turns that had to wait for t: the next turn of its session, or with a limit the
// oldest turns of its tenant.
func (m *Store) makeRoom(t *turn, now time.Time, jobs *jobs) {
	if m.settings.TenantTurns <= 0 {
		if next := m.sessions[t.SessionID].nextTurn(now); next != nil {
			m.admitTurn(next, now, jobs)
		}
		return
	}
	for _, other := range m.inOrder() {
		if other.Owner.Tenant == t.Owner.Tenant {
			m.admitTurn(other, now, jobs)
		}
	}
}

// inOrder returns the live turns in creation order.
func (m *Store) inOrder() []*turn {
	return slices.SortedFunc(maps.Values(m.live), func(a, b *turn) int { return cmp.Compare(a.order, b.order) })
}
