package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var webhookTests = []test{
	{name: "AWebhookIsReadAsItWasMade", run: aWebhookIsReadAsItWasMade},
	{name: "AWebhookNeedsATurn", run: aWebhookNeedsATurn},
	{name: "AWebhookIsReplaced", run: aWebhookIsReplaced},
	{name: "ATurnHasAFewWebhooks", run: aTurnHasAFewWebhooks},
	{name: "ATurnThatHasEndedIsToldOfItsEnd", run: aTurnThatHasEndedIsToldOfItsEnd},
	{name: "WebhooksAreFiltered", run: webhooksAreFiltered},
	{name: "PagesOfWebhooksMissNothing", run: pagesOfWebhooksMissNothing},
	{name: "AForeignWebhookIsUnknown", run: aForeignWebhookIsUnknown},
	{name: "ADeletedSessionHasNoWebhooks", run: aDeletedSessionHasNoWebhooks},
	{name: "WhatIsNotToldIsKept", run: whatIsNotToldIsKept},
}

// webhookOf returns a new webhook.
func (f *fixture) webhookOf(turn, id string) *store.NewWebhook {
	return &store.NewWebhook{Scope: store.Everything, Webhook: store.Webhook{
		ID: id, TurnID: turn, Surface: "test", Data: json.RawMessage(`{"url": "https://` + id + `.example"}`), CreatedAt: f.now,
	}}
}

// createWebhooks creates webhooks of a turn.
func (f *fixture) createWebhooks(turn string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		_, err := f.SaveWebhook(f.Context(), f.webhookOf(turn, id))
		wantOK(f, err)
	}
}

func (f *fixture) getWebhook(turn, id string) *store.Webhook {
	f.Helper()
	found, err := f.Webhook(f.Context(), store.Everything, turn, id)
	wantOK(f, err)
	return found
}

// growTurn adds an event to a running turn.
func (f *fixture) growTurn(c *store.Claimed) {
	f.Helper()
	add := f.commitOf(c)
	c.Turn.Seq++
	add.Events = append(add.Events, f.eventOf(&c.Turn, c.Turn.Seq, `{}`))
	f.commitTurn(add)
}

// webhookIDs returns the names of a page of webhooks.
func (f *fixture) webhookIDs(q store.WebhookQuery) (names []string, next string) {
	f.Helper()
	page, err := f.Webhooks(f.Context(), q)
	wantOK(f, err)
	for _, h := range page.Webhooks {
		names = append(names, h.TurnID+"/"+h.ID)
	}
	return names, page.Next
}

func aWebhookIsReadAsItWasMade(f *fixture) {
	c := f.createRunning("s", "t")
	f.growTurn(c)
	n := f.webhookOf("t", "h")
	n.Scope = store.Of(ann)
	n.Webhook.Owner, n.Webhook.SessionID = bob, "other" // the store knows better
	saved, err := f.SaveWebhook(f.Context(), n)
	wantOK(f, err)
	want := &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: f.now, Fence: f.now.UnixMicro(), CreatedAt: f.now, UpdatedAt: f.now,
	}
	wantEqual(f, "what SaveWebhook returns", saved, want)
	wantEqual(f, "the webhook", f.getWebhook("t", "h"), want)
	n = f.webhookOf("t", "whole")
	n.FromStart = true
	saved, err = f.SaveWebhook(f.Context(), n)
	wantOK(f, err)
	wantEqual(f, "where one begins that tells of all", saved.Cursor, 0)
	saved.Data[0] = 'x'
	wantEqual(f, "the data, of which a copy was changed", string(f.getWebhook("t", "whole").Data), string(n.Webhook.Data))
}

func aWebhookNeedsATurn(f *fixture) {
	_, err := f.SaveWebhook(f.Context(), f.webhookOf("none", "h"))
	wantError(f, err, store.ErrNotFound)
	_, err = f.Webhook(f.Context(), store.Everything, "none", "h")
	wantError(f, err, store.ErrNotFound)
	wantError(f, f.DeleteWebhook(f.Context(), store.Everything, "none", "h"), store.ErrNotFound)
}

// aWebhookIsReplaced checks that the new webhook continues where the old one stopped, that the
// old one's worker loses it, and that an abandoned receiver is tried again.
func aWebhookIsReplaced(f *fixture) {
	c := f.createRunning("s", "t")
	f.createWebhooks("t", "h")
	f.growTurn(c)
	old := f.claimWebhook()
	a := f.advanceOf(old)
	a.State, a.Cursor, a.Attempts, a.FailingSince, a.LastError, a.Release = store.WebhookDead, 1, 3, f.now, "gone", false
	a.DueAt = f.now.Add(time.Hour)
	f.advanceWebhook(a)
	f.growTurn(c)
	n := f.webhookOf("t", "h")
	n.Limit, n.FromStart = 1, true
	n.Webhook.Data, n.Webhook.CreatedAt = json.RawMessage(`{"new":true}`), f.now.Add(time.Minute)
	saved, err := f.SaveWebhook(f.Context(), n)
	wantOK(f, err)
	wantEqual(f, "the new one", saved, &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: n.Webhook.CreatedAt, Fence: old.Fence + 1, CreatedAt: f.now, UpdatedAt: n.Webhook.CreatedAt,
	})
	wantAs(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: old.Fence})
	f.now = n.Webhook.CreatedAt
	wantEqual(f, "what can be claimed", f.claimWebhooks(f.claimWebhooksOf()), []string{"t/h"})
}

func aTurnHasAFewWebhooks(f *fixture) {
	f.createSessions("s", "other")
	f.createTurns("s", "t")
	f.createTurns("other", "u")
	save := func(turn, id string) error {
		n := f.webhookOf(turn, id)
		n.Limit = 2
		_, err := f.SaveWebhook(f.Context(), n)
		return err
	}
	wantOK(f, save("t", "h1"))
	wantOK(f, save("t", "h2"))
	wantAs(f, save("t", "h3"), &store.LimitError{TurnID: "t", Kind: "webhooks", Limit: 2})
	wantOK(f, save("t", "h1")) // replaces
	wantOK(f, save("u", "h3"))
	wantOK(f, f.DeleteWebhook(f.Context(), store.Of(ann), "t", "h1"))
	wantError(f, f.DeleteWebhook(f.Context(), store.Of(ann), "t", "h1"), store.ErrNotFound)
	wantOK(f, save("t", "h3"))
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, []string{"t/h3", "u/h3", "t/h2"})
}

func aTurnThatHasEndedIsToldOfItsEnd(f *fixture) {
	c := f.createRunning("s", "t")
	f.growTurn(c)
	f.endTurn("t")
	f.createWebhooks("t", "h")
	wantEqual(f, "after which event it begins", f.getWebhook("t", "h").Cursor, 1)
	wantEqual(f, "what can be claimed", f.claimWebhooks(f.claimWebhooksOf()), []string{"t/h"})
	f.createTurns("s", "never")
	n := f.webhookOf("never", "h")
	_, err := f.SaveWebhook(f.Context(), n)
	wantOK(f, err)
	wantEqual(f, "after which event one begins of a turn without events", f.getWebhook("never", "h").Cursor, 0)
}

func webhooksAreFiltered(f *fixture) {
	f.createSessions("s1", "s2")
	f.sessionFor(bob, "s3")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	foreign := f.turnOf("s3", "t3")
	foreign.Turn.Owner = bob
	f.createTurn(foreign)
	f.createWebhooks("t1", "h1", "h2")
	f.createWebhooks("t2", "h1")
	f.createWebhooks("t3", "h1")
	other := f.webhookOf("t1", "h3")
	other.Webhook.Surface = "other"
	_, err := f.SaveWebhook(f.Context(), other)
	wantOK(f, err)
	claim := f.claimWebhooksOf()
	claim.TurnID = "t2"
	list, err := f.ClaimWebhooks(f.Context(), claim)
	wantOK(f, err)
	dead := f.advanceOf(list[0])
	dead.State = store.WebhookDead
	f.advanceWebhook(dead)
	for _, c := range []struct {
		name string
		q    store.WebhookQuery
		want []string
	}{
		{"nothing", store.WebhookQuery{Scope: store.Everything}, []string{"t1/h3", "t3/h1", "t2/h1", "t1/h2", "t1/h1"}},
		{"scope", store.WebhookQuery{Scope: store.Of(ann)}, []string{"t1/h3", "t2/h1", "t1/h2", "t1/h1"}},
		{"turn", store.WebhookQuery{Scope: store.Of(ann), TurnID: "t1"}, []string{"t1/h3", "t1/h2", "t1/h1"}},
		{"surface", store.WebhookQuery{Scope: store.Everything, Surface: "other"}, []string{"t1/h3"}},
		{"dead", store.WebhookQuery{Scope: store.Everything, State: store.WebhookDead}, []string{"t2/h1"}},
		{"active", store.WebhookQuery{Scope: store.Of(ann), State: store.WebhookActive}, []string{"t1/h3", "t1/h2", "t1/h1"}},
		{"a foreign turn", store.WebhookQuery{Scope: store.Of(ann), TurnID: "t3"}, nil},
	} {
		names, _ := f.webhookIDs(c.q)
		wantEqual(f, "the webhooks by "+c.name, names, c.want)
	}
}

func pagesOfWebhooksMissNothing(f *fixture) {
	const n = 9
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	var want []string
	for i, id := range numberedNames("h", n) {
		turn := fmt.Sprint("t", i%2+1)
		f.createWebhooks(turn, id)
		want = append([]string{turn + "/" + id}, want...)
	}
	for _, limit := range []int{1, 4, n - 1, n, n + 1} {
		all, pages := walkPages(func(p store.Page) ([]string, string) {
			return f.webhookIDs(store.WebhookQuery{Scope: store.Of(ann), Page: p})
		}, limit)
		wantEqual(f, fmt.Sprintf("the webhooks in pages of %d", limit), all, want)
		wantEqual(f, fmt.Sprintf("how many pages of %d there are", limit), pages, (n+limit-1)/limit)
	}
	for _, cursor := range []string{"?", store.Cursor{Time: f.now, ID: "x"}.String(), store.Cursor{Time: f.now, ID: "-1"}.String()} {
		_, err := f.Webhooks(f.Context(), store.WebhookQuery{Scope: store.Everything, Page: store.Page{After: cursor}})
		wantError(f, err, store.ErrCursor)
	}
}

func aForeignWebhookIsUnknown(f *fixture) {
	f.createSessions("s")
	f.createTurns("s", "t")
	f.createWebhooks("t", "h")
	before := f.getWebhook("t", "h")
	for _, scope := range strangers {
		for _, id := range []string{"h", "none"} {
			_, err := f.Webhook(f.Context(), scope, "t", id)
			wantError(f, err, store.ErrNotFound)
			wantError(f, f.DeleteWebhook(f.Context(), scope, "t", id), store.ErrNotFound)
			n := f.webhookOf("t", id)
			n.Scope = scope
			_, err = f.SaveWebhook(f.Context(), n)
			wantError(f, err, store.ErrNotFound)
		}
		names, _ := f.webhookIDs(store.WebhookQuery{Scope: scope})
		wantEqual(f, "what a stranger sees", names, nil)
	}
	wantEqual(f, "the webhook", f.getWebhook("t", "h"), before)
}

func aDeletedSessionHasNoWebhooks(f *fixture) {
	f.createFull("s", "t")
	f.createWebhooks("t", "h")
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	_, err := f.Webhook(f.Context(), store.Everything, "t", "h")
	wantError(f, err, store.ErrNotFound)
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	wantEqual(f, "what can be claimed", f.claimWebhooks(f.claimWebhooksOf()), nil)
}

// whatIsNotToldIsKept checks that neither the events nor the session of a turn expire before its
// receivers were notified of its end or abandoned.
func whatIsNotToldIsKept(f *fixture) {
	f.createFull("s", "t")
	f.createWebhooks("t", "h1", "h2")
	events := store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute}
	sessions := store.Retention{Now: f.now.Add(time.Hour), Sessions: time.Minute}
	for i, state := range []store.WebhookState{store.WebhookDone, store.WebhookDead} {
		wantEqual(f, "what was deleted", f.pruneStore(events), store.Pruned{})
		wantEqual(f, "what was deleted", f.pruneStore(sessions), store.Pruned{})
		wantEqual(f, "how many events there are", len(f.listEvents("t")), 1)
		few := f.claimWebhooksOf()
		few.Limit = 1
		list, err := f.ClaimWebhooks(f.Context(), few)
		wantOK(f, err)
		wantEqual(f, "which webhook is claimed", list[0].ID, fmt.Sprint("h", i+1))
		over := f.advanceOf(list[0])
		over.State = state
		f.advanceWebhook(over)
	}
	wantEqual(f, "what was deleted then", f.pruneStore(events), store.Pruned{Turns: 1})
	wantEqual(f, "the events", f.listEvents("t"), nil)
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	f.createFull("other", "u")
	f.createWebhooks("u", "h")
	events.Now = f.now.Add(time.Minute + store.WebhookHold)
	wantEqual(f, "what was deleted as long as it may take", f.pruneStore(events), store.Pruned{})
	events.Now = events.Now.Add(time.Microsecond)
	wantEqual(f, "what was deleted after that", f.pruneStore(events), store.Pruned{Turns: 1})
	names, _ = f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "other"))
	f.createWebhooks("t", "h3") // of a turn whose events were deleted
	wantEqual(f, "what was deleted", f.pruneStore(sessions), store.Pruned{})
	over := f.advanceOf(f.claimWebhook())
	over.State = store.WebhookDone
	f.advanceWebhook(over)
	wantEqual(f, "what was deleted then", f.pruneStore(sessions), store.Pruned{Sessions: 1})
	f.createFull("s", "t")
	f.createWebhooks("t", "h")
	wantEqual(f, "what was deleted", f.pruneStore(sessions), store.Pruned{})
	sessions.Now = f.now.Add(time.Hour + store.WebhookHold)
	wantEqual(f, "what was deleted after that", f.pruneStore(sessions), store.Pruned{Sessions: 1})
}
