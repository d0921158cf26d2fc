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
func webhookOf(f *fixture, turn, id string) *store.NewWebhook {
	return &store.NewWebhook{Scope: store.Everything, Webhook: store.Webhook{
		ID: id, TurnID: turn, Surface: "test", Data: json.RawMessage(`{"url": "https://` + id + `.example"}`), CreatedAt: f.now,
	}}
}

// createWebhooks creates webhooks of a turn.
func createWebhooks(f *fixture, turn string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		try(f.SaveWebhook(f.Context(), webhookOf(f, turn, id))).wantOK(f)
	}
}

func getWebhook(f *fixture, turn, id string) *store.Webhook {
	f.Helper()
	return try(f.Webhook(f.Context(), store.Everything, turn, id)).wantOK(f)
}

// growTurn adds an event to a running turn.
func growTurn(f *fixture, c *store.Claimed) {
	f.Helper()
	add := f.commitOf(c)
	c.Turn.Seq++
	add.Events = append(add.Events, f.eventOf(&c.Turn, c.Turn.Seq, `{}`))
	f.commitTurn(add)
}

// webhookIDs returns the names of a page of webhooks.
func webhookIDs(f *fixture, q store.WebhookQuery) (names []string, next string) {
	f.Helper()
	page := try(f.Webhooks(f.Context(), q)).wantOK(f)
	for _, h := range page.Webhooks {
		names = append(names, h.TurnID+"/"+h.ID)
	}
	return names, page.Next
}

func aWebhookIsReadAsItWasMade(f *fixture) {
	c := f.createRunning("s", "t")
	growTurn(f, c)
	n := webhookOf(f, "t", "h")
	n.Scope = store.Of(ann)
	n.Webhook.Owner, n.Webhook.SessionID = bob, "other" // the store knows better
	saved := try(f.SaveWebhook(f.Context(), n)).wantOK(f)
	want := &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: f.now, Fence: f.now.UnixMicro(), CreatedAt: f.now, UpdatedAt: f.now,
	}
	wantEqual(f, "what SaveWebhook returns", saved, want)
	wantEqual(f, "the webhook", getWebhook(f, "t", "h"), want)
	n = webhookOf(f, "t", "whole")
	n.FromStart = true
	saved = try(f.SaveWebhook(f.Context(), n)).wantOK(f)
	wantEqual(f, "where one begins that tells of all", saved.Cursor, 0)
	saved.Data[0] = 'x'
	wantEqual(f, "the data, of which a copy was changed", string(getWebhook(f, "t", "whole").Data), string(n.Webhook.Data))
}

func aWebhookNeedsATurn(f *fixture) {
	wantError(f, try(f.SaveWebhook(f.Context(), webhookOf(f, "none", "h"))).err, store.ErrNotFound)
	wantError(f, try(f.Webhook(f.Context(), store.Everything, "none", "h")).err, store.ErrNotFound)
	wantError(f, f.DeleteWebhook(f.Context(), store.Everything, "none", "h"), store.ErrNotFound)
}

// aWebhookIsReplaced checks that the new webhook continues where the old one stopped, that the
// old one's worker loses it, and that an abandoned receiver is tried again.
func aWebhookIsReplaced(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h")
	growTurn(f, c)
	old := claimWebhook(f)
	a := advanceOf(f, old)
	a.State, a.Cursor, a.Attempts, a.FailingSince, a.LastError, a.Release = store.WebhookDead, 1, 3, f.now, "gone", false
	a.DueAt = f.now.Add(time.Hour)
	advanceWebhook(f, a)
	growTurn(f, c)
	n := webhookOf(f, "t", "h")
	n.Limit, n.FromStart = 1, true
	n.Webhook.Data, n.Webhook.CreatedAt = json.RawMessage(`{"new":true}`), f.now.Add(time.Minute)
	saved := try(f.SaveWebhook(f.Context(), n)).wantOK(f)
	wantEqual(f, "the new one", saved, &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: n.Webhook.CreatedAt, Fence: old.Fence + 1, CreatedAt: f.now, UpdatedAt: n.Webhook.CreatedAt,
	})
	wantAs(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: old.Fence})
	f.now = n.Webhook.CreatedAt
	wantEqual(f, "what can be claimed", claimWebhooks(f, claimWebhooksOf(f)), []string{"t/h"})
}

func aTurnHasAFewWebhooks(f *fixture) {
	f.createSessions("s", "other")
	f.createTurns("s", "t")
	f.createTurns("other", "u")
	save := func(turn, id string) error {
		n := webhookOf(f, turn, id)
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
	names, _ := webhookIDs(f, store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, []string{"t/h3", "u/h3", "t/h2"})
}

func aTurnThatHasEndedIsToldOfItsEnd(f *fixture) {
	c := f.createRunning("s", "t")
	growTurn(f, c)
	f.endTurn("t")
	createWebhooks(f, "t", "h")
	wantEqual(f, "after which event it begins", getWebhook(f, "t", "h").Cursor, 1)
	wantEqual(f, "what can be claimed", claimWebhooks(f, claimWebhooksOf(f)), []string{"t/h"})
	f.createTurns("s", "never")
	n := webhookOf(f, "never", "h")
	try(f.SaveWebhook(f.Context(), n)).wantOK(f)
	wantEqual(f, "after which event one begins of a turn without events", getWebhook(f, "never", "h").Cursor, 0)
}

func webhooksAreFiltered(f *fixture) {
	f.createSessions("s1", "s2")
	f.sessionFor(bob, "s3")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	foreign := f.turnOf("s3", "t3")
	foreign.Turn.Owner = bob
	f.createTurn(foreign)
	createWebhooks(f, "t1", "h1", "h2")
	createWebhooks(f, "t2", "h1")
	createWebhooks(f, "t3", "h1")
	other := webhookOf(f, "t1", "h3")
	other.Webhook.Surface = "other"
	try(f.SaveWebhook(f.Context(), other)).wantOK(f)
	claim := claimWebhooksOf(f)
	claim.TurnID = "t2"
	list := try(f.ClaimWebhooks(f.Context(), claim)).wantOK(f)
	dead := advanceOf(f, list[0])
	dead.State = store.WebhookDead
	advanceWebhook(f, dead)
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
		names, _ := webhookIDs(f, c.q)
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
		createWebhooks(f, turn, id)
		want = append([]string{turn + "/" + id}, want...)
	}
	for _, limit := range []int{1, 4, n - 1, n, n + 1} {
		all, pages := walkPages(func(p store.Page) ([]string, string) {
			return webhookIDs(f, store.WebhookQuery{Scope: store.Of(ann), Page: p})
		}, limit)
		wantEqual(f, fmt.Sprintf("the webhooks in pages of %d", limit), all, want)
		wantEqual(f, fmt.Sprintf("how many pages of %d there are", limit), pages, (n+limit-1)/limit)
	}
	for _, cursor := range []string{"?", store.Cursor{Time: f.now, ID: "x"}.String(), store.Cursor{Time: f.now, ID: "-1"}.String()} {
		wantError(f, try(f.Webhooks(f.Context(), store.WebhookQuery{Scope: store.Everything, Page: store.Page{After: cursor}})).err, store.ErrCursor)
	}
}

func aForeignWebhookIsUnknown(f *fixture) {
	f.createQueued("s", "t")
	createWebhooks(f, "t", "h")
	before := getWebhook(f, "t", "h")
	for _, scope := range strangers {
		for _, id := range []string{"h", "none"} {
			wantError(f, try(f.Webhook(f.Context(), scope, "t", id)).err, store.ErrNotFound)
			wantError(f, f.DeleteWebhook(f.Context(), scope, "t", id), store.ErrNotFound)
			n := webhookOf(f, "t", id)
			n.Scope = scope
			wantError(f, try(f.SaveWebhook(f.Context(), n)).err, store.ErrNotFound)
		}
		names, _ := webhookIDs(f, store.WebhookQuery{Scope: scope})
		wantEqual(f, "what a stranger sees", names, nil)
	}
	wantEqual(f, "the webhook", getWebhook(f, "t", "h"), before)
}

func aDeletedSessionHasNoWebhooks(f *fixture) {
	createFull(f, "s", "t")
	createWebhooks(f, "t", "h")
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	wantError(f, try(f.Webhook(f.Context(), store.Everything, "t", "h")).err, store.ErrNotFound)
	names, _ := webhookIDs(f, store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	wantEqual(f, "what can be claimed", claimWebhooks(f, claimWebhooksOf(f)), nil)
}

// whatIsNotToldIsKept checks that neither the events nor the session of a turn expire before its
// receivers were notified of its end or abandoned.
func whatIsNotToldIsKept(f *fixture) {
	createFull(f, "s", "t")
	createWebhooks(f, "t", "h1", "h2")
	events := store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute}
	sessions := store.Retention{Now: f.now.Add(time.Hour), Sessions: time.Minute}
	for i, state := range []store.WebhookState{store.WebhookDone, store.WebhookDead} {
		wantEqual(f, "what was deleted", pruneStore(f, events), store.Pruned{})
		wantEqual(f, "what was deleted", pruneStore(f, sessions), store.Pruned{})
		wantEqual(f, "how many events there are", len(f.listEvents("t")), 1)
		few := claimWebhooksOf(f)
		few.Limit = 1
		list := try(f.ClaimWebhooks(f.Context(), few)).wantOK(f)
		wantEqual(f, "which webhook is claimed", list[0].ID, fmt.Sprint("h", i+1))
		over := advanceOf(f, list[0])
		over.State = state
		advanceWebhook(f, over)
	}
	wantEqual(f, "what was deleted then", pruneStore(f, events), store.Pruned{Turns: 1})
	wantEqual(f, "the events", f.listEvents("t"), nil)
	names, _ := webhookIDs(f, store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	createFull(f, "other", "u")
	createWebhooks(f, "u", "h")
	events.Now = f.now.Add(time.Minute + store.WebhookHold)
	wantEqual(f, "what was deleted as long as it may take", pruneStore(f, events), store.Pruned{})
	events.Now = events.Now.Add(time.Microsecond)
	wantEqual(f, "what was deleted after that", pruneStore(f, events), store.Pruned{Turns: 1})
	names, _ = webhookIDs(f, store.WebhookQuery{Scope: store.Everything})
	wantEqual(f, "the webhooks", names, nil)
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "other"))
	createWebhooks(f, "t", "h3") // of a turn whose events were deleted
	wantEqual(f, "what was deleted", pruneStore(f, sessions), store.Pruned{})
	over := advanceOf(f, claimWebhook(f))
	over.State = store.WebhookDone
	advanceWebhook(f, over)
	wantEqual(f, "what was deleted then", pruneStore(f, sessions), store.Pruned{Sessions: 1})
	createFull(f, "s", "t")
	createWebhooks(f, "t", "h")
	wantEqual(f, "what was deleted", pruneStore(f, sessions), store.Pruned{})
	sessions.Now = f.now.Add(time.Hour + store.WebhookHold)
	wantEqual(f, "what was deleted after that", pruneStore(f, sessions), store.Pruned{Sessions: 1})
}
