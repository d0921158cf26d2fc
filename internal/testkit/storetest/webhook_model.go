package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"pgregory.net/rapid"
)

// checkWebhookModel compares a store with a model of webhooks: in any order of claims, saves,
// updates and deletions by several workers, each webhook has one worker at a time, and outdated
// claims change nothing.
func checkWebhookModel(t *testing.T, s store.Store) {
	s.Attach(new(Queue))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &webhookModel{
			T: rt, store: s, now: time.Now().UTC().Truncate(time.Microsecond), hooks: make(map[string]*store.Webhook),
			session: fmt.Sprint("hooked-", n), owner: store.Owner{Tenant: fmt.Sprint("hooked-tenant-", n), Subject: "ann"},
		}
		m.surface = "surface of " + m.session
		m.beginTurn()
		rt.Repeat(map[string]func(*rapid.T){
			"":          func(*rapid.T) { m.checkStore() },
			"grow":      func(*rapid.T) { m.growTurn() },
			"end":       func(*rapid.T) { m.endTurn() },
			"save":      func(*rapid.T) { m.saveWebhook() },
			"claim":     func(*rapid.T) { m.claimWebhooks() },
			"advance":   func(*rapid.T) { m.advanceWebhook() },
			"heartbeat": func(*rapid.T) { m.sendHeartbeat() },
			"delete":    func(*rapid.T) { m.deleteWebhook() },
			"wait":      func(*rapid.T) { m.now = m.now.Add(time.Minute) },
		})
	})
}

// webhookModel is the expected content of the webhooks of one turn.
type webhookModel struct {
	*rapid.T
	store            store.Store
	now              time.Time
	owner            store.Owner
	session, surface string
	turn             *store.Claimed
	ended            bool
	hooks            map[string]*store.Webhook
	// order holds the ids in order of creation.
	order []string
	// claims are all claims ever returned.
	claims []*store.Webhook
}

const modelWebhooks = 3

func (m *webhookModel) must(err error) {
	m.Helper()
	wantOK(m, err)
}

// beginTurn creates the turn, which a worker runs.
func (m *webhookModel) beginTurn() {
	_, err := m.store.CreateSession(m.Context(), &store.NewSession{Session: store.Session{
		ID: m.session, Owner: m.owner, AgentID: "helper", State: store.SessionActive, CreatedAt: m.now, UpdatedAt: m.now, ActiveAt: m.now,
	}})
	m.must(err)
	_, err = m.store.CreateTurn(m.Context(), &store.NewTurn{Turn: store.Turn{
		ID: m.session + "-turn", SessionID: m.session, Owner: m.owner, AgentID: "helper", SnapshotID: m.session + "-snapshot", CreatedAt: m.now,
	}})
	m.must(err)
	m.turn, err = m.store.Claim(m.Context(), &store.Claim{TurnID: m.session + "-turn", Worker: worker, Lease: time.Hour, Now: m.now})
	m.must(err)
}

func (m *webhookModel) growTurn() {
	if m.ended {
		m.Skip("the turn has ended")
	}
	m.turn.Turn.Seq++
	m.must(m.store.Commit(m.Context(), &store.Commit{TurnID: m.turn.Turn.ID, Fence: m.turn.Turn.Fence, Now: m.now, Events: []event.Record{{
		Seq: m.turn.Turn.Seq, Time: m.now, TurnID: m.turn.Turn.ID, SessionID: m.session, Type: event.TypeTextDelta, Data: json.RawMessage(`{}`),
	}}}))
}

func (m *webhookModel) endTurn() {
	if m.ended {
		m.Skip("the turn has ended")
	}
	m.ended = true
	m.turn.Turn.Seq++
	_, err := m.store.EndTurn(m.Context(), &store.EndTurn{
		Scope: store.Everything, TurnID: m.turn.Turn.ID, Status: store.Canceled, Result: json.RawMessage(`{}`), Now: m.now,
		Event: event.Record{Time: m.now, Type: event.TypeRunFinish, Data: json.RawMessage(`{}`)},
	})
	m.must(err)
}

// pickWebhook returns the id of a webhook that may or may not exist.
func (m *webhookModel) pickWebhook() string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(m.T, "webhook")
}

func (m *webhookModel) saveWebhook() {
	m.now = m.now.Add(time.Second)
	id, whole := m.pickWebhook(), rapid.Bool().Draw(m.T, "from the start")
	data := json.RawMessage(fmt.Sprintf("%q", rapid.SampledFrom([]string{"one", "two"}).Draw(m.T, "data")))
	saved, err := m.store.SaveWebhook(m.Context(), &store.NewWebhook{
		Scope: store.Of(m.owner), FromStart: whole, Limit: modelWebhooks,
		Webhook: store.Webhook{ID: id, TurnID: m.turn.Turn.ID, Surface: m.surface, Data: data, CreatedAt: m.now},
	})
	h := m.hooks[id]
	if h == nil && len(m.hooks) == modelWebhooks {
		wantAs(m, err, &store.LimitError{TurnID: m.turn.Turn.ID, Kind: "webhooks", Limit: modelWebhooks})
		return
	}
	m.must(err)
	if h == nil {
		h = &store.Webhook{ID: id, TurnID: m.turn.Turn.ID, SessionID: m.session, Owner: m.owner, Surface: m.surface, CreatedAt: m.now}
		switch {
		case whole || m.turn.Turn.Seq == 0:
		case m.ended:
			h.Cursor = m.turn.Turn.Seq - 1
		default:
			h.Cursor = m.turn.Turn.Seq
		}
		h.Fence = m.now.UnixMicro() - 1
		m.hooks[id], m.order = h, append(m.order, id)
	}
	h.Data, h.State, h.DueAt, h.UpdatedAt = data, store.WebhookActive, m.now, m.now
	h.Attempts, h.LastError, h.Worker = 0, "", ""
	h.Fence++
	m.compareWebhooks(saved, h)
}

// compareWebhooks compares webhooks without their leases, which use another clock.
func (m *webhookModel) compareWebhooks(got, want *store.Webhook) {
	m.Helper()
	got.LeaseUntil = time.Time{}
	wantEqual(m, "webhook "+want.ID, got, want)
}

func (m *webhookModel) claimWebhooks() {
	ofTurn := rapid.Bool().Draw(m.T, "of the turn")
	limit := rapid.IntRange(1, 3).Draw(m.T, "limit")
	q := &store.ClaimWebhooks{
		Worker: rapid.SampledFrom([]string{"worker-1", "worker-2"}).Draw(m.T, "worker"),
		Lease:  time.Hour, Surfaces: []string{m.surface}, Limit: limit, Now: m.now,
	}
	if ofTurn {
		q.TurnID = m.turn.Turn.ID
	}
	claimed, err := m.store.ClaimWebhooks(m.Context(), q)
	m.must(err)
	var want []*store.Webhook
	for _, id := range m.order {
		h := m.hooks[id]
		if h.State == store.WebhookActive && h.Worker == "" && !h.DueAt.After(m.now) && (ofTurn || m.ended || m.turn.Turn.Seq > h.Cursor) {
			want = append(want, h)
		}
	}
	slices.SortStableFunc(want, func(a, b *store.Webhook) int { return a.DueAt.Compare(b.DueAt) })
	want = want[:min(limit, len(want))]
	wantEqual(m, "how many webhooks are claimed", len(claimed), len(want))
	for i, h := range want {
		h.Worker = q.Worker
		h.Fence++
		m.compareWebhooks(claimed[i], h)
		m.claims = append(m.claims, claimed[i])
	}
}

// oneClaim returns an earlier claim, and the webhook if the claim still holds it.
func (m *webhookModel) oneClaim() (claim, hook *store.Webhook) {
	if len(m.claims) == 0 {
		m.Skip("nothing was claimed")
	}
	claim = rapid.SampledFrom(m.claims).Draw(m.T, "claim")
	if h := m.hooks[claim.ID]; h != nil && h.Worker != "" && h.Fence == claim.Fence {
		return claim, h
	}
	return claim, nil
}

func (m *webhookModel) advanceWebhook() {
	claim, h := m.oneClaim()
	a := &store.AdvanceWebhook{
		HeldWebhook: heldWebhook(claim), Now: m.now, Release: rapid.Bool().Draw(m.T, "release"),
		State:    rapid.SampledFrom([]store.WebhookState{store.WebhookActive, store.WebhookActive, store.WebhookDone, store.WebhookDead}).Draw(m.T, "state"),
		Cursor:   rapid.Uint64Range(0, m.turn.Turn.Seq).Draw(m.T, "cursor"),
		Attempts: rapid.IntRange(0, 3).Draw(m.T, "attempts"), LastError: rapid.SampledFrom([]string{"", "down"}).Draw(m.T, "error"),
		DueAt: m.now.Add(time.Duration(rapid.IntRange(-1, 2).Draw(m.T, "due")) * time.Minute),
	}
	err := m.store.AdvanceWebhook(m.Context(), a)
	if h == nil {
		wantAs(m, err, &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence})
		return
	}
	m.must(err)
	h.State, h.Cursor, h.Attempts, h.LastError, h.DueAt, h.UpdatedAt = a.State, a.Cursor, a.Attempts, a.LastError, a.DueAt, m.now
	if a.Release {
		h.Worker = ""
	}
}

func (m *webhookModel) sendHeartbeat() {
	claim, h := m.oneClaim()
	lost, err := m.store.HeartbeatWebhooks(m.Context(), claim.Worker, time.Hour, []store.HeldWebhook{heldWebhook(claim)})
	m.must(err)
	if h == nil {
		wantEqual(m, "what is lost", lost, []store.HeldWebhook{heldWebhook(claim)})
	} else {
		wantEqual(m, "what is lost", lost, nil)
	}
}

func (m *webhookModel) deleteWebhook() {
	id := m.pickWebhook()
	err := m.store.DeleteWebhook(m.Context(), store.Of(m.owner), m.turn.Turn.ID, id)
	if m.hooks[id] == nil {
		wantError(m, err, store.ErrNotFound)
		return
	}
	m.must(err)
	delete(m.hooks, id)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
}

// checkStore compares the store with the model.
func (m *webhookModel) checkStore() {
	page, err := m.store.Webhooks(m.Context(), store.WebhookQuery{Scope: store.Of(m.owner)})
	m.must(err)
	wantEqual(m, "how many webhooks there are", len(page.Webhooks), len(m.order))
	for i, id := range slices.Backward(m.order) {
		m.compareWebhooks(page.Webhooks[len(m.order)-1-i], m.hooks[id])
	}
}
