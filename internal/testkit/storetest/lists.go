package storetest

import (
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var listTests = []test{
	{name: "SessionsComeLatestFirst", run: sessionsComeLatestFirst},
	{name: "SessionsAreFiltered", run: sessionsAreFiltered},
	{name: "TurnsAreFiltered", run: turnsAreFiltered},
	{name: "NothingMatchesATextThatNoStoreHas", run: nothingMatchesATextThatNoStoreHas},
	{name: "PagesOverEqualTimesMissNothing", run: pagesOverEqualTimesMissNothing},
	{name: "APageStaysWhileTheListGrows", run: aPageStaysWhileTheListGrows},
	{name: "PagesHaveBounds", run: pagesHaveBounds},
	{name: "ACursorIsOneThatWasGivenOut", run: aCursorIsOneThatWasGivenOut},
}

// sessionIDs returns the ids of a page of sessions.
func sessionIDs(f *fixture, q store.SessionQuery) (ids []string, next string) {
	f.Helper()
	page := try(f.Sessions(f.Context(), q)).wantOK(f)
	for _, s := range page.Sessions {
		ids = append(ids, s.ID)
	}
	return ids, page.Next
}

// turnIDs returns the ids of a page of turns.
func turnIDs(f *fixture, q store.TurnQuery) (ids []string, next string) {
	f.Helper()
	page := try(f.Turns(f.Context(), q)).wantOK(f)
	for _, t := range page.Turns {
		ids = append(ids, t.ID)
	}
	return ids, page.Next
}

// snapshotIDs returns the ids of a page of snapshots.
func snapshotIDs(f *fixture, session string, p store.Page) (ids []string, next string) {
	f.Helper()
	page := try(f.Snapshots(f.Context(), store.SnapshotQuery{Scope: store.Everything, SessionID: session, Page: p})).wantOK(f)
	for _, s := range page.Snapshots {
		ids = append(ids, s.ID)
	}
	return ids, page.Next
}

func sessionsComeLatestFirst(f *fixture) {
	for i, id := range []string{"a", "b", "c"} {
		n := f.sessionOf(ann, id)
		n.Session.ActiveAt = f.now.Add(time.Duration(i) * time.Second)
		try(f.CreateSession(f.Context(), n)).wantOK(f)
	}
	ids, next := sessionIDs(f, store.SessionQuery{Scope: store.Of(ann)})
	wantEqual(f, "the sessions", ids, []string{"c", "b", "a"})
	wantEqual(f, "where the next page begins", next, "")
	turn := f.turnOf("a", "t")
	turn.Turn.CreatedAt = f.now.Add(time.Minute)
	f.createTurn(turn)
	ids, _ = sessionIDs(f, store.SessionQuery{Scope: store.Of(ann)})
	wantEqual(f, "the sessions when one was given a turn", ids, []string{"a", "c", "b"})
}

func sessionsAreFiltered(f *fixture) {
	make := func(o store.Owner, id, agent string, labels map[string]string) {
		n := f.sessionOf(o, id)
		n.Session.AgentID, n.Session.Labels = agent, labels
		try(f.CreateSession(f.Context(), n)).wantOK(f)
	}
	make(ann, "s1", "helper", map[string]string{"team": "blue", "stage": "test"})
	make(ann, "s2", "helper", map[string]string{"team": "blue"})
	make(ann, "s3", "coder", map[string]string{"team": "red", "stage": ""})
	make(ann, "s4", "coder", nil)
	make(bob, "s5", "coder", map[string]string{"team": "blue"})
	setSessionState(f, "s4", store.SessionArchived)
	for _, c := range []struct {
		name string
		q    store.SessionQuery
		want []string
	}{
		{"all", store.SessionQuery{Scope: store.Everything}, []string{"s5", "s4", "s3", "s2", "s1"}},
		{"scope", store.SessionQuery{Scope: store.Of(bob)}, []string{"s5"}},
		{"agent", store.SessionQuery{Scope: store.Of(ann), AgentID: "coder"}, []string{"s4", "s3"}},
		{"active", store.SessionQuery{Scope: store.Of(ann), State: store.SessionActive}, []string{"s3", "s2", "s1"}},
		{"archived", store.SessionQuery{Scope: store.Of(ann), State: store.SessionArchived}, []string{"s4"}},
		{"label", store.SessionQuery{Scope: store.Of(ann), Labels: map[string]string{"team": "blue"}}, []string{"s2", "s1"}},
		{"two labels", store.SessionQuery{Scope: store.Of(ann), Labels: map[string]string{"team": "blue", "stage": "test"}}, []string{"s1"}},
		{"an empty label", store.SessionQuery{Scope: store.Of(ann), Labels: map[string]string{"stage": ""}}, []string{"s3"}},
		{"an unknown label", store.SessionQuery{Scope: store.Of(ann), Labels: map[string]string{"none": ""}}, nil},
		{"all of it", store.SessionQuery{
			Scope: store.Of(ann), AgentID: "helper", State: store.SessionActive, Labels: map[string]string{"team": "blue"},
		}, []string{"s2", "s1"}},
		{"a page of it", store.SessionQuery{
			Scope: store.Everything, Labels: map[string]string{"team": "blue"}, Page: store.Page{Limit: 2},
		}, []string{"s5", "s2"}},
	} {
		ids, _ := sessionIDs(f, c.q)
		wantEqual(f, "the sessions by "+c.name, ids, c.want)
	}
	labels := map[string]string{"team": "green"}
	try(f.UpdateSession(f.Context(), store.Everything, "s1", store.SessionPatch{Labels: &labels, Now: f.now})).wantOK(f)
	ids, _ := sessionIDs(f, store.SessionQuery{Scope: store.Of(ann), Labels: labels})
	wantEqual(f, "the sessions by a label that was set later", ids, []string{"s1"})
	ids, _ = sessionIDs(f, store.SessionQuery{Scope: store.Of(ann), Labels: map[string]string{"stage": "test"}})
	wantEqual(f, "the sessions by a label that was removed", ids, nil)
}

func turnsAreFiltered(f *fixture) {
	f.createSessions("s1", "s2")
	f.sessionFor(bob, "s3")
	for id, labels := range map[string]map[string]string{"s1": {"team": "blue", "stage": "test"}, "s2": {"team": "blue"}, "s3": {"team": "blue"}} {
		try(f.UpdateSession(f.Context(), store.Everything, id, store.SessionPatch{Labels: &labels, Now: f.now})).wantOK(f)
	}
	f.createTurns("s1", "t1", "t2")
	other := f.turnOf("s2", "t3")
	other.Turn.AgentID = "coder"
	f.createTurn(other)
	foreign := f.turnOf("s3", "t4")
	foreign.Turn.Owner = bob
	f.createTurn(foreign)
	f.finishTurn(f.claimTurn("t1"))
	f.claimTurn("t3")
	f.endTurn("t4")
	for _, c := range []struct {
		name string
		q    store.TurnQuery
		want []string
	}{
		{"nothing", store.TurnQuery{Scope: store.Everything}, []string{"t4", "t3", "t2", "t1"}},
		{"scope", store.TurnQuery{Scope: store.Of(ann)}, []string{"t3", "t2", "t1"}},
		{"session", store.TurnQuery{Scope: store.Of(ann), SessionID: "s1"}, []string{"t2", "t1"}},
		{"agent", store.TurnQuery{Scope: store.Of(ann), AgentID: "coder"}, []string{"t3"}},
		{"state", store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Pending}}, []string{"t2"}},
		{"states", store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Canceled, store.Running}}, []string{"t4", "t3"}},
		{"tenant", store.TurnQuery{Scope: store.Everything, Tenant: bob.Tenant}, []string{"t4", "t3", "t2", "t1"}},
		{"another tenant", store.TurnQuery{Scope: store.Everything, Tenant: eve.Tenant}, nil},
		{"label", store.TurnQuery{Scope: store.Of(ann), Labels: map[string]string{"team": "blue"}}, []string{"t3", "t2", "t1"}},
		{"two labels", store.TurnQuery{Scope: store.Everything, Labels: map[string]string{"team": "blue", "stage": "test"}}, []string{"t2", "t1"}},
		{"an unknown label", store.TurnQuery{Scope: store.Everything, Labels: map[string]string{"team": "red"}}, nil},
		{"all of it", store.TurnQuery{
			Scope: store.Of(ann), Tenant: ann.Tenant, SessionID: "s1", AgentID: "helper", Statuses: []store.Status{store.Succeeded}, Labels: map[string]string{"stage": "test"},
		}, []string{"t1"}},
	} {
		c.q.Count = true
		counted := try(f.Turns(f.Context(), c.q)).wantOK(f)
		wantEqual(f, "the number of turns by "+c.name, counted.Total, len(c.want))
		ids, _ := turnIDs(f, c.q)
		wantEqual(f, "the turns by "+c.name, ids, c.want)
	}
}

// walkPages returns the contents of all pages of a list, and the number of pages.
func walkPages(list func(p store.Page) (ids []string, next string), limit int) (all []string, pages int) {
	for p := (store.Page{Limit: limit}); ; {
		ids, next := list(p)
		all = append(all, ids...)
		pages++
		if next == "" || pages > 1000 {
			return all, pages
		}
		p.After = next
	}
}

// A filter comes from the client and may contain anything.
func nothingMatchesATextThatNoStoreHas(f *fixture) {
	f.createQueued("s", "t")
	for _, text := range []string{"a\x00b", "a\xffb"} {
		for _, q := range []store.SessionQuery{{AgentID: text}, {Labels: map[string]string{text: "a"}}, {Labels: map[string]string{"a": text}}} {
			q.Scope = store.Of(ann)
			ids, next := sessionIDs(f, q)
			wantEqual(f, fmt.Sprintf("the sessions of %+v", q), len(ids), 0)
			wantEqual(f, "where the next page begins", next, "")
		}
		for _, q := range []store.TurnQuery{{AgentID: text}, {SessionID: text, Count: true}, {Tenant: text}, {Labels: map[string]string{text: "a"}}, {Labels: map[string]string{"a": text}, Count: true}} {
			q.Scope = store.Of(ann)
			page := try(f.Turns(f.Context(), q)).wantOK(f)
			wantEqual(f, fmt.Sprintf("the turns of %+v", q), len(page.Turns)+page.Total, 0)
		}
		waits := try(f.Interactions(f.Context(), store.InteractionQuery{Scope: store.Of(ann), TurnID: text})).wantOK(f)
		wantEqual(f, "the interactions", len(waits), 0)
		hooks := try(f.Webhooks(f.Context(), store.WebhookQuery{Scope: store.Of(ann), TurnID: text})).wantOK(f)
		wantEqual(f, "the webhooks", len(hooks.Webhooks), 0)
		snapshots := try(f.Snapshots(f.Context(), store.SnapshotQuery{Scope: store.Of(ann), SessionID: text})).wantOK(f)
		wantEqual(f, "the snapshots", len(snapshots.Snapshots), 0)
	}
}

func pagesOverEqualTimesMissNothing(f *fixture) {
	const n = 20
	f.createSessions("home")
	var sessions, turns, snapshots []string
	chain := snapshotChain(f, "based", numberedNames("base", n)...)
	for i := range n {
		at := f.now.Add(time.Duration(i/7) * time.Microsecond) // seven have the same
		session := f.sessionOf(bob, fmt.Sprintf("s-%02d", i))
		session.Session.ActiveAt = at
		try(f.CreateSession(f.Context(), session)).wantOK(f)
		turn := f.turnOf("home", fmt.Sprintf("t-%02d", i))
		turn.Turn.CreatedAt = at
		f.createTurn(turn)
		chain[i].Snapshot.CreatedAt = at
		sessions = append([]string{session.Session.ID}, sessions...)
		turns = append([]string{turn.Turn.ID}, turns...)
		snapshots = append([]string{chain[i].Snapshot.ID}, snapshots...)
	}
	based := f.sessionOf(ann, "based")
	based.Base = chain
	try(f.CreateSession(f.Context(), based)).wantOK(f)
	for _, limit := range []int{1, 3, 7, n - 1, n, n + 1} {
		pages := (n + limit - 1) / limit
		what := fmt.Sprintf(" in pages of %d", limit)
		all, count := walkPages(func(p store.Page) ([]string, string) {
			return sessionIDs(f, store.SessionQuery{Scope: store.Of(bob), Page: p})
		}, limit)
		wantEqual(f, "the sessions"+what, all, sessions)
		wantEqual(f, "how many pages of sessions there are"+what, count, pages)
		all, count = walkPages(func(p store.Page) ([]string, string) {
			return turnIDs(f, store.TurnQuery{Scope: store.Of(ann), Page: p})
		}, limit)
		wantEqual(f, "the turns"+what, all, turns)
		wantEqual(f, "how many pages of turns there are"+what, count, pages)
		all, count = walkPages(func(p store.Page) ([]string, string) { return snapshotIDs(f, "based", p) }, limit)
		wantEqual(f, "the snapshots"+what, all, snapshots)
		wantEqual(f, "how many pages of snapshots there are"+what, count, pages)
	}
}

// numberedNames returns n names that sort by number.
func numberedNames(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%03d", name, i)
	}
	return list
}

func aPageStaysWhileTheListGrows(f *fixture) {
	f.createSessions("s")
	for i, id := range numberedNames("t", 6) {
		n := f.turnOf("s", id)
		n.Turn.CreatedAt = f.now.Add(time.Duration(i) * time.Second)
		f.createTurn(n)
	}
	ids, next := turnIDs(f, store.TurnQuery{Scope: store.Of(ann), Page: store.Page{Limit: 2}})
	wantEqual(f, "the first page", ids, []string{"t-005", "t-004"})
	n := f.turnOf("s", "late")
	n.Turn.CreatedAt = f.now.Add(time.Minute)
	f.createTurn(n)
	ids, _ = turnIDs(f, store.TurnQuery{Scope: store.Of(ann), Page: store.Page{Limit: 2, After: next}})
	wantEqual(f, "the second page", ids, []string{"t-003", "t-002"})
}

func pagesHaveBounds(f *fixture) {
	f.createQueued("s", numberedNames("t", store.DefaultPage+1)...)
	for _, limit := range []int{0, -1} {
		ids, next := turnIDs(f, store.TurnQuery{Scope: store.Of(ann), Page: store.Page{Limit: limit}})
		wantEqual(f, "how many turns a page has that does not say", len(ids), store.DefaultPage)
		if next == "" {
			f.Fatal("there is no next page")
		}
	}
	ids, next := turnIDs(f, store.TurnQuery{Scope: store.Of(ann), Page: store.Page{Limit: 1_000_000}})
	wantEqual(f, "how many turns a large page has", len(ids), store.DefaultPage+1)
	wantEqual(f, "where the next page begins", next, "")
}

func aCursorIsOneThatWasGivenOut(f *fixture) {
	f.createSessions("s")
	for _, after := range []string{"?", "bm9uZQ", "AAAA"} {
		p := store.Page{After: after}
		wantError(f, try(f.Sessions(f.Context(), store.SessionQuery{Scope: store.Everything, Page: p})).err, store.ErrCursor)
		wantError(f, try(f.Turns(f.Context(), store.TurnQuery{Scope: store.Everything, Page: p})).err, store.ErrCursor)
		wantError(f, try(f.Snapshots(f.Context(), store.SnapshotQuery{Scope: store.Everything, SessionID: "s", Page: p})).err, store.ErrCursor)
	}
	ids, _ := sessionIDs(f, store.SessionQuery{Scope: store.Everything, Page: store.Page{After: store.Cursor{Time: f.now.Add(-time.Hour), ID: "x"}.String()}})
	wantEqual(f, "what comes after the last", ids, nil)
}
