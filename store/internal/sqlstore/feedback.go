package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// feedbackRow is feedback with its number, which orders it.
type feedbackRow struct {
	store.Feedback
	n int64
}

const feedbackColumns = "n, turn_id, name, agent_id, tenant, subject, score, label, comment, author, updated_at"

func feedbackFields(r *feedbackRow) []any {
	return []any{&r.n, &r.TurnID, &r.Name, &r.AgentID, &r.Owner.Tenant, &r.Owner.Subject, &r.Score, &r.Label, &r.Comment, &r.Author, (*Time)(&r.UpdatedAt)}
}

// SaveFeedback stores feedback about a turn.
func (r *turnRecords) SaveFeedback(ctx context.Context, scope store.Scope, f *store.Feedback, limit int) (*store.Feedback, error) {
	if err := f.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "save feedback", f.Name+" of turn "+f.TurnID, func(ctx context.Context, s Session) (*store.Feedback, error) {
		return r.saveFeedback(ctx, s, scope, f, limit)
	})
}

// saveFeedback locks the turn, so that the limit holds.
func (r *turnRecords) saveFeedback(ctx context.Context, s Session, scope store.Scope, f *store.Feedback, limit int) (*store.Feedback, error) {
	turn, err := FindTurn(ctx, s, scope, f.TurnID, r.dialect.forUpdate)
	if err != nil {
		return nil, err
	}
	others, err := FindValue[int](ctx, s, "SELECT count(*) FROM feedback f WHERE f.turn_id = $1 AND f.name <> $2", f.TurnID, f.Name)
	if err != nil {
		return nil, err
	}
	if others >= limit {
		return nil, &store.LimitError{TurnID: f.TurnID, Kind: "kinds of feedback", Limit: limit}
	}
	saved, err := FindRow(ctx, s, feedbackFields, `INSERT INTO feedback (turn_id, name, agent_id, tenant, subject, score, label, comment, author, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (turn_id, name) DO UPDATE SET score = excluded.score, label = excluded.label, comment = excluded.comment,
		author = excluded.author, updated_at = excluded.updated_at RETURNING `+feedbackColumns,
		f.TurnID, f.Name, turn.AgentID, turn.Owner.Tenant, turn.Owner.Subject, f.Score, f.Label, f.Comment, f.Author, Time(f.UpdatedAt))
	if err != nil {
		return nil, err
	}
	return &saved.Feedback, nil
}

// Feedback returns a page of feedback, the first given last.
func (r *turnRecords) Feedback(ctx context.Context, q store.FeedbackQuery) (page store.FeedbackPage, err error) {
	f := r.dialect.newFilter("SELECT " + feedbackColumns + " FROM feedback")
	f.Scope(q.Scope)
	f.equals("turn_id", q.TurnID)
	f.equals("agent_id", q.AgentID)
	f.equals("name", q.Name)
	if q.MaxScore != nil {
		f.where("score <= " + f.Arg(*q.MaxScore))
	}
	if !q.Since.IsZero() {
		f.where("updated_at >= " + f.Time(q.Since))
	}
	rows, next, err := readNumbered(ctx, r.db.Reader, f, "n", q.Page, feedbackFields, func(row *feedbackRow) store.Cursor { return rules.NumberCursor(row.UpdatedAt, row.n) })
	for _, row := range rows {
		page.Feedback = append(page.Feedback, &row.Feedback)
	}
	page.Next = next
	return page, r.db.WrapError("list feedback of turn", q.TurnID, err)
}
