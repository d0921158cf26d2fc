package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// SaveWebhook stores a webhook of a turn.
func (s *Store) SaveWebhook(ctx context.Context, n *store.NewWebhook) (saved *store.Webhook, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, tx *tx) error {
		saved, err = saveWebhook(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, wrap("save webhook", n.Webhook.ID+" of turn "+n.Webhook.TurnID, err)
	}
	return saved, nil
}

func saveWebhook(ctx context.Context, tx *tx, n *store.NewWebhook) (*store.Webhook, error) {
	h := &n.Webhook
	turn, err := getTurn(ctx, tx.Queries, n.Scope, h.TurnID)
	if err != nil {
		return nil, err
	}
	key, at := db.GetWebhookParams{TurnID: h.TurnID, ID: h.ID}, micros(h.CreatedAt)
	row, err := tx.GetWebhook(ctx, key)
	switch {
	case err == nil:
		err = tx.RenewWebhook(ctx, db.RenewWebhookParams{Surface: h.Surface, Data: h.Data, At: at, N: row.N})
	case errors.Is(err, sql.ErrNoRows):
		if err := hasRoom(ctx, tx, n); err != nil {
			return nil, err
		}
		err = tx.InsertWebhook(ctx, db.InsertWebhookParams{
			TurnID: h.TurnID, ID: h.ID, SessionID: turn.SessionID, Tenant: turn.Tenant, Subject: turn.Subject,
			Surface: h.Surface, Cursor: firstCursor(turn, n.FromStart), At: at, Data: h.Data,
		})
	}
	if err != nil {
		return nil, err
	}
	row, err = tx.GetWebhook(ctx, key)
	return webhookOf(&row), err
}

// hasRoom returns a *store.LimitError for a turn that has no room for one more
// webhook.
func hasRoom(ctx context.Context, tx *tx, n *store.NewWebhook) error {
	if n.Limit <= 0 {
		return nil
	}
	count, err := tx.CountWebhooks(ctx, n.Webhook.TurnID)
	if err == nil && count >= int64(n.Limit) {
		err = &store.LimitError{TurnID: n.Webhook.TurnID, Limit: n.Limit}
	}
	return err
}

// firstCursor returns behind which event a new webhook begins to tell.
func firstCursor(t *db.Turn, fromStart bool) int64 {
	switch {
	case fromStart:
		return 0
	case t.FinishedAt == 0:
		return t.Seq
	default:
		return max(0, t.Seq-1)
	}
}

// Webhook returns a webhook.
func (s *Store) Webhook(ctx context.Context, scope store.Scope, turnID, id string) (*store.Webhook, error) {
	row, err := getWebhook(ctx, s.queries, scope, turnID, id)
	if err != nil {
		return nil, wrap("read webhook", id+" of turn "+turnID, err)
	}
	return webhookOf(row), nil
}

// getWebhook returns a webhook that the scope sees.
func getWebhook(ctx context.Context, q *db.Queries, scope store.Scope, turnID, id string) (*db.Webhook, error) {
	row, err := q.GetWebhook(ctx, db.GetWebhookParams{TurnID: turnID, ID: id})
	if err == nil && !scope.Sees(store.Owner{Tenant: row.Tenant, Subject: row.Subject}) {
		err = store.ErrNotFound
	}
	return &row, err
}

// Webhooks returns a page of webhooks, the newest first.
func (s *Store) Webhooks(ctx context.Context, q store.WebhookQuery) (out store.WebhookPage, err error) {
	before, err := q.Page.Place()
	if err != nil {
		return out, err
	}
	f := &filter{query: webhookColumns + "webhooks w"}
	switch {
	case q.TurnID == "":
		f.scope(q.Scope)
	case q.Scope.All:
		f.where("turn_id = ?", q.TurnID)
	default: // the few of a turn are not looked for among all of its owner
		f.where("turn_id = ? AND +tenant = ? AND +subject = ?", q.TurnID, q.Scope.Owner.Tenant, q.Scope.Owner.Subject)
	}
	f.equals("surface", q.Surface)
	switch q.State {
	case store.WebhookDead:
		f.where("state = 'dead'") // as the index has it
	default:
		f.equals("state", string(q.State))
	}
	f.where("n < ?", before)
	size := q.Page.Size()
	rows, err := collect(ctx, s.read, f.text("ORDER BY n DESC LIMIT ?"), append(f.args, size+1), webhookFields)
	if err != nil {
		return out, wrap("list webhooks of turn", q.TurnID, err)
	}
	if len(rows) > size {
		rows = rows[:size]
		last := &rows[size-1]
		out.Next = store.Cursor{Time: instant(last.CreatedAt), ID: strconv.FormatInt(last.N, 10)}.String()
	}
	for i := range rows {
		out.Webhooks = append(out.Webhooks, webhookOf(&rows[i]))
	}
	return out, nil
}

const webhookColumns = `SELECT w.n, w.turn_id, w.id, w.session_id, w.tenant, w.subject, w.surface, w.state, w.cursor, w.attempts,
	w.failing_since, w.last_error, w.due_at, w.worker, w.fence, w.lease_until, w.created_at, w.updated_at, w.data FROM `

func webhookFields(r *db.Webhook) []any {
	return []any{
		&r.N, &r.TurnID, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.Surface, &r.State, &r.Cursor, &r.Attempts,
		&r.FailingSince, &r.LastError, &r.DueAt, &r.Worker, &r.Fence, &r.LeaseUntil, &r.CreatedAt, &r.UpdatedAt, &r.Data,
	}
}

// DeleteWebhook deletes a webhook.
func (s *Store) DeleteWebhook(ctx context.Context, scope store.Scope, turnID, id string) error {
	err := s.write(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getWebhook(ctx, tx.Queries, scope, turnID, id)
		if err != nil {
			return err
		}
		return tx.DeleteWebhook(ctx, row.N)
	})
	return wrap("delete webhook", id+" of turn "+turnID, err)
}

// ClaimWebhooks makes the worker the owner of webhooks. Nothing is written when
// there are none.
func (s *Store) ClaimWebhooks(ctx context.Context, c *store.ClaimWebhooks) (claimed []*store.Webhook, err error) {
	if len(c.Surfaces) == 0 || c.Limit <= 0 {
		return nil, nil
	}
	found, err := claimable(ctx, s.read, c)
	if err != nil || len(found) == 0 {
		return nil, wrap("look for webhooks for worker", c.Worker, err)
	}
	err = s.write(ctx, func(ctx context.Context, tx *tx) error {
		claimed = nil
		rows, err := claimable(ctx, tx.on, c)
		if err != nil {
			return err
		}
		for i := range rows {
			h := webhookOf(&rows[i])
			h.Worker, h.Fence, h.LeaseUntil = c.Worker, h.Fence+1, instant(micros(time.Now().Add(c.Lease)))
			claimed = append(claimed, h)
			err := tx.ClaimWebhook(ctx, db.ClaimWebhookParams{Worker: h.Worker, Fence: h.Fence, LeaseUntil: micros(h.LeaseUntil), N: rows[i].N})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap("claim webhooks for worker", c.Worker, err)
	}
	return claimed, nil
}

// claimable returns the webhooks that a worker can claim.
func claimable(ctx context.Context, on db.DBTX, c *store.ClaimWebhooks) ([]db.Webhook, error) {
	f := &filter{query: webhookColumns + "webhooks w JOIN turns t ON t.id = w.turn_id"}
	f.where("w.state = 'active'")
	f.where("w.due_at <= ? AND w.lease_until <= ?", micros(c.Now), micros(time.Now()))
	f.oneOf("w.surface IN", c.Surfaces)
	if len(c.NotTenants) > 0 {
		f.oneOf("w.tenant NOT IN", c.NotTenants)
	}
	if c.TurnID != "" {
		f.where("w.turn_id = ?", c.TurnID)
	} else {
		f.where("(t.seq > w.cursor OR t.finished_at <> 0)")
	}
	return collect(ctx, on, f.text("ORDER BY w.due_at, w.n LIMIT ?"), append(f.args, c.Limit), webhookFields)
}

// oneOf adds a condition with a list of values, which is not empty.
func (f *filter) oneOf(cond string, values []string) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	f.where(cond+" (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

// HeartbeatWebhooks prolongs the leases of a worker's webhooks.
func (s *Store) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) (lost []store.HeldWebhook, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *tx) error {
		lost = nil
		until := micros(time.Now().Add(lease))
		for _, h := range held {
			n, err := tx.HeartbeatWebhook(ctx, db.HeartbeatWebhookParams{LeaseUntil: until, TurnID: h.TurnID, ID: h.ID, Fence: h.Fence, Worker: worker})
			if err != nil {
				return err
			}
			if n == 0 {
				lost = append(lost, h)
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap("prolong the leases of webhooks of worker", worker, err)
	}
	return lost, nil
}

// AdvanceWebhook changes a webhook by the worker that owns it.
func (s *Store) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	err := s.write(ctx, func(ctx context.Context, tx *tx) error {
		row, err := tx.GetWebhook(ctx, db.GetWebhookParams{TurnID: a.TurnID, ID: a.ID})
		if errors.Is(err, sql.ErrNoRows) || err == nil && (row.Fence != a.Fence || row.Worker == "") {
			err = &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence}
		}
		if err != nil {
			return err
		}
		if a.Release {
			row.Worker, row.LeaseUntil = "", 0
		}
		return tx.AdvanceWebhook(ctx, db.AdvanceWebhookParams{
			State: string(a.State), Cursor: int64(a.Cursor), Attempts: int64(a.Attempts), FailingSince: micros(a.FailingSince),
			LastError: a.LastError, DueAt: micros(a.DueAt), Worker: row.Worker, LeaseUntil: row.LeaseUntil, UpdatedAt: micros(a.Now), N: row.N,
		})
	})
	return wrap("advance webhook", a.ID+" of turn "+a.TurnID, err)
}
