package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// admit queues a pending turn if it is due, its session is free, and its tenant
// has room. It reports whether it did.
func (m *Store) admit(t *turn, now time.Time, jobs *jobs) bool {
	if t.Status != store.Pending || t.Admitted || t.NotBefore.After(now) || !m.next(t, now) || !m.room(t.Owner.Tenant) {
		return false
	}
	t.Admitted = true
	*jobs = append(*jobs, store.Job{TurnID: t.ID})
	return true
}

// next reports whether a turn is the next of its session: the one that has
// begun, and else the first that is due.
func (m *Store) next(t *turn, now time.Time) bool {
	s := m.sessions[t.SessionID]
	if begun := s.started(); begun != nil {
		return begun == t
	}
	i := slices.IndexFunc(s.turns, func(t *turn) bool { return t.Status.Live() && (t.Admitted || !t.NotBefore.After(now)) })
	return i >= 0 && s.turns[i] == t
}

// room reports whether a tenant may have one more admitted turn.
func (m *Store) room(tenant string) bool {
	if m.settings.TenantTurns == 0 {
		return true
	}
	n := 0
	for _, t := range m.turns {
		if t.Owner.Tenant == tenant && t.Admitted {
			n++
		}
	}
	return n < m.settings.TenantTurns
}

// makeRoom admits what had to wait for a turn: the next of its session, and
// those of its tenant, in the order in which they were made.
func (m *Store) makeRoom(t *turn, now time.Time, jobs *jobs) {
	for _, held := range m.held() {
		if held.SessionID == t.SessionID || m.settings.TenantTurns > 0 && held.Owner.Tenant == t.Owner.Tenant {
			m.admit(held, now, jobs)
		}
	}
}

// held returns the pending turns that are not admitted, in the order in which
// they were made.
func (m *Store) held() []*turn {
	var list []*turn
	for _, t := range m.turns {
		if t.Status == store.Pending && !t.Admitted {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *turn) int { return cmp.Compare(a.order, b.order) })
	return list
}
