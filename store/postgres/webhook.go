package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// SaveWebhook stores a webhook of a turn.
func (s *Store) SaveWebhook(ctx context.Context, n *store.NewWebhook) (saved *store.Webhook, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		saved, err = saveWebhook(ctx, s.queries.WithTx(tx), n)
		return err
	})
	if err != nil {
		return nil, wrapError("save webhook", n.Webhook.ID+" of turn "+n.Webhook.TurnID, err)
	}
	return saved, nil
}

// saveWebhook locks the turn, so that the limit and the first cursor hold.
func saveWebhook(ctx context.Context, q *db.Queries, n *store.NewWebhook) (*store.Webhook, error) {
	h := &n.Webhook
	turn, err := q.LockTurn(ctx, h.TurnID)
	if errorCode(err) == codeBadText {
		err = store.ErrNotFound
	}
	if err == nil {
		err = rules.CheckVisible(n.Scope, turn.Tenant, turn.Subject)
	}
	if err != nil {
		return nil, err
	}
	if n.Limit > 0 {
		count, err := q.CountWebhooks(ctx, db.CountWebhooksParams{TurnID: h.TurnID, ID: h.ID})
		if err != nil {
			return nil, err
		}
		if count >= int64(n.Limit) {
			return nil, &store.LimitError{TurnID: h.TurnID, Limit: n.Limit}
		}
	}
	row, err := q.SaveWebhook(ctx, db.SaveWebhookParams{
		TurnID: h.TurnID, ID: h.ID, SessionID: turn.SessionID, Tenant: turn.Tenant, Subject: turn.Subject,
		Surface: h.Surface, Data: h.Data, Cursor: int64(rules.FirstCursor(n, store.Status(turn.Status).Live(), uint64(turn.Seq))), At: instant.Time(h.CreatedAt),
		Fence: h.CreatedAt.UnixMicro(),
	})
	return webhookOf(&row), err
}

// Webhook returns a webhook.
func (s *Store) Webhook(ctx context.Context, scope store.Scope, turnID, id string) (*store.Webhook, error) {
	row, err := s.queries.GetWebhook(ctx, db.GetWebhookParams{TurnID: turnID, ID: id})
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read webhook", id+" of turn "+turnID, err)
	}
	return webhookOf(&row), nil
}

// Webhooks returns a page of webhooks, the newest first.
func (s *Store) Webhooks(ctx context.Context, q store.WebhookQuery) (page store.WebhookPage, err error) {
	before, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	f := dialect.Select(db.SelectWebhooks)
	f.Scope(q.Scope)
	f.Equals("turn_id", q.TurnID)
	f.Webhooks(&q, before)
	query, args := f.Statement("ORDER BY n DESC LIMIT " + f.Arg(q.Page.Size()+1))
	rows, err := readRows[db.Webhook](ctx, s.pool, query, args)
	if err != nil {
		return page, wrapError("list", "webhooks", err)
	}
	rows, page.Next = rules.CutPage(rows, q.Page, func(r db.Webhook) store.Cursor { return rules.NumberCursor(time.Time(r.CreatedAt), r.N) })
	page.Webhooks = sqlstore.Records(rows, webhookOf)
	return page, nil
}

// DeleteWebhook deletes a webhook.
func (s *Store) DeleteWebhook(ctx context.Context, scope store.Scope, turnID, id string) error {
	n, err := s.queries.DeleteWebhook(ctx, db.DeleteWebhookParams{
		TurnID: turnID, ID: id, Everything: scope.All, Tenant: scope.Owner.Tenant, Subject: scope.Owner.Subject,
	})
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return wrapError("delete webhook", id+" of turn "+turnID, err)
}

// ClaimWebhooks makes the worker the owner of webhooks. Several replicas may do
// so at once: each takes what no other one does. Leases go by the clock of the
// database.
func (s *Store) ClaimWebhooks(ctx context.Context, c *store.ClaimWebhooks) ([]*store.Webhook, error) {
	if c.Limit <= 0 {
		return nil, nil
	}
	var rows []db.Webhook
	var err error
	notTenants := append([]string{}, c.NotTenants...) // none is an empty list, not NULL
	if c.TurnID != "" {
		rows, err = s.queries.ClaimWebhooksOf(ctx, db.ClaimWebhooksOfParams{
			Worker: c.Worker, Lease: c.Lease, TurnID: c.TurnID, Now: instant.Time(c.Now), Surfaces: c.Surfaces, NotTenants: notTenants, Most: int32(c.Limit),
		})
	} else {
		rows, err = s.queries.ClaimWebhooks(ctx, db.ClaimWebhooksParams{
			Worker: c.Worker, Lease: c.Lease, Now: instant.Time(c.Now), Surfaces: c.Surfaces, NotTenants: notTenants, Most: int32(c.Limit),
		})
	}
	if err != nil {
		return nil, wrapError("claim webhooks for worker", c.Worker, err)
	}
	slices.SortFunc(rows, func(a, b db.Webhook) int {
		return cmp.Or(time.Time(a.DueAt).Compare(time.Time(b.DueAt)), cmp.Compare(a.N, b.N))
	})
	return sqlstore.Records(rows, webhookOf), nil
}

// HeartbeatWebhooks prolongs the leases of a worker's webhooks, by the clock of
// the database.
func (s *Store) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) (lost []store.HeldWebhook, err error) {
	if len(held) == 0 {
		return nil, nil
	}
	p := db.HeartbeatWebhooksParams{Lease: lease, Worker: worker}
	for _, h := range held {
		p.TurnIds, p.Ids, p.Fences = append(p.TurnIds, h.TurnID), append(p.Ids, h.ID), append(p.Fences, h.Fence)
	}
	rows, err := s.queries.HeartbeatWebhooks(ctx, p)
	if err != nil {
		return nil, wrapError("prolong the leases of webhooks of worker", worker, err)
	}
	kept := make(map[db.HeartbeatWebhooksRow]bool, len(rows))
	for _, r := range rows {
		kept[r] = true
	}
	for _, h := range held {
		if !kept[db.HeartbeatWebhooksRow(h)] {
			lost = append(lost, h)
		}
	}
	return lost, nil
}

// AdvanceWebhook changes a webhook by the worker that owns it.
func (s *Store) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	n, err := s.queries.AdvanceWebhook(ctx, db.AdvanceWebhookParams{
		State: string(a.State), Cursor: int64(a.Cursor), Attempts: a.Attempts, FailingSince: instant.Time(a.FailingSince),
		LastError: a.LastError, DueAt: instant.Time(a.DueAt), At: instant.Time(a.Now), Release: a.Release,
		TurnID: a.TurnID, ID: a.ID, Fence: a.Fence,
	})
	if err == nil && n == 0 {
		err = &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence}
	}
	return wrapError("advance webhook", a.ID+" of turn "+a.TurnID, err)
}
