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

func claimWebhooksOf(f *fixture) *store.ClaimWebhooks {
	return &store.ClaimWebhooks{Worker: worker, Lease: time.Hour, Surfaces: []string{"other", "test"}, Limit: 100, Now: f.now}
}

// claimWebhooks claims webhooks and returns their names.
func claimWebhooks(f *fixture, c *store.ClaimWebhooks) (names []string) {
	f.Helper()
	list := try(f.ClaimWebhooks(f.Context(), c)).wantOK(f)
	for _, h := range list {
		names = append(names, h.TurnID+"/"+h.ID)
	}
	return names
}

// claimWebhook claims the only claimable webhook.
func claimWebhook(f *fixture) *store.Webhook {
	f.Helper()
	list := try(f.ClaimWebhooks(f.Context(), claimWebhooksOf(f))).wantOK(f)
	if len(list) != 1 {
		f.Fatalf("%d webhooks were claimed, want 1", len(list))
	}
	return list[0]
}

func heldWebhook(h *store.Webhook) store.HeldWebhook {
	return store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence}
}

// advanceOf returns the update that hands a webhook back unchanged.
func advanceOf(f *fixture, h *store.Webhook) *store.AdvanceWebhook {
	return &store.AdvanceWebhook{HeldWebhook: heldWebhook(h), State: h.State, Cursor: h.Cursor, DueAt: h.DueAt, Release: true, Now: f.now}
}

func advanceWebhook(f *fixture, a *store.AdvanceWebhook) {
	f.Helper()
	wantOK(f, f.AdvanceWebhook(f.Context(), a))
}

func aClaimWantsSomethingToTell(f *fixture) {
	c := f.createRunning("s", "t")
	growTurn(f, c)
	createWebhooks(f, "t", "h")
	wantEqual(f, "what is claimed when nothing has happened since", claimWebhooks(f, claimWebhooksOf(f)), nil)
	ofTurn := claimWebhooksOf(f)
	ofTurn.TurnID = "other"
	wantEqual(f, "what is claimed of another turn", claimWebhooks(f, ofTurn), nil)
	ofTurn.TurnID = "t"
	list := try(f.ClaimWebhooks(f.Context(), ofTurn)).wantOK(f)
	wantEqual(f, "how many are claimed of the turn", len(list), 1)
	advanceWebhook(f, advanceOf(f, list[0]))
	growTurn(f, c)
	h := claimWebhook(f)
	if least := time.Now().Add(30 * time.Minute); h.LeaseUntil.Before(least) {
		f.Errorf("the lease ends at %v, want after %v", h.LeaseUntil, least)
	}
	wantEqual(f, "the worker", h.Worker, worker)
	wantEqual(f, "what is claimed once more", claimWebhooks(f, claimWebhooksOf(f)), nil)
	told := advanceOf(f, h)
	told.Cursor = 2
	advanceWebhook(f, told)
	wantEqual(f, "what is claimed when all is told", claimWebhooks(f, claimWebhooksOf(f)), nil)
	f.finishTurn(c) // without an event: nothing is left to wait for
	wantEqual(f, "what is claimed when the turn has ended", claimWebhooks(f, claimWebhooksOf(f)), []string{"t/h"})
}

func aClaimTakesWhatIsDueForLongest(f *fixture) {
	c := f.createRunning("s", "t")
	for i, id := range []string{"b", "c", "a"} {
		n := webhookOf(f, "t", id)
		n.Webhook.CreatedAt = f.now.Add(-time.Duration(i) * time.Minute)
		try(f.SaveWebhook(f.Context(), n)).wantOK(f)
	}
	late := webhookOf(f, "t", "late")
	late.Webhook.CreatedAt = f.now.Add(time.Minute)
	try(f.SaveWebhook(f.Context(), late)).wantOK(f)
	growTurn(f, c)
	few := claimWebhooksOf(f)
	few.Limit = 2
	wantEqual(f, "what is claimed first", claimWebhooks(f, few), []string{"t/a", "t/c"})
	wantEqual(f, "what is claimed then", claimWebhooks(f, few), []string{"t/b"})
	few.Now = f.now.Add(time.Minute)
	wantEqual(f, "what is claimed when it is due", claimWebhooks(f, few), []string{"t/late"})
}

func aClaimLeavesTheRest(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h")
	growTurn(f, c)
	for what, change := range map[string]func(*store.ClaimWebhooks){
		"of another surface": func(q *store.ClaimWebhooks) { q.Surfaces = []string{"other"} },
		"of no surface":      func(q *store.ClaimWebhooks) { q.Surfaces = nil },
		"of other tenants":   func(q *store.ClaimWebhooks) { q.NotTenants = []string{"umbra", "acme"} },
		"of none":            func(q *store.ClaimWebhooks) { q.Limit = 0 },
	} {
		q := claimWebhooksOf(f)
		change(q)
		wantEqual(f, "what is claimed "+what, claimWebhooks(f, q), nil)
	}
	q := claimWebhooksOf(f)
	q.TurnID, q.NotTenants = "t", []string{"acme"}
	wantEqual(f, "what is claimed of the turn of a tenant that is left out", claimWebhooks(f, q), nil)
	for _, state := range []store.WebhookState{store.WebhookDone, store.WebhookDead} {
		createWebhooks(f, "t", "h")
		over := advanceOf(f, claimWebhook(f))
		over.State = state
		advanceWebhook(f, over)
		wantEqual(f, "what is claimed of what is "+string(state), claimWebhooks(f, claimWebhooksOf(f)), nil)
	}
	q = claimWebhooksOf(f)
	q.NotTenants = []string{"umbra"}
	createWebhooks(f, "t", "h")
	wantEqual(f, "what is claimed of a tenant that is not left out", claimWebhooks(f, q), []string{"t/h"})
}

func aWebhookHasOneWorker(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h1", "h2", "h3")
	growTurn(f, c)
	list := try(f.ClaimWebhooks(f.Context(), claimWebhooksOf(f))).wantOK(f)
	all := []store.HeldWebhook{heldWebhook(list[0]), heldWebhook(list[1]), heldWebhook(list[2])}
	wantOK(f, f.DeleteWebhook(f.Context(), store.Everything, "t", "h2"))
	older := all[2]
	older.Fence--
	lost := try(f.HeartbeatWebhooks(f.Context(), worker, 10*time.Hour, append(all, older))).wantOK(f)
	wantEqual(f, "what is lost", lost, []store.HeldWebhook{all[1], older})
	lost = try(f.HeartbeatWebhooks(f.Context(), "worker-2", 20*time.Hour, all[:1])).wantOK(f)
	wantEqual(f, "what another worker loses", lost, all[:1])
	until := getWebhook(f, "t", "h1").LeaseUntil
	if hours := time.Until(until).Hours(); hours < 9 || hours > 11 {
		f.Errorf("the lease ends in %v hours, want 10", hours)
	}
	lost = try(f.HeartbeatWebhooks(f.Context(), worker, time.Hour, nil)).wantOK(f)
	wantEqual(f, "what is lost of nothing", lost, nil)
}

func aWebhookLapses(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h")
	growTurn(f, c)
	short := claimWebhooksOf(f)
	short.Lease = brief
	list := try(f.ClaimWebhooks(f.Context(), short)).wantOK(f)
	next := claimWebhooksOf(f)
	next.Worker = "worker-2"
	f.eventually("the lease ends", func() bool { return slices.Equal(claimWebhooks(f, next), []string{"t/h"}) })
	got := getWebhook(f, "t", "h")
	wantEqual(f, "the worker", got.Worker, "worker-2")
	wantEqual(f, "the fence", got.Fence, list[0].Fence+1)
	wantAs(f, f.AdvanceWebhook(f.Context(), advanceOf(f, list[0])), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: list[0].Fence})
	advanceWebhook(f, advanceOf(f, got))
}

func aWebhookAdvances(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h")
	growTurn(f, c)
	h := claimWebhook(f)
	want := getWebhook(f, "t", "h")
	a := advanceOf(f, h)
	a.Cursor, a.Attempts, a.FailingSince, a.LastError, a.DueAt = 7, 2, f.now.Add(-time.Hour), "it does not answer ✓", f.now.Add(time.Hour)
	a.Release, a.Now = false, f.now.Add(time.Minute)
	advanceWebhook(f, a)
	want.Cursor, want.Attempts, want.FailingSince, want.LastError, want.DueAt, want.UpdatedAt = 7, 2, a.FailingSince, a.LastError, a.DueAt, a.Now
	wantEqual(f, "the webhook", getWebhook(f, "t", "h"), want)
	advanceWebhook(f, a) // its worker still holds it
	a.Release, a.Attempts, a.FailingSince, a.LastError = true, 0, time.Time{}, ""
	advanceWebhook(f, a)
	want.Worker, want.LeaseUntil, want.Attempts, want.FailingSince, want.LastError = "", time.Time{}, 0, time.Time{}, ""
	wantEqual(f, "the webhook that was handed back", getWebhook(f, "t", "h"), want)
	wantAs(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: "t", WebhookID: "h", Fence: h.Fence})
}

func aWebhookThatWasLostDoesNotAdvance(f *fixture) {
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", "h")
	fenced := func(a *store.AdvanceWebhook) {
		f.Helper()
		wantAs(f, f.AdvanceWebhook(f.Context(), a), &store.FencedError{TurnID: a.TurnID, WebhookID: a.ID, Fence: a.Fence})
	}
	fenced(advanceOf(f, getWebhook(f, "t", "h"))) // nobody has it
	growTurn(f, c)
	h := claimWebhook(f)
	wrong := advanceOf(f, h)
	for _, fence := range []int64{0, -1, h.Fence - 1, h.Fence + 1} {
		wrong.Fence = fence
		fenced(wrong)
	}
	wrong.Fence, wrong.ID = h.Fence, "none"
	fenced(wrong)
	wantOK(f, f.DeleteWebhook(f.Context(), store.Everything, "t", "h"))
	fenced(advanceOf(f, h))
}

func manyWorkersShareWebhooks(f *fixture) {
	const hooks, workers = 40, 8
	c := f.createRunning("s", "t")
	createWebhooks(f, "t", numberedNames("h", hooks)...)
	growTurn(f, c)
	var mu sync.Mutex
	owners := make(map[string]string)
	runTogether(f, workers, func(i int) error {
		q := claimWebhooksOf(f)
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
	for _, id := range numberedNames("h", hooks) {
		wantEqual(f, "the worker of "+id, getWebhook(f, "t", id).Worker, owners[id])
	}
}
