package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// interactionByID returns an interaction of a turn, or nil if none.
func (t *turn) interactionByID(id string) *store.Interaction {
	i := slices.IndexFunc(t.interactions, func(i *store.Interaction) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return t.interactions[i]
}

// findInteraction returns an interaction that the scope sees, and its turn.
func (m *Store) findInteraction(scope store.Scope, turnID, id string) (*turn, *store.Interaction, error) {
	t, err := m.findTurn(scope, turnID)
	if err != nil {
		return nil, nil, err
	}
	i := t.interactionByID(id)
	if i == nil {
		return nil, nil, store.ErrNotFound
	}
	return t, i, nil
}

// Interaction returns an interaction.
func (m *Store) Interaction(ctx context.Context, scope store.Scope, turnID, id string) (found *store.Interaction, err error) {
	err = m.withLock(ctx, func() error {
		_, i, err := m.findInteraction(scope, turnID, id)
		if err == nil {
			found = copyInteraction(i)
		}
		return err
	})
	return found, err
}

// Interactions returns interactions, oldest first.
func (m *Store) Interactions(ctx context.Context, q store.InteractionQuery) (list []*store.Interaction, err error) {
	err = m.withLock(ctx, func() error {
		asked := m.turns
		if q.TurnID != "" {
			asked = map[string]*turn{q.TurnID: m.turns[q.TurnID]}
		}
		for _, t := range asked {
			if t == nil || !q.Scope.Sees(t.Owner) || q.SessionID != "" && q.SessionID != t.SessionID {
				continue
			}
			for _, i := range t.interactions {
				if q.State != "" && q.State != i.State || !q.ExpiredBy.IsZero() && (i.ExpiresAt.IsZero() || i.ExpiresAt.After(q.ExpiredBy)) {
					continue
				}
				found := copyInteraction(i)
				found.AgentID = t.AgentID
				list = append(list, found)
			}
		}
		slices.SortStableFunc(list, func(a, b *store.Interaction) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.TurnID, b.TurnID))
		})
		if limit := cmp.Or(q.Limit, store.MaxPage); len(list) > limit {
			list = list[:limit]
		}
		return nil
	})
	return list, err
}

// AnswerInteraction answers a pending interaction.
func (m *Store) AnswerInteraction(ctx context.Context, r *store.Answer) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = m.withJobs(ctx, func(jobs *jobs) error {
		t, i, err := m.findInteraction(r.Scope, r.TurnID, r.ID)
		if err != nil {
			return err
		}
		if i.State != store.InteractionPending {
			if err := rules.CheckAnswer(i, r); err != nil {
				return err
			}
		} else {
			i.State, i.Answer, i.AnsweredBy, i.AnsweredAt = store.InteractionAnswered, bytes.Clone(r.Answer), r.By, truncateTime(r.Now)
			if t.Status == store.Waiting {
				t.setStatus(store.Pending, truncateTime(r.Now))
				m.admitTurn(t, r.Now, jobs)
			}
		}
		resolved = copyInteraction(i)
		return nil
	})
	return resolved, err
}

func copyInteraction(i *store.Interaction) *store.Interaction {
	c := *i
	c.Request, c.Answer = bytes.Clone(i.Request), bytes.Clone(i.Answer)
	c.CreatedAt, c.ExpiresAt, c.AnsweredAt = truncateTime(i.CreatedAt), truncateTime(i.ExpiresAt), truncateTime(i.AnsweredAt)
	return &c
}
