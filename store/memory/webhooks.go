package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// webhook is a webhook with its position in creation order.
type webhook struct {
	store.Webhook
	order uint64
}

// webhookByID returns a webhook of a turn, or nil if none.
func (t *turn) webhookByID(id string) *webhook {
	i := slices.IndexFunc(t.webhooks, func(h *webhook) bool { return h.ID == id })
	if i < 0 {
		return nil
	}
	return t.webhooks[i]
}

// hasActiveWebhook reports whether a receiver has not yet received all of a turn.
func (t *turn) hasActiveWebhook() bool {
	return slices.ContainsFunc(t.webhooks, func(h *webhook) bool { return h.State == store.WebhookActive })
}

// findWebhook returns a webhook that the scope sees, and its turn.
func (m *Store) findWebhook(scope store.Scope, turnID, id string) (*turn, *webhook, error) {
	t, err := m.findTurn(scope, turnID)
	if err != nil {
		return nil, nil, err
	}
	h := t.webhookByID(id)
	if h == nil {
		return nil, nil, store.ErrNotFound
	}
	return t, h, nil
}

// SaveWebhook stores a webhook of a turn.
func (m *Store) SaveWebhook(ctx context.Context, n *store.NewWebhook) (saved *store.Webhook, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		t, err := m.findTurn(n.Scope, n.Webhook.TurnID)
		if err != nil {
			return err
		}
		now := truncateTime(n.Webhook.CreatedAt)
		h := t.webhookByID(n.Webhook.ID)
		if h == nil {
			if n.Limit > 0 && len(t.webhooks) >= n.Limit {
				return &store.LimitError{TurnID: t.ID, Kind: "webhooks", Limit: n.Limit}
			}
			m.hooked++
			h = &webhook{order: m.hooked, Webhook: store.Webhook{
				ID: n.Webhook.ID, TurnID: t.ID, SessionID: t.SessionID, Owner: t.Owner, CreatedAt: now, Cursor: rules.FirstCursor(n, t.Status.Live(), t.Seq),
				Fence: now.UnixMicro() - 1,
			}}
			t.webhooks, m.told[t.ID] = append(t.webhooks, h), t
		}
		h.Surface, h.Data, h.State, h.DueAt, h.UpdatedAt = n.Webhook.Surface, bytes.Clone(n.Webhook.Data), store.WebhookActive, now, now
		h.Attempts, h.FailingSince, h.LastError = 0, time.Time{}, ""
		h.Worker, h.LeaseUntil, h.Fence = "", time.Time{}, h.Fence+1
		saved = copyWebhook(&h.Webhook)
		return nil
	})
	return saved, err
}

// Webhook returns a webhook.
func (m *Store) Webhook(ctx context.Context, scope store.Scope, turnID, id string) (found *store.Webhook, err error) {
	err = m.withLock(ctx, func() error {
		_, h, err := m.findWebhook(scope, turnID, id)
		if err == nil {
			found = copyWebhook(&h.Webhook)
		}
		return err
	})
	return found, err
}

// Webhooks returns a page of webhooks.
func (m *Store) Webhooks(ctx context.Context, q store.WebhookQuery) (out store.WebhookPage, err error) {
	err = m.withLock(ctx, func() error {
		before, err := q.Page.Place()
		if err != nil {
			return err
		}
		var list []*webhook
		for _, t := range m.told {
			for _, h := range t.webhooks {
				if q.Scope.Sees(h.Owner) && (q.TurnID == "" || q.TurnID == h.TurnID) && (q.Surface == "" || q.Surface == h.Surface) &&
					(q.State == "" || q.State == h.State) && h.order < uint64(before) {
					list = append(list, h)
				}
			}
		}
		slices.SortFunc(list, func(a, b *webhook) int { return cmp.Compare(b.order, a.order) })
		list, out.Next = rules.CutPage(list, q.Page, func(h *webhook) store.Cursor { return rules.NumberCursor(h.CreatedAt, int64(h.order)) })
		for _, h := range list {
			out.Webhooks = append(out.Webhooks, copyWebhook(&h.Webhook))
		}
		return nil
	})
	return out, err
}

// DeleteWebhook deletes a webhook.
func (m *Store) DeleteWebhook(ctx context.Context, scope store.Scope, turnID, id string) error {
	return m.withLock(ctx, func() error {
		t, h, err := m.findWebhook(scope, turnID, id)
		if err == nil {
			t.webhooks = slices.DeleteFunc(t.webhooks, func(other *webhook) bool { return other == h })
		}
		if err == nil && len(t.webhooks) == 0 {
			delete(m.told, t.ID)
		}
		return err
	})
}

// ClaimWebhooks makes the worker the owner of webhooks.
func (m *Store) ClaimWebhooks(ctx context.Context, c *store.ClaimWebhooks) (claimed []*store.Webhook, err error) {
	err = m.withLock(ctx, func() error {
		clock := time.Now()
		var list []*webhook
		for _, t := range m.told {
			for _, h := range t.webhooks {
				if isClaimable(t, h, c) && !h.LeaseUntil.After(clock) {
					list = append(list, h)
				}
			}
		}
		slices.SortFunc(list, func(a, b *webhook) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.order, b.order)) })
		for _, h := range list[:min(c.Limit, len(list))] {
			h.Worker, h.Fence, h.LeaseUntil = c.Worker, h.Fence+1, truncateTime(clock.Add(c.Lease))
			claimed = append(claimed, copyWebhook(&h.Webhook))
		}
		return nil
	})
	return claimed, err
}

// isClaimable reports whether a claim selects a webhook, regardless of its owner.
func isClaimable(t *turn, h *webhook, c *store.ClaimWebhooks) bool {
	if h.State != store.WebhookActive || h.DueAt.After(c.Now) || !slices.Contains(c.Surfaces, h.Surface) || slices.Contains(c.NotTenants, h.Owner.Tenant) {
		return false
	}
	if c.TurnID != "" {
		return h.TurnID == c.TurnID
	}
	return t.Seq > h.Cursor || !t.Status.Live()
}

// ownedWebhook returns a webhook if the worker owns it.
func (m *Store) ownedWebhook(held store.HeldWebhook) *webhook {
	t, ok := m.turns[held.TurnID]
	if !ok {
		return nil
	}
	if h := t.webhookByID(held.ID); h != nil && h.Worker != "" && h.Fence == held.Fence {
		return h
	}
	return nil
}

// HeartbeatWebhooks extends the leases of a worker's webhooks.
func (m *Store) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) (lost []store.HeldWebhook, err error) {
	err = m.withLock(ctx, func() error {
		until := truncateTime(time.Now().Add(lease))
		for _, one := range held {
			if h := m.ownedWebhook(one); h != nil && h.Worker == worker {
				h.LeaseUntil = until
			} else {
				lost = append(lost, one)
			}
		}
		return nil
	})
	return lost, err
}

// AdvanceWebhook changes a webhook.
func (m *Store) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		h := m.ownedWebhook(a.HeldWebhook)
		if h == nil {
			return &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence}
		}
		h.State, h.Cursor, h.Attempts, h.LastError = a.State, a.Cursor, a.Attempts, a.LastError
		h.FailingSince, h.DueAt, h.UpdatedAt = truncateTime(a.FailingSince), truncateTime(a.DueAt), truncateTime(a.Now)
		if a.Release {
			h.Worker, h.LeaseUntil = "", time.Time{}
		}
		return nil
	})
}

func copyWebhook(h *store.Webhook) *store.Webhook {
	c := *h
	c.Data = bytes.Clone(h.Data)
	return &c
}
