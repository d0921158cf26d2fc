package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// feedback is a store.Feedback with its position in creation order.
type feedback struct {
	store.Feedback
	order int64
}

// SaveFeedback stores feedback about a turn.
func (m *Store) SaveFeedback(ctx context.Context, scope store.Scope, f *store.Feedback, limit int) (saved *store.Feedback, err error) {
	if err := f.CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		t, err := m.findTurn(scope, f.TurnID)
		if err != nil {
			return err
		}
		kept := &feedback{Feedback: *f}
		if at := slices.IndexFunc(t.feedback, func(other *feedback) bool { return other.Name == f.Name }); at >= 0 {
			kept.order, t.feedback[at] = t.feedback[at].order, kept
		} else {
			if len(t.feedback) >= limit {
				return &store.LimitError{TurnID: t.ID, Kind: "kinds of feedback", Limit: limit}
			}
			m.rated++
			kept.order, t.feedback = m.rated, append(t.feedback, kept)
		}
		kept.AgentID, kept.Owner, kept.UpdatedAt = t.AgentID, t.Owner, truncateTime(f.UpdatedAt)
		saved = copyFeedback(kept)
		return nil
	})
	return saved, err
}

// Feedback returns a page of feedback in reverse order of creation.
func (m *Store) Feedback(ctx context.Context, q store.FeedbackQuery) (page store.FeedbackPage, err error) {
	err = m.withLock(ctx, func() error {
		before, err := q.Page.Place()
		if err != nil {
			return err
		}
		var list []*feedback
		for _, t := range m.turns {
			for _, f := range t.feedback {
				if f.order < before && matchesFeedback(&q, &f.Feedback) {
					list = append(list, f)
				}
			}
		}
		slices.SortFunc(list, func(a, b *feedback) int { return cmp.Compare(b.order, a.order) })
		list, page.Next = rules.CutPage(list, q.Page, func(f *feedback) store.Cursor { return rules.NumberCursor(f.UpdatedAt, f.order) })
		for _, f := range list {
			page.Feedback = append(page.Feedback, copyFeedback(f))
		}
		return nil
	})
	return page, err
}

// matchesFeedback reports whether a query selects feedback, regardless of the page.
func matchesFeedback(q *store.FeedbackQuery, f *store.Feedback) bool {
	return q.Scope.Sees(f.Owner) && (q.TurnID == "" || q.TurnID == f.TurnID) && (q.AgentID == "" || q.AgentID == f.AgentID) &&
		(q.Name == "" || q.Name == f.Name) && (q.MaxScore == nil || f.Score != nil && *f.Score <= *q.MaxScore) && !f.UpdatedAt.Before(truncateTime(q.Since))
}

func copyFeedback(f *feedback) *store.Feedback {
	c := f.Feedback
	if f.Score != nil {
		score := *f.Score
		c.Score = &score
	}
	return &c
}
