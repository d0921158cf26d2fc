package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var webhookClaimTests = []test{
	{name: "AClaimWantsSomethingToTell", run: aClaimWantsSomethingToTell},
	{name: "AClaimTakesWhatIsDueForLongest", run: aClaimTakesWhatIsDueForLongest},
	{name: "AClaimLeavesTheRest", run: aClaimLeavesTheRest},
	{name: "AWebhookHasOneWorker", run: aWebhookHasOneWorker},
	{name: "AWebhookLapses", run: aWebhookLapses},
	{name: "AWebhookAdvances", run: aWebhookAdvances},
	{name: "AWebhookThatWasLostDoesNotAdvance", run: aWebhookThatWasLostDoesNotAdvance},
	{name: "ManyWorkersShareWebhooks", run: manyWorkersShareWebhooks},
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
