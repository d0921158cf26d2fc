package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
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
	{name: "AClaimWantsSomethingToTell", run: aClaimWantsSomethingToTell},
	{name: "AClaimTakesWhatIsDueForLongest", run: aClaimTakesWhatIsDueForLongest},
	{name: "AClaimLeavesTheRest", run: aClaimLeavesTheRest},
	{name: "AWebhookHasOneWorker", run: aWebhookHasOneWorker},
	{name: "AWebhookLapses", run: aWebhookLapses},
	{name: "AWebhookAdvances", run: aWebhookAdvances},
	{name: "AWebhookThatWasLostDoesNotAdvance", run: aWebhookThatWasLostDoesNotAdvance},
	{name: "ADeletedSessionHasNoWebhooks", run: aDeletedSessionHasNoWebhooks},
	{name: "WhatIsNotToldIsKept", run: whatIsNotToldIsKept},
	{name: "ManyWorkersShareWebhooks", run: manyWorkersShareWebhooks},
}

// webhookOf returns a webhook that was not made yet.
func (f *fixture) webhookOf(turn, id string) *store.NewWebhook {
	return &store.NewWebhook{Scope: store.Everything, Webhook: store.Webhook{
		ID: id, TurnID: turn, Surface: "test", Data: json.RawMessage(`{"url": "https://` + id + `.example"}`), CreatedAt: f.now,
	}}
}

// hook makes webhooks of a turn.
func (f *fixture) hook(turn string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		_, err := f.SaveWebhook(f.Context(), f.webhookOf(turn, id))
		ok(f, err)
	}
}

func (f *fixture) getWebhook(turn, id string) *store.Webhook {
	f.Helper()
	found, err := f.Webhook(f.Context(), store.Everything, turn, id)
	ok(f, err)
	return found
}

// grow adds an event to a turn that runs.
func (f *fixture) grow(c *store.Claimed) {
	f.Helper()
	add := f.commitOf(c)
	c.Turn.Seq++
	add.Events = append(add.Events, f.eventOf(&c.Turn, c.Turn.Seq, `{}`))
	f.commit(add)
}

func (f *fixture) claimWebhooksOf() *store.ClaimWebhooks {
	return &store.ClaimWebhooks{Worker: worker, Lease: time.Hour, Surfaces: []string{"other", "test"}, Limit: 100, Now: f.now}
}

// claimed claims webhooks and returns their names.
func (f *fixture) claimed(c *store.ClaimWebhooks) (names []string) {
	f.Helper()
	list, err := f.ClaimWebhooks(f.Context(), c)
	ok(f, err)
	for _, h := range list {
		names = append(names, h.TurnID+"/"+h.ID)
	}
	return names
}

// claimWebhook claims the only webhook there is to be claimed.
func (f *fixture) claimWebhook() *store.Webhook {
	f.Helper()
	list, err := f.ClaimWebhooks(f.Context(), f.claimWebhooksOf())
	ok(f, err)
	if len(list) != 1 {
		f.Fatalf("%d webhooks were claimed, want 1", len(list))
	}
	return list[0]
}

func held(h *store.Webhook) store.HeldWebhook {
	return store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence}
}

// advanceOf returns what hands a webhook back as it is.
func (f *fixture) advanceOf(h *store.Webhook) *store.AdvanceWebhook {
	return &store.AdvanceWebhook{HeldWebhook: held(h), State: h.State, Cursor: h.Cursor, DueAt: h.DueAt, Release: true, Now: f.now}
}

func (f *fixture) advance(a *store.AdvanceWebhook) {
	f.Helper()
	ok(f, f.AdvanceWebhook(f.Context(), a))
}

// webhookIDs returns the names of a page of webhooks.
func (f *fixture) webhookIDs(q store.WebhookQuery) (names []string, next string) {
	f.Helper()
	page, err := f.Webhooks(f.Context(), q)
	ok(f, err)
	for _, h := range page.Webhooks {
		names = append(names, h.TurnID+"/"+h.ID)
	}
	return names, page.Next
}

func aWebhookIsReadAsItWasMade(f *fixture) {
	c := f.running("s", "t")
	f.grow(c)
	n := f.webhookOf("t", "h")
	n.Scope = store.Of(ann)
	n.Webhook.Owner, n.Webhook.SessionID = bob, "other" // the store knows better
	saved, err := f.SaveWebhook(f.Context(), n)
	ok(f, err)
	want := &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: f.now, Fence: 1, CreatedAt: f.now, UpdatedAt: f.now,
	}
	equal(f, "what SaveWebhook returns", saved, want)
	equal(f, "the webhook", f.getWebhook("t", "h"), want)
	n = f.webhookOf("t", "whole")
	n.FromStart = true
	saved, err = f.SaveWebhook(f.Context(), n)
	ok(f, err)
	equal(f, "where one begins that tells of all", saved.Cursor, 0)
	saved.Data[0] = 'x'
	equal(f, "the data, of which a copy was changed", string(f.getWebhook("t", "whole").Data), string(n.Webhook.Data))
}

func aWebhookNeedsATurn(f *fixture) {
	_, err := f.SaveWebhook(f.Context(), f.webhookOf("none", "h"))
	is(f, err, store.ErrNotFound)
	_, err = f.Webhook(f.Context(), store.Everything, "none", "h")
	is(f, err, store.ErrNotFound)
	is(f, f.DeleteWebhook(f.Context(), store.Everything, "none", "h"), store.ErrNotFound)
}

// aWebhookIsReplaced holds that the new one goes on where the other was, that
// who told of the other loses it, and that a receiver that was given up is tried
// again.
func aWebhookIsReplaced(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h")
	f.grow(c)
	old := f.claimWebhook()
	a := f.advanceOf(old)
	a.State, a.Cursor, a.Attempts, a.FailingSince, a.LastError, a.Release = store.WebhookDead, 1, 3, f.now, "gone", false
	a.DueAt = f.now.Add(time.Hour)
	f.advance(a)
	f.grow(c)
	n := f.webhookOf("t", "h")
	n.Limit, n.FromStart = 1, true
	n.Webhook.Data, n.Webhook.CreatedAt = json.RawMessage(`{"new":true}`), f.now.Add(time.Minute)
	saved, err := f.SaveWebhook(f.Context(), n)
	ok(f, err)
	equal(f, "the new one", saved, &store.Webhook{
		ID: "h", TurnID: "t", SessionID: "s", Owner: ann, Surface: "test", Data: n.Webhook.Data, State: store.WebhookActive,
		Cursor: 1, DueAt: n.Webhook.CreatedAt, Fence: old.Fence + 1, CreatedAt: f.now, UpdatedAt: n.Webhook.CreatedAt,
	})
	as(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: old.Fence})
	f.now = n.Webhook.CreatedAt
	equal(f, "what can be claimed", f.claimed(f.claimWebhooksOf()), []string{"t/h"})
}

func aTurnHasAFewWebhooks(f *fixture) {
	f.session("s", "other")
	f.turn("s", "t")
	f.turn("other", "u")
	save := func(turn, id string) error {
		n := f.webhookOf(turn, id)
		n.Limit = 2
		_, err := f.SaveWebhook(f.Context(), n)
		return err
	}
	ok(f, save("t", "h1"))
	ok(f, save("t", "h2"))
	as(f, save("t", "h3"), &store.LimitError{TurnID: "t", Limit: 2})
	ok(f, save("t", "h1")) // replaces
	ok(f, save("u", "h3"))
	ok(f, f.DeleteWebhook(f.Context(), store.Of(ann), "t", "h1"))
	is(f, f.DeleteWebhook(f.Context(), store.Of(ann), "t", "h1"), store.ErrNotFound)
	ok(f, save("t", "h3"))
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	equal(f, "the webhooks", names, []string{"t/h3", "u/h3", "t/h2"})
}

func aTurnThatHasEndedIsToldOfItsEnd(f *fixture) {
	c := f.running("s", "t")
	f.grow(c)
	f.end("t")
	f.hook("t", "h")
	equal(f, "behind which event it begins", f.getWebhook("t", "h").Cursor, 1)
	equal(f, "what can be claimed", f.claimed(f.claimWebhooksOf()), []string{"t/h"})
	f.turn("s", "never")
	n := f.webhookOf("never", "h")
	_, err := f.SaveWebhook(f.Context(), n)
	ok(f, err)
	equal(f, "behind which event one begins of a turn without events", f.getWebhook("never", "h").Cursor, 0)
}

func webhooksAreFiltered(f *fixture) {
	f.session("s1", "s2")
	f.sessionFor(bob, "s3")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	foreign := f.turnOf("s3", "t3")
	foreign.Turn.Owner = bob
	f.create(foreign)
	f.hook("t1", "h1", "h2")
	f.hook("t2", "h1")
	f.hook("t3", "h1")
	other := f.webhookOf("t1", "h3")
	other.Webhook.Surface = "other"
	_, err := f.SaveWebhook(f.Context(), other)
	ok(f, err)
	claim := f.claimWebhooksOf()
	claim.TurnID = "t2"
	list, err := f.ClaimWebhooks(f.Context(), claim)
	ok(f, err)
	dead := f.advanceOf(list[0])
	dead.State = store.WebhookDead
	f.advance(dead)
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
		equal(f, "the webhooks by "+c.name, names, c.want)
	}
}

func pagesOfWebhooksMissNothing(f *fixture) {
	const n = 9
	f.session("s1", "s2")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	var want []string
	for i, id := range numbered("h", n) {
		turn := fmt.Sprint("t", i%2+1)
		f.hook(turn, id)
		want = append([]string{turn + "/" + id}, want...)
	}
	for _, limit := range []int{1, 4, n - 1, n, n + 1} {
		all, pages := walk(func(p store.Page) ([]string, string) {
			return f.webhookIDs(store.WebhookQuery{Scope: store.Of(ann), Page: p})
		}, limit)
		equal(f, fmt.Sprintf("the webhooks in pages of %d", limit), all, want)
		equal(f, fmt.Sprintf("how many pages of %d there are", limit), pages, (n+limit-1)/limit)
	}
	for _, cursor := range []string{"?", store.Cursor{Time: f.now, ID: "x"}.String(), store.Cursor{Time: f.now, ID: "-1"}.String()} {
		_, err := f.Webhooks(f.Context(), store.WebhookQuery{Scope: store.Everything, Page: store.Page{After: cursor}})
		is(f, err, store.ErrCursor)
	}
}

func aForeignWebhookIsUnknown(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	f.hook("t", "h")
	before := f.getWebhook("t", "h")
	for _, scope := range strangers {
		for _, id := range []string{"h", "none"} {
			_, err := f.Webhook(f.Context(), scope, "t", id)
			is(f, err, store.ErrNotFound)
			is(f, f.DeleteWebhook(f.Context(), scope, "t", id), store.ErrNotFound)
			n := f.webhookOf("t", id)
			n.Scope = scope
			_, err = f.SaveWebhook(f.Context(), n)
			is(f, err, store.ErrNotFound)
		}
		names, _ := f.webhookIDs(store.WebhookQuery{Scope: scope})
		equal(f, "what a stranger sees", names, nil)
	}
	equal(f, "the webhook", f.getWebhook("t", "h"), before)
}

func aClaimWantsSomethingToTell(f *fixture) {
	c := f.running("s", "t")
	f.grow(c)
	f.hook("t", "h")
	equal(f, "what is claimed when nothing has happened since", f.claimed(f.claimWebhooksOf()), nil)
	ofTurn := f.claimWebhooksOf()
	ofTurn.TurnID = "other"
	equal(f, "what is claimed of another turn", f.claimed(ofTurn), nil)
	ofTurn.TurnID = "t"
	list, err := f.ClaimWebhooks(f.Context(), ofTurn)
	ok(f, err)
	equal(f, "how many are claimed of the turn", len(list), 1)
	f.advance(f.advanceOf(list[0]))
	f.grow(c)
	h := f.claimWebhook()
	if least := time.Now().Add(30 * time.Minute); h.LeaseUntil.Before(least) {
		f.Errorf("the lease ends at %v, want after %v", h.LeaseUntil, least)
	}
	equal(f, "the worker", h.Worker, worker)
	equal(f, "what is claimed once more", f.claimed(f.claimWebhooksOf()), nil)
	told := f.advanceOf(h)
	told.Cursor = 2
	f.advance(told)
	equal(f, "what is claimed when all is told", f.claimed(f.claimWebhooksOf()), nil)
	f.finish(c) // without an event: there is none to wait for any more
	equal(f, "what is claimed when the turn has ended", f.claimed(f.claimWebhooksOf()), []string{"t/h"})
}

func aClaimTakesWhatIsDueForLongest(f *fixture) {
	c := f.running("s", "t")
	for i, id := range []string{"b", "c", "a"} {
		n := f.webhookOf("t", id)
		n.Webhook.CreatedAt = f.now.Add(-time.Duration(i) * time.Minute)
		_, err := f.SaveWebhook(f.Context(), n)
		ok(f, err)
	}
	late := f.webhookOf("t", "late")
	late.Webhook.CreatedAt = f.now.Add(time.Minute)
	_, err := f.SaveWebhook(f.Context(), late)
	ok(f, err)
	f.grow(c)
	few := f.claimWebhooksOf()
	few.Limit = 2
	equal(f, "what is claimed first", f.claimed(few), []string{"t/a", "t/c"})
	equal(f, "what is claimed then", f.claimed(few), []string{"t/b"})
	few.Now = f.now.Add(time.Minute)
	equal(f, "what is claimed when it is due", f.claimed(few), []string{"t/late"})
}

func aClaimLeavesTheRest(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h")
	f.grow(c)
	for what, change := range map[string]func(*store.ClaimWebhooks){
		"of another surface": func(q *store.ClaimWebhooks) { q.Surfaces = []string{"other"} },
		"of no surface":      func(q *store.ClaimWebhooks) { q.Surfaces = nil },
		"of other tenants":   func(q *store.ClaimWebhooks) { q.NotTenants = []string{"umbra", "acme"} },
		"of none":            func(q *store.ClaimWebhooks) { q.Limit = 0 },
	} {
		q := f.claimWebhooksOf()
		change(q)
		equal(f, "what is claimed "+what, f.claimed(q), nil)
	}
	q := f.claimWebhooksOf()
	q.TurnID, q.NotTenants = "t", []string{"acme"}
	equal(f, "what is claimed of the turn of a tenant that is left out", f.claimed(q), nil)
	for _, state := range []store.WebhookState{store.WebhookDone, store.WebhookDead} {
		f.hook("t", "h")
		over := f.advanceOf(f.claimWebhook())
		over.State = state
		f.advance(over)
		equal(f, "what is claimed of what is "+string(state), f.claimed(f.claimWebhooksOf()), nil)
	}
	q = f.claimWebhooksOf()
	q.NotTenants = []string{"umbra"}
	f.hook("t", "h")
	equal(f, "what is claimed of a tenant that is not left out", f.claimed(q), []string{"t/h"})
}

func aWebhookHasOneWorker(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h1", "h2", "h3")
	f.grow(c)
	list, err := f.ClaimWebhooks(f.Context(), f.claimWebhooksOf())
	ok(f, err)
	all := []store.HeldWebhook{held(list[0]), held(list[1]), held(list[2])}
	ok(f, f.DeleteWebhook(f.Context(), store.Everything, "t", "h2"))
	older := all[2]
	older.Fence--
	lost, err := f.HeartbeatWebhooks(f.Context(), worker, 10*time.Hour, append(all, older))
	ok(f, err)
	equal(f, "what is lost", lost, []store.HeldWebhook{all[1], older})
	lost, err = f.HeartbeatWebhooks(f.Context(), "worker-2", 20*time.Hour, all[:1])
	ok(f, err)
	equal(f, "what another worker loses", lost, all[:1])
	until := f.getWebhook("t", "h1").LeaseUntil
	if hours := time.Until(until).Hours(); hours < 9 || hours > 11 {
		f.Errorf("the lease ends in %v hours, want 10", hours)
	}
	lost, err = f.HeartbeatWebhooks(f.Context(), worker, time.Hour, nil)
	ok(f, err)
	equal(f, "what is lost of nothing", lost, nil)
}

func aWebhookLapses(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h")
	f.grow(c)
	short := f.claimWebhooksOf()
	short.Lease = brief
	list, err := f.ClaimWebhooks(f.Context(), short)
	ok(f, err)
	next := f.claimWebhooksOf()
	next.Worker = "worker-2"
	f.eventually("the lease ends", func() bool { return slices.Equal(f.claimed(next), []string{"t/h"}) })
	got := f.getWebhook("t", "h")
	equal(f, "the worker", got.Worker, "worker-2")
	equal(f, "the fence", got.Fence, list[0].Fence+1)
	as(f, f.AdvanceWebhook(f.Context(), f.advanceOf(list[0])), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: list[0].Fence})
	f.advance(f.advanceOf(got))
}

func aWebhookAdvances(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h")
	f.grow(c)
	h := f.claimWebhook()
	want := f.getWebhook("t", "h")
	a := f.advanceOf(h)
	a.Cursor, a.Attempts, a.FailingSince, a.LastError, a.DueAt = 7, 2, f.now.Add(-time.Hour), "it does not answer ✓", f.now.Add(time.Hour)
	a.Release, a.Now = false, f.now.Add(time.Minute)
	f.advance(a)
	want.Cursor, want.Attempts, want.FailingSince, want.LastError, want.DueAt, want.UpdatedAt = 7, 2, a.FailingSince, a.LastError, a.DueAt, a.Now
	equal(f, "the webhook", f.getWebhook("t", "h"), want)
	f.advance(a) // it is its worker's still
	a.Release, a.Attempts, a.FailingSince, a.LastError = true, 0, time.Time{}, ""
	f.advance(a)
	want.Worker, want.LeaseUntil, want.Attempts, want.FailingSince, want.LastError = "", time.Time{}, 0, time.Time{}, ""
	equal(f, "the webhook that was handed back", f.getWebhook("t", "h"), want)
	as(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: h.Fence})
}

func aWebhookThatWasLostDoesNotAdvance(f *fixture) {
	c := f.running("s", "t")
	f.hook("t", "h")
	fenced := func(a *store.AdvanceWebhook) {
		f.Helper()
		as(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence})
	}
	fenced(f.advanceOf(f.getWebhook("t", "h"))) // nobody has it
	f.grow(c)
	h := f.claimWebhook()
	wrong := f.advanceOf(h)
	for _, fence := range []int64{0, -1, h.Fence - 1, h.Fence + 1} {
		wrong.Fence = fence
		fenced(wrong)
	}
	wrong.Fence, wrong.ID = h.Fence, "none"
	fenced(wrong)
	ok(f, f.DeleteWebhook(f.Context(), store.Everything, "t", "h"))
	fenced(f.advanceOf(h))
}

func aDeletedSessionHasNoWebhooks(f *fixture) {
	f.full("s", "t")
	f.hook("t", "h")
	ok(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	_, err := f.Webhook(f.Context(), store.Everything, "t", "h")
	is(f, err, store.ErrNotFound)
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	equal(f, "the webhooks", names, nil)
	equal(f, "what can be claimed", f.claimed(f.claimWebhooksOf()), nil)
}

// whatIsNotToldIsKept holds that neither the events nor the session of a turn
// are too old before its receivers know its end, or were given up.
func whatIsNotToldIsKept(f *fixture) {
	f.full("s", "t")
	f.hook("t", "h1", "h2")
	events := store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute}
	sessions := store.Retention{Now: f.now.Add(time.Hour), Sessions: time.Minute}
	for i, state := range []store.WebhookState{store.WebhookDone, store.WebhookDead} {
		equal(f, "what was deleted", f.prune(events), store.Pruned{})
		equal(f, "what was deleted", f.prune(sessions), store.Pruned{})
		equal(f, "how many events there are", len(f.events("t")), 1)
		few := f.claimWebhooksOf()
		few.Limit = 1
		list, err := f.ClaimWebhooks(f.Context(), few)
		ok(f, err)
		equal(f, "which webhook is claimed", list[0].ID, fmt.Sprint("h", i+1))
		over := f.advanceOf(list[0])
		over.State = state
		f.advance(over)
	}
	equal(f, "what was deleted then", f.prune(events), store.Pruned{Turns: 1})
	equal(f, "the events", f.events("t"), nil)
	names, _ := f.webhookIDs(store.WebhookQuery{Scope: store.Everything})
	equal(f, "the webhooks", names, nil)
	f.hook("t", "h3") // of a turn whose events are gone
	equal(f, "what was deleted", f.prune(sessions), store.Pruned{})
	over := f.advanceOf(f.claimWebhook())
	over.State = store.WebhookDone
	f.advance(over)
	equal(f, "what was deleted then", f.prune(sessions), store.Pruned{Sessions: 1})
}

func manyWorkersShareWebhooks(f *fixture) {
	const hooks, workers = 40, 8
	c := f.running("s", "t")
	f.hook("t", numbered("h", hooks)...)
	f.grow(c)
	var mu sync.Mutex
	owners := make(map[string]string)
	f.together(workers, func(i int) error {
		q := f.claimWebhooksOf()
		q.Worker, q.Limit = fmt.Sprint("worker-", i), 3
		for idle := 0; idle < 3; {
			list, err := f.ClaimWebhooks(f.Context(), q)
			if err != nil {
				return err
			}
			if len(list) > q.Limit {
				return fmt.Errorf("%d were claimed, the limit is %d", len(list), q.Limit)
			}
			if len(list) == 0 {
				idle++
			}
			mu.Lock()
			for _, h := range list {
				if other := owners[h.ID]; other != "" {
					mu.Unlock()
					return fmt.Errorf("%s is claimed by %s and %s", h.ID, other, q.Worker)
				}
				owners[h.ID] = q.Worker
			}
			mu.Unlock()
		}
		return nil
	})
	for _, id := range numbered("h", hooks) {
		equal(f, "the worker of "+id, f.getWebhook("t", id).Worker, owners[id])
	}
}
