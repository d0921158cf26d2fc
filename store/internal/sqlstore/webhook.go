package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// webhookRecords keeps webhooks.
type webhookRecords struct{ *core }

// webhookRow is a webhook with its number in creation order.
type webhookRow struct {
	store.Webhook
	n int64
}

const webhookColumns = "n, turn_id, id, session_id, tenant, subject, surface, data, state, cursor, attempts, failing_since, last_error, due_at, worker, fence, lease_until, created_at, updated_at"

func webhookFields(r *webhookRow) []any {
	return []any{
		&r.n, &r.TurnID, &r.ID, &r.SessionID, &r.Owner.Tenant, &r.Owner.Subject, &r.Surface, (*[]byte)(&r.Data), (*string)(&r.State), &r.Cursor, &r.Attempts,
		(*Time)(&r.FailingSince), &r.LastError, (*Time)(&r.DueAt), &r.Worker, &r.Fence, (*Time)(&r.LeaseUntil), (*Time)(&r.CreatedAt), (*Time)(&r.UpdatedAt),
	}
}

// webhooksOf returns the webhooks of rows.
func webhooksOf(rows []*webhookRow) []*store.Webhook {
	var list []*store.Webhook
	for _, row := range rows {
		list = append(list, &row.Webhook)
	}
	return list
}

// SaveWebhook stores a webhook of a turn.
func (r *webhookRecords) SaveWebhook(ctx context.Context, n *store.NewWebhook) (*store.Webhook, error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "save webhook", n.Webhook.ID+" of turn "+n.Webhook.TurnID, func(ctx context.Context, s Session) (*store.Webhook, error) {
		return r.saveWebhook(ctx, s, n)
	})
}

// saveWebhook locks the turn, so that the limit and the first cursor hold. An existing webhook
// keeps its position in the order and its cursor.
func (r *webhookRecords) saveWebhook(ctx context.Context, s Session, n *store.NewWebhook) (*store.Webhook, error) {
	h := &n.Webhook
	turn, err := FindTurn(ctx, s, n.Scope, h.TurnID, r.dialect.forUpdate)
	if err != nil {
		return nil, err
	}
	if n.Limit > 0 {
		others, err := FindValue[int](ctx, s, `SELECT count(*) FROM webhooks w
			WHERE w.turn_id = $1 AND NOT EXISTS (SELECT 1 FROM webhooks k WHERE k.turn_id = $1 AND k.id = $2)`, h.TurnID, h.ID)
		if err != nil {
			return nil, err
		}
		if others >= n.Limit {
			return nil, &store.LimitError{TurnID: h.TurnID, Kind: "webhooks", Limit: n.Limit}
		}
	}
	saved, err := FindRow(ctx, s, webhookFields, `INSERT INTO webhooks (turn_id, id, session_id, tenant, subject, surface, data, state, cursor, due_at, fence, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8, $9, $10, $9, $9)
		ON CONFLICT (turn_id, id) DO UPDATE SET surface = excluded.surface, data = excluded.data, state = 'active', attempts = 0,
		failing_since = $11, last_error = '', due_at = excluded.due_at, worker = '', fence = webhooks.fence + 1, lease_until = $11, updated_at = excluded.updated_at
		RETURNING `+webhookColumns,
		h.TurnID, h.ID, turn.SessionID, turn.Owner.Tenant, turn.Owner.Subject, h.Surface, []byte(h.Data),
		int64(rules.FirstCursor(n, turn.Status.Live(), turn.Seq)), Time(h.CreatedAt), ToMicros(h.CreatedAt), Time{})
	if err != nil {
		return nil, err
	}
	return &saved.Webhook, nil
}

// Webhook returns a webhook.
func (r *webhookRecords) Webhook(ctx context.Context, scope store.Scope, turnID, id string) (*store.Webhook, error) {
	row, err := findVisible(ctx, r.db.Reader, scope, func(r *webhookRow) *store.Owner { return &r.Owner }, webhookFields,
		"SELECT "+webhookColumns+" FROM webhooks WHERE turn_id = $1 AND id = $2", turnID, id)
	if err != nil {
		return nil, r.db.WrapError("read webhook", id+" of turn "+turnID, err)
	}
	return &row.Webhook, nil
}

// Webhooks returns a page of webhooks, newest first.
func (r *webhookRecords) Webhooks(ctx context.Context, q store.WebhookQuery) (page store.WebhookPage, err error) {
	f := r.dialect.newFilter("SELECT " + webhookColumns + " FROM webhooks")
	if q.TurnID == "" {
		f.Scope(q.Scope)
	} else {
		f.equals("turn_id", q.TurnID)
		if plain := r.dialect.unindexed; !q.Scope.All { // avoids searching all webhooks of the owner
			f.where(plain + "tenant = " + f.Arg(q.Scope.Owner.Tenant) + " AND " + plain + "subject = " + f.Arg(q.Scope.Owner.Subject))
		}
	}
	f.equals("surface", q.Surface)
	f.equalsLiteral("state", string(q.State), string(store.WebhookDead))
	rows, next, err := readNumbered(ctx, r.db.Reader, f, "n", q.Page, webhookFields, func(row *webhookRow) store.Cursor { return rules.NumberCursor(row.CreatedAt, row.n) })
	return store.WebhookPage{Webhooks: webhooksOf(rows), Next: next}, r.db.WrapError("list webhooks of turn", q.TurnID, err)
}

// DeleteWebhook deletes a webhook.
func (r *webhookRecords) DeleteWebhook(ctx context.Context, scope store.Scope, turnID, id string) error {
	f := r.dialect.newFilter("DELETE FROM webhooks")
	f.where("turn_id = " + f.Arg(turnID))
	f.where("id = " + f.Arg(id))
	f.Scope(scope)
	err := checkChanged(r.exec(ctx, f.statement(""), f.args...))
	return r.db.WrapError("delete webhook", id+" of turn "+turnID, err)
}

// ClaimWebhooks makes the worker the owner of webhooks. Several replicas may run it concurrently:
// each skips rows that another is claiming. With serialized transactions, it writes nothing if
// there are no webhooks.
func (r *webhookRecords) ClaimWebhooks(ctx context.Context, c *store.ClaimWebhooks) (claimed []*store.Webhook, err error) {
	if len(c.Surfaces) == 0 || c.Limit <= 0 {
		return nil, nil
	}
	if !r.dialect.concurrent {
		f := r.dueWebhooks("SELECT w.n FROM webhooks w", c)
		found, err := CollectColumn[int64](ctx, r.db.Reader, f.query, f.args...)
		if err != nil || len(found) == 0 {
			return nil, r.db.WrapError("look for webhooks for worker", c.Worker, err)
		}
	}
	var rows []*webhookRow
	err = r.db.Execute(ctx, func(ctx context.Context, s Session) error {
		f := r.dueWebhooks("WITH due AS MATERIALIZED (SELECT w.turn_id, w.id FROM webhooks w", c)
		lock := strings.Replace(r.dialect.skipLocked, "UPDATE", "UPDATE OF w", 1)
		rows, err = CollectRecords(ctx, s, webhookFields, f.query+lock+") UPDATE webhooks SET worker = "+f.Arg(c.Worker)+", fence = fence + 1, lease_until = "+r.dialect.afterNow(f, c.Lease)+
			" WHERE (turn_id, id) IN (SELECT due.turn_id, due.id FROM due) RETURNING "+webhookColumns, f.args...)
		return err
	})
	if err != nil {
		return nil, r.db.WrapError("claim webhooks for worker", c.Worker, err)
	}
	slices.SortFunc(rows, func(a, b *webhookRow) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.n, b.n)) })
	return webhooksOf(rows), nil
}

// dueWebhooks completes a SELECT of the webhooks that a worker can claim.
func (r *webhookRecords) dueWebhooks(query string, c *store.ClaimWebhooks) *filter {
	f := r.dialect.newFilter(query + " JOIN turns t ON t.id = w.turn_id")
	f.where("w.state = 'active' AND w.due_at <= " + f.Time(c.Now))
	f.where("(w.lease_until IS NULL OR w.lease_until <= " + r.dialect.now(f) + ")")
	f.where(r.dialect.oneOf(f, "w.surface", c.Surfaces))
	if len(c.NotTenants) > 0 {
		f.where("NOT " + r.dialect.oneOf(f, "w.tenant", c.NotTenants))
	}
	if c.TurnID != "" {
		f.equals("w.turn_id", c.TurnID)
	} else {
		f.where("(t.seq > w.cursor OR " + r.dialect.isSet("t.finished_at") + ")")
	}
	statement := f.statement("ORDER BY w.due_at, w.n " + f.limit(c.Limit))
	return &filter{dialect: f.dialect, query: statement, args: f.args}
}

// maxProlonged is the maximum number of leases that a statement extends.
const maxProlonged = 16

// HeartbeatWebhooks extends the leases of a worker's webhooks.
func (r *webhookRecords) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) (lost []store.HeldWebhook, err error) {
	for some := range slices.Chunk(held, maxProlonged) {
		var kept []store.HeldWebhook
		err := r.db.Execute(ctx, func(ctx context.Context, s Session) error {
			kept, err = r.prolongWebhooks(ctx, s, worker, lease, some)
			return err
		})
		if err != nil {
			return nil, r.db.WrapError("prolong the leases of webhooks of worker", worker, err)
		}
		for _, h := range some {
			if !slices.Contains(kept, h) {
				lost = append(lost, h)
			}
		}
	}
	return lost, nil
}

// prolongWebhooks extends leases and returns the webhooks that the worker owns. Rows are locked in
// a fixed order, which avoids deadlocks.
func (r *webhookRecords) prolongWebhooks(ctx context.Context, s Session, worker string, lease time.Duration, held []store.HeldWebhook) ([]store.HeldWebhook, error) {
	f := r.dialect.newFilter("")
	rows := make([]string, len(held))
	for i, h := range held {
		rows[i] = "(CAST(" + f.Arg(h.TurnID) + " AS TEXT), CAST(" + f.Arg(h.ID) + " AS TEXT), CAST(" + f.Arg(h.Fence) + " AS BIGINT))"
	}
	lock := strings.Replace(r.dialect.forUpdate, "UPDATE", "UPDATE OF h", 1)
	statement := "WITH known (turn_id, id, fence) AS (VALUES " + strings.Join(rows, ", ") + `), held AS MATERIALIZED (
		SELECT h.turn_id, h.id FROM known JOIN webhooks h ON h.turn_id = known.turn_id AND h.id = known.id
		WHERE h.fence = known.fence AND h.worker = ` + f.Arg(worker) + " ORDER BY h.turn_id, h.id" + lock + `
		) UPDATE webhooks SET lease_until = ` + r.dialect.afterNow(f, lease) + ` WHERE (turn_id, id) IN (SELECT held.turn_id, held.id FROM held) RETURNING turn_id, id, fence`
	return CollectRows(ctx, s, func(h *store.HeldWebhook) []any { return []any{&h.TurnID, &h.ID, &h.Fence} }, statement, f.args...)
}

// AdvanceWebhook changes a webhook on behalf of the worker that owns it.
func (r *webhookRecords) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	f := r.dialect.newFilter("")
	statement := "UPDATE webhooks SET state = " + f.Arg(string(a.State)) + ", cursor = " + f.Arg(int64(a.Cursor)) + ", attempts = " + f.Arg(a.Attempts) +
		", failing_since = " + f.Time(a.FailingSince) + ", last_error = " + f.Arg(a.LastError) + ", due_at = " + f.Time(a.DueAt) + ", updated_at = " + f.Time(a.Now)
	if a.Release {
		statement += ", worker = '', lease_until = " + f.Time(time.Time{})
	}
	statement += " WHERE turn_id = " + f.Arg(a.TurnID) + " AND id = " + f.Arg(a.ID) + " AND fence = " + f.Arg(a.Fence) + " AND worker <> ''"
	n, err := r.exec(ctx, statement, f.args...)
	if err == nil && n == 0 {
		err = &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence}
	}
	return r.db.WrapError("advance webhook", a.ID+" of turn "+a.TurnID, err)
}
