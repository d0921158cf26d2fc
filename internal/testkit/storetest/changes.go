package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var changeTests = []test{
	{name: "ATurnChangesWithItsState", run: aTurnChangesWithItsState},
	{name: "TheLatestChangeComesFirst", run: theLatestChangeComesFirst},
	{name: "WhatDidNotChangeSinceIsLeftOut", run: whatDidNotChangeSinceIsLeftOut},
	{name: "PagesOfChangesMissNothing", run: pagesOfChangesMissNothing},
	{name: "ACountGoesOverAllPages", run: aCountGoesOverAllPages},
	{name: "TheLatestStateIsRead", run: theLatestStateIsRead},
}

// aTurnChangesWithItsState checks that a running turn's activity does not count as a change of its
// state.
func aTurnChangesWithItsState(f *fixture) {
	start := f.now
	later := func() time.Time {
		f.now = f.now.Add(time.Minute)
		return f.now
	}
	changed := func(what string, want time.Time) {
		f.Helper()
		got := f.getTurn("t")
		wantEqual(f, "when the turn changed by "+what, got.ChangedAt, want)
	}
	f.createQueued("s", "t")
	changed("being made", start)
	claimedAt := later()
	c := f.claimTurn("t")
	changed("a claim", claimedAt)
	wantEqual(f, "when the turn that is claimed changed", c.Turn.ChangedAt, claimedAt)

	later()
	add := f.commitOf(c)
	add.Events, add.State, add.Messages = append(add.Events, f.eventOf(&c.Turn, 1, `{}`)), []byte("state"), textMessages("one")
	f.commitTurn(add)
	changed("an append", claimedAt)
	wantEqual(f, "when the turn was written", f.getTurn("t").UpdatedAt, f.now)
	yes := true
	try(f.UpdateTurn(f.Context(), store.Everything, "t", store.TurnPatch{Background: &yes, Now: later()})).wantOK(f)
	changed("a patch", claimedAt)
	try(f.Heartbeat(f.Context(), worker, time.Hour, []store.Held{{TurnID: "t", Fence: c.Turn.Fence}})).wantOK(f)
	changed("a heartbeat", claimedAt)

	yieldedAt := later()
	f.yieldTurn(c)
	changed("being handed back", yieldedAt)
	later()
	c = f.claimTurn("t")
	suspendedAt := later()
	f.suspendTurn(c, "q")
	changed("beginning to wait", suspendedAt)
	answeredAt := later()
	f.answerTurn("t", "q", "yes")
	changed("an answer", answeredAt)
	later()
	c = f.claimTurn("t")
	finishedAt := later()
	last := f.finishOf(c)
	last.Events = append(last.Events, f.eventOf(&c.Turn, 2, `{}`))
	f.commitTurn(last)
	changed("its end", finishedAt)
	later()
	f.endTurn("t")
	changed("an end that comes late", finishedAt)
}

func theLatestChangeComesFirst(f *fixture) {
	f.createSessions("s1", "s2", "s3")
	f.sessionFor(bob, "s4")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.createTurns("s3", "t3")
	foreign := f.turnOf("s4", "t4")
	foreign.Turn.Owner = bob
	f.createTurn(foreign)
	for _, id := range []string{"t2", "t3", "t1"} {
		f.now = f.now.Add(time.Second)
		f.claimTurn(id)
	}
	f.now = f.now.Add(time.Second)
	f.endTurn("t3")
	for _, c := range []struct {
		name string
		q    store.TurnQuery
		want []string
	}{
		{"an owner", store.TurnQuery{Scope: store.Of(ann)}, []string{"t3", "t1", "t2"}},
		{"everybody", store.TurnQuery{Scope: store.Everything}, []string{"t3", "t1", "t2", "t4"}},
		{"a session", store.TurnQuery{Scope: store.Of(ann), SessionID: "s2"}, []string{"t2"}},
		{"a state", store.TurnQuery{Scope: store.Of(ann), Statuses: []store.Status{store.Running}}, []string{"t1", "t2"}},
		{"a stranger", store.TurnQuery{Scope: store.Of(eve)}, nil},
	} {
		c.q.ByChange = true
		ids, _ := turnIDs(f, c.q)
		wantEqual(f, "the turns of "+c.name, ids, c.want)
	}
	ids, _ := turnIDs(f, store.TurnQuery{Scope: store.Of(ann)})
	wantEqual(f, "the turns in the order in which they were made", ids, []string{"t3", "t2", "t1"})
}

func whatDidNotChangeSinceIsLeftOut(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	at := f.now.Add(time.Second)
	f.now = at
	f.claimTurn("t1")
	for _, c := range []struct {
		after time.Time
		want  []string
	}{
		{time.Time{}, []string{"t1", "t2"}},
		{at.Add(-time.Second), []string{"t1", "t2"}},
		{at.Add(-time.Microsecond), []string{"t1"}},
		{at, []string{"t1"}},
		{at.Add(time.Microsecond), nil},
	} {
		ids, _ := turnIDs(f, store.TurnQuery{Scope: store.Of(ann), ByChange: true, ChangedAfter: c.after})
		wantEqual(f, fmt.Sprint("what changed after ", c.after), ids, c.want)
		ids, _ = turnIDs(f, store.TurnQuery{Scope: store.Of(ann), ChangedAfter: c.after})
		slices.Sort(ids)
		wantEqual(f, fmt.Sprint("what changed after ", c.after, ", in another order"), ids, c.want)
	}
}

func pagesOfChangesMissNothing(f *fixture) {
	const n = 20
	var want []string
	f.createSessions("s")
	for i, id := range numberedNames("t", n) {
		turn := f.turnOf("s", id)
		turn.Turn.CreatedAt = f.now.Add(time.Duration(i/7) * time.Microsecond) // seven have the same
		f.createTurn(turn)
		want = append([]string{id}, want...)
	}
	for _, limit := range []int{1, 3, 7, n - 1, n, n + 1} {
		what := fmt.Sprintf(" in pages of %d", limit)
		all, pages := walkPages(func(p store.Page) ([]string, string) {
			return turnIDs(f, store.TurnQuery{Scope: store.Of(ann), ByChange: true, Page: p})
		}, limit)
		wantEqual(f, "the turns"+what, all, want)
		wantEqual(f, "how many pages there are"+what, pages, (n+limit-1)/limit)
	}
}

func aCountGoesOverAllPages(f *fixture) {
	const n = 5
	f.createSessions("s", "other")
	f.createTurns("s", numberedNames("t", n)...)
	f.createTurns("other", "u")
	count := func(q store.TurnQuery) int {
		f.Helper()
		page := try(f.Turns(f.Context(), q)).wantOK(f)
		return page.Total
	}
	q := store.TurnQuery{Scope: store.Of(ann), SessionID: "s", Page: store.Page{Limit: 2}}
	wantEqual(f, "the count nobody asked for", count(q), 0)
	q.Count = true
	wantEqual(f, "the count", count(q), n)
	page := try(f.Turns(f.Context(), q)).wantOK(f)
	q.Page.After = page.Next
	wantEqual(f, "the count on the second page", count(q), n)
	f.claimTurn("t-000")
	q.Statuses = []store.Status{store.Pending}
	wantEqual(f, "the count of a state", count(q), n-1)
	wantEqual(f, "the count of everybody", count(store.TurnQuery{Scope: store.Everything, Count: true}), n+1)
	wantEqual(f, "the count of a stranger", count(store.TurnQuery{Scope: store.Of(eve), Count: true}), 0)
}

func theLatestStateIsRead(f *fixture) {
	state := func() string {
		f.Helper()
		data := try(f.State(f.Context(), "t")).wantOK(f)
		if data == nil {
			return "none"
		}
		return string(data)
	}
	wantEqual(f, "the state of an unknown turn", state(), "none")
	c := f.createRunning("s", "t")
	wantEqual(f, "the state of a turn that begins", state(), "none")
	for _, text := range []string{"first", "second"} {
		add := f.commitOf(c)
		add.State = []byte(text)
		f.commitTurn(add)
		wantEqual(f, "the state", state(), text)
	}
	f.commitTurn(f.commitOf(c)) // without a state
	wantEqual(f, "the state", state(), "second")
	f.suspendTurn(c, "q")
	wantEqual(f, "the state while it waits", state(), "second")
	f.endTurn("t")
	wantEqual(f, "the state of a turn that has ended", state(), "none")
}
