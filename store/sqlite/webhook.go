package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// SaveWebhook stores a webhook of a turn.
func (s *Store) SaveWebhook(ctx context.Context, n *store.NewWebhook) (saved *store.Webhook, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		saved, err = saveWebhook(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, wrapError("save webhook", n.Webhook.ID+" of turn "+n.Webhook.TurnID, err)
	}
	return saved, nil
}

func saveWebhook(ctx context.Context, tx *tx, n *store.NewWebhook) (*store.Webhook, error) {
	h := &n.Webhook
	turn, err := getTurn(ctx, tx.Queries, n.Scope, h.TurnID)
	if err != nil {
		return nil, err
	}
	key, at := db.GetWebhookParams{TurnID: h.TurnID, ID: h.ID}, toMicros(h.CreatedAt)
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
			Surface: h.Surface, Cursor: int64(rules.FirstCursor(n, turn.FinishedAt == 0, uint64(turn.Seq))), At: at, Data: h.Data,
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

// Webhook returns a webhook.
func (s *Store) Webhook(ctx context.Context, scope store.Scope, turnID, id string) (*store.Webhook, error) {
	row, err := getWebhook(ctx, s.queries, scope, turnID, id)
	if err != nil {
		return nil, wrapError("read webhook", id+" of turn "+turnID, err)
	}
	return webhookOf(row), nil
}

// getWebhook returns a webhook that the scope sees.
func getWebhook(ctx context.Context, q *db.Queries, scope store.Scope, turnID, id string) (*db.Webhook, error) {
	row, err := q.GetWebhook(ctx, db.GetWebhookParams{TurnID: turnID, ID: id})
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	return &row, err
}

// Webhooks returns a page of webhooks, the newest first.
func (s *Store) Webhooks(ctx context.Context, q store.WebhookQuery) (out store.WebhookPage, err error) {
	before, err := q.Page.Place()
	if err != nil {
		return out, err
	}
	f := dialect.Select(webhookColumns + "webhooks w")
	if q.TurnID == "" {
		f.Scope(q.Scope)
	} else {
		f.Equals("turn_id", q.TurnID)
		if !q.Scope.All { // the few of a turn are not looked for among all of its owner
			f.Where("+tenant = " + f.Arg(q.Scope.Owner.Tenant) + " AND +subject = " + f.Arg(q.Scope.Owner.Subject))
		}
	}
	f.Webhooks(&q, before)
	query, args := f.Statement("ORDER BY n DESC " + f.Limit(q.Page.Size()+1))
	rows, err := readRows(ctx, s.read, query, args, webhookFields)
	if err != nil {
		return out, wrapError("list webhooks of turn", q.TurnID, err)
	}
	rows, out.Next = rules.CutPage(rows, q.Page, func(r db.Webhook) store.Cursor { return rules.NumberCursor(fromMicros(r.CreatedAt), r.N) })
	out.Webhooks = sqlstore.Records(rows, webhookOf)
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
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getWebhook(ctx, tx.Queries, scope, turnID, id)
		if err != nil {
			return err
		}
		return tx.DeleteWebhook(ctx, row.N)
	})
	return wrapError("delete webhook", id+" of turn "+turnID, err)
}

// ClaimWebhooks makes the worker the owner of webhooks. Nothing is written if it
// finds no webhook.
func (s *Store) ClaimWebhooks(ctx context.Context, c *store.ClaimWebhooks) (claimed []*store.Webhook, err error) {
	if len(c.Surfaces) == 0 || c.Limit <= 0 {
		return nil, nil
	}
	found, err := claimableWebhooks(ctx, s.read, c)
	if err != nil || len(found) == 0 {
		return nil, wrapError("look for webhooks for worker", c.Worker, err)
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		claimed = nil
		rows, err := claimableWebhooks(ctx, tx.on, c)
		if err != nil {
			return err
		}
		for i := range rows {
			h := webhookOf(&rows[i])
			h.Worker, h.Fence, h.LeaseUntil = c.Worker, h.Fence+1, fromMicros(toMicros(time.Now().Add(c.Lease)))
			claimed = append(claimed, h)
			err := tx.ClaimWebhook(ctx, db.ClaimWebhookParams{Worker: h.Worker, Fence: h.Fence, LeaseUntil: toMicros(h.LeaseUntil), N: rows[i].N})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrapError("claim webhooks for worker", c.Worker, err)
	}
	return claimed, nil
}

// claimableWebhooks returns the webhooks that a worker can claim.
func claimableWebhooks(ctx context.Context, on db.DBTX, c *store.ClaimWebhooks) ([]db.Webhook, error) {
	f := dialect.Select(webhookColumns + "webhooks w JOIN turns t ON t.id = w.turn_id")
	f.Where("w.state = 'active'")
	f.Where("w.due_at <= " + f.Time(c.Now) + " AND w.lease_until <= " + f.Time(time.Now()))
	f.Where("w.surface IN " + listPlaceholders(f, c.Surfaces))
	if len(c.NotTenants) > 0 {
		f.Where("w.tenant NOT IN " + listPlaceholders(f, c.NotTenants))
	}
	if c.TurnID != "" {
		f.Equals("w.turn_id", c.TurnID)
	} else {
		f.Where("(t.seq > w.cursor OR t.finished_at <> 0)")
	}
	query, args := f.Statement("ORDER BY w.due_at, w.n " + f.Limit(c.Limit))
	return readRows(ctx, on, query, args, webhookFields)
}

// HeartbeatWebhooks prolongs the leases of a worker's webhooks.
func (s *Store) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) (lost []store.HeldWebhook, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		lost = nil
		until := toMicros(time.Now().Add(lease))
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
		return nil, wrapError("prolong the leases of webhooks of worker", worker, err)
	}
	return lost, nil
}

// AdvanceWebhook changes a webhook by the worker that owns it.
func (s *Store) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
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
			State: string(a.State), Cursor: int64(a.Cursor), Attempts: int64(a.Attempts), FailingSince: toMicros(a.FailingSince),
			LastError: a.LastError, DueAt: toMicros(a.DueAt), Worker: row.Worker, LeaseUntil: row.LeaseUntil, UpdatedAt: toMicros(a.Now), N: row.N,
		})
	})
	return wrapError("advance webhook", a.ID+" of turn "+a.TurnID, err)
}
