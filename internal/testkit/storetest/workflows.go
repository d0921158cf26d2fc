package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var workflowTests = []test{
	{name: "ARunIsReadAsItWasMade", run: aRunIsReadAsItWasMade},
	{name: "ARunIsMadeOnce", run: aRunIsMadeOnce},
	{name: "AForeignRunIsUnknown", run: aForeignRunIsUnknown},
	{name: "PagesOfRunsMissNothing", run: pagesOfRunsMissNothing},
	{name: "ADueRunIsClaimedOnce", run: aDueRunIsClaimedOnce},
	{name: "ARunIsDueWhenItsTurnHasEnded", run: aRunIsDueWhenItsTurnHasEnded},
	{name: "ARunIsDueWhenItsTurnWaits", run: aRunIsDueWhenItsTurnWaits},
	{name: "PartsOfTheRunsAreClaimed", run: partsOfTheRunsAreClaimed},
	{name: "ManyRunsAreMadeAtOnce", run: manyRunsAreMadeAtOnce},
	{name: "ARunOfAnOldVersionIsNotSaved", run: aRunOfAnOldVersionIsNotSaved},
	{name: "RunsAreHeldBackAtTheirLimit", run: runsAreHeldBackAtTheirLimit},
	{name: "ManyBeginNoMoreThanTheLimit", run: manyBeginNoMoreThanTheLimit},
	{name: "ACanceledRunIsDue", run: aCanceledRunIsDue},
	{name: "LiveRunsHaveRevisions", run: liveRunsHaveRevisions},
	{name: "OldRunsAreDeleted", run: oldRunsAreDeleted},
	{name: "CursorsOnlyMoveOn", run: cursorsOnlyMoveOn},
	{name: "TriggersAreKept", run: triggersAreKept},
}

var runTenant = store.Owner{Tenant: "acme", Subject: "workflow"}

// allRuns sees everything.
var allRuns = store.RunScope{All: true}

// runOf returns a new run.
func runOf(f *fixture, id string) *store.WorkflowRun {
	return &store.WorkflowRun{
		ID: id, WorkflowID: "nightly", Owner: runTenant, Shared: true, Status: store.RunPending, Revision: "rev", Definition: json.RawMessage(`{"id": "nightly"}`),
		Trigger: json.RawMessage(`{"kind":"schedule"}`), Input: json.RawMessage(`{"a":1}`), State: json.RawMessage(`{}`), DueAt: f.now, CreatedAt: f.now, UpdatedAt: f.now,
	}
}

func createRuns(f *fixture, runs ...*store.WorkflowRun) {
	f.Helper()
	created := try(f.CreateRuns(f.Context(), runs, nil)).wantOK(f)
	if len(created) != len(runs) {
		f.Fatalf("%d of %d runs were new", len(created), len(runs))
	}
}

func claimRuns(f *fixture, now time.Time) (ids []string, runs []*store.WorkflowRun) {
	f.Helper()
	runs = try(f.ClaimRuns(f.Context(), &store.ClaimRuns{Lease: time.Minute, Limit: 100, Now: now})).wantOK(f)
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids, runs
}

// beginRun claims the only due run and saves it as running.
func beginRun(f *fixture) *store.WorkflowRun {
	f.Helper()
	_, runs := claimRuns(f, f.now)
	if len(runs) != 1 {
		f.Fatalf("%d runs are due", len(runs))
	}
	r := runs[0]
	r.Status, r.StartedAt, r.DueAt = store.RunRunning, f.now, time.Time{}
	wantOK(f, f.SaveRun(f.Context(), r))
	return r
}

func aRunIsReadAsItWasMade(f *fixture) {
	want := runOf(f, "r")
	createRuns(f, want)
	got := try(f.GetRun(f.Context(), allRuns, "acme", "r")).wantOK(f)
	want.Version = 1
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("the run is %+v, want %+v", got, want)
	}
}

func aRunIsMadeOnce(f *fixture) {
	createRuns(f, runOf(f, "r"))
	other := runOf(f, "r")
	other.WorkflowID = "other"
	foreign := runOf(f, "r")
	foreign.Owner.Tenant = "globex"
	created := try(f.CreateRuns(f.Context(), []*store.WorkflowRun{other, foreign, runOf(f, "s")}, nil)).wantOK(f)
	if !slices.Equal(created, []string{"r", "s"}) {
		f.Fatalf("new are %q", created)
	}
	got := try(f.GetRun(f.Context(), allRuns, "acme", "r")).wantOK(f)
	if got.WorkflowID != "nightly" {
		f.Fatalf("the run was replaced: %+v", got)
	}
}

func aForeignRunIsUnknown(f *fixture) {
	own := runOf(f, "own")
	own.Shared = false
	createRuns(f, runOf(f, "shared"), own)
	for _, tt := range []struct {
		owner  store.Owner
		id     string
		unseen bool
	}{
		{runTenant, "own", false}, {runTenant, "shared", false},
		{store.Owner{Tenant: "acme", Subject: "bob"}, "shared", false}, {store.Owner{Tenant: "acme", Subject: "bob"}, "own", true},
		{store.Owner{Tenant: "globex", Subject: "workflow"}, "shared", true}, {store.Owner{Tenant: "globex", Subject: "workflow"}, "own", true},
	} {
		scope := store.RunScope{Owner: tt.owner}
		_, err := f.GetRun(f.Context(), scope, "acme", tt.id)
		page, listErr := f.ListRuns(f.Context(), store.RunQuery{Scope: scope})
		wantOK(f, listErr)
		listed := slices.ContainsFunc(page.Runs, func(r *store.WorkflowRun) bool { return r.ID == tt.id })
		if errors.Is(err, store.ErrNotFound) != tt.unseen || listed == tt.unseen {
			f.Errorf("%v reads %s: %v, and it is listed: %v", tt.owner, tt.id, err, listed)
		}
		if tt.unseen {
			_, err := f.CancelRun(f.Context(), scope, "acme", tt.id, "no", f.now)
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("%v cancels %s: %v", tt.owner, tt.id, err)
			}
		}
	}
}

func pagesOfRunsMissNothing(f *fixture) {
	var want []string
	for i := range 7 {
		r := runOf(f, fmt.Sprintf("r%d", i))
		if i%2 == 1 {
			r.WorkflowID = "other"
		}
		createRuns(f, r)
		want = append([]string{r.ID}, want...)
	}
	var got []string
	for q := (store.RunQuery{Scope: allRuns, Page: store.Page{Limit: 3}}); ; {
		page := try(f.ListRuns(f.Context(), q)).wantOK(f)
		for _, r := range page.Runs {
			if r.Definition != nil || r.State != nil || r.Input != nil || len(r.Trigger) == 0 {
				f.Fatalf("the listed run is %+v", r)
			}
			got = append(got, r.ID)
		}
		if q.Page.After = page.Next; page.Next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		f.Fatalf("the pages have %q, want %q", got, want)
	}
	page := try(f.ListRuns(f.Context(), store.RunQuery{Scope: store.RunScope{Owner: runTenant}, WorkflowID: "other", Status: store.RunPending})).wantOK(f)
	if len(page.Runs) != 3 {
		f.Fatalf("%d runs of the other workflow", len(page.Runs))
	}
	page = try(f.ListRuns(f.Context(), store.RunQuery{Scope: allRuns, Whole: true})).wantOK(f)
	for _, r := range page.Runs {
		if len(r.Definition) == 0 || len(r.Input) == 0 {
			f.Errorf("the listed run is not whole: %+v", r)
		}
	}
}

func aDueRunIsClaimedOnce(f *fixture) {
	later, never := runOf(f, "later"), runOf(f, "never")
	later.DueAt, never.DueAt = f.now.Add(time.Hour), time.Time{}
	createRuns(f, runOf(f, "now"), later, never)
	if ids, _ := claimRuns(f, f.now); !slices.Equal(ids, []string{"now"}) {
		f.Fatalf("due are %q", ids)
	}
	if ids, _ := claimRuns(f, f.now); len(ids) > 0 {
		f.Fatalf("claimed again: %q", ids)
	}
	ids, runs := claimRuns(f, f.now.Add(time.Hour))
	if !slices.Equal(ids, []string{"later"}) {
		f.Fatalf("due an hour later are %q", ids)
	}
	wantOK(f, f.SaveRun(f.Context(), runs[0]))
	if ids, _ := claimRuns(f, f.now.Add(time.Hour)); !slices.Equal(ids, []string{"later"}) {
		f.Fatalf("due after it was saved are %q", ids)
	}
}

func aRunIsDueWhenItsTurnHasEnded(f *fixture) {
	createRuns(f, runOf(f, "r"))
	r := beginRun(f)
	f.createQueued("s", "t")
	r.TurnID = "t"
	wantOK(f, f.SaveRun(f.Context(), r))
	if ids, _ := claimRuns(f, f.now); len(ids) > 0 {
		f.Fatalf("due while the turn is live: %q", ids)
	}
	c := f.claimTurn("t")
	if ids, _ := claimRuns(f, f.now); len(ids) > 0 {
		f.Fatalf("due while the turn runs: %q", ids)
	}
	f.finishTurn(c)
	if ids, _ := claimRuns(f, f.now); !slices.Equal(ids, []string{"r"}) {
		f.Fatalf("due after the end of the turn are %q", ids)
	}
}

func aRunIsDueWhenItsTurnWaits(f *fixture) {
	createRuns(f, runOf(f, "r"))
	r := beginRun(f)
	f.createQueued("s", "t")
	r.TurnID = "t"
	wantOK(f, f.SaveRun(f.Context(), r))
	c := f.claimTurn("t")
	f.suspendTurn(c, "i")
	claimed := try(f.ClaimRuns(f.Context(), &store.ClaimRuns{Lease: time.Minute, Limit: 1, TurnIDs: []string{"other", "t"}, Now: f.now})).wantOK(f)
	if len(claimed) != 1 {
		f.Fatal("the run is not due although its turn waits")
	}
	claimed[0].Status = store.RunWaiting
	wantOK(f, f.SaveRun(f.Context(), claimed[0]))
	if ids, _ := claimRuns(f, f.now); len(ids) > 0 {
		f.Fatalf("due while both wait: %q", ids)
	}
	f.answerTurn("t", "i", `{"action":"resume"}`)
	if ids, _ := claimRuns(f, f.now); !slices.Equal(ids, []string{"r"}) {
		f.Fatalf("due after the answer are %q", ids)
	}
}

func partsOfTheRunsAreClaimed(f *fixture) {
	createRuns(f, runOf(f, "begun"))
	r := beginRun(f)
	r.DueAt = f.now
	wantOK(f, f.SaveRun(f.Context(), r))
	createRuns(f, runOf(f, "new"))
	for _, want := range []struct {
		claim store.ClaimRuns
		ids   []string
	}{
		{store.ClaimRuns{TurnIDs: []string{"t", "u"}}, nil},
		{store.ClaimRuns{Part: store.RunsToBegin}, []string{"new"}},
		{store.ClaimRuns{Part: store.RunsToBegin}, nil},
		{store.ClaimRuns{Part: store.RunsUnderWay}, []string{"begun"}},
	} {
		c := want.claim
		c.Lease, c.Limit, c.Now = time.Minute, 100, f.now
		claimed := try(f.ClaimRuns(f.Context(), &c)).wantOK(f)
		var ids []string
		for _, one := range claimed {
			ids = append(ids, one.ID)
		}
		if !slices.Equal(ids, want.ids) {
			f.Errorf("of part %d with turns %q, %q are claimed, want %q", c.Part, c.TurnIDs, ids, want.ids)
		}
	}
}

func manyRunsAreMadeAtOnce(f *fixture) {
	const count = 250
	createRuns(f, runOf(f, "r7"))
	var runs []*store.WorkflowRun
	var cursors []store.ScheduleCursor
	for i := range count {
		runs = append(runs, runOf(f, fmt.Sprint("r", i)))
		cursors = append(cursors, store.ScheduleCursor{Tenant: "acme", ID: fmt.Sprint("s", i), Last: f.now})
	}
	cursors = append(cursors, store.ScheduleCursor{Tenant: "acme", ID: "s0", Last: f.now.Add(time.Hour)})
	created := try(f.CreateRuns(f.Context(), append(runs, runOf(f, "r9")), cursors)).wantOK(f)
	if len(created) != count-1 || slices.Contains(created, "r7") {
		f.Errorf("%d runs are new, want %d", len(created), count-1)
	}
	known := try(f.Cursors(f.Context())).wantOK(f)
	if len(known) != count {
		f.Fatalf("there are %d cursors, want %d", len(known), count)
	}
	for _, c := range known {
		if want := f.now.Add(map[bool]time.Duration{true: time.Hour}[c.ID == "s0"]); !c.Last.Equal(want) {
			f.Errorf("the cursor of %s is at %s, want %s", c.ID, c.Last, want)
		}
	}
}

func aRunOfAnOldVersionIsNotSaved(f *fixture) {
	createRuns(f, runOf(f, "r"))
	old := try(f.GetRun(f.Context(), allRuns, "acme", "r")).wantOK(f)
	beginRun(f)
	old.Status = store.RunFailed
	if err := f.SaveRun(f.Context(), old); !errors.As(err, new(*store.StateError)) {
		f.Fatalf("saving an old version: %v", err)
	}
}

func runsAreHeldBackAtTheirLimit(f *fixture) {
	for _, id := range []string{"a", "b", "c"} {
		r := runOf(f, id)
		r.Limit = 1
		createRuns(f, r)
	}
	_, runs := claimRuns(f, f.now)
	for i, r := range runs {
		r.Status, r.StartedAt, r.DueAt = store.RunRunning, f.now, time.Time{}
		err := f.SaveRun(f.Context(), r)
		if i == 0 && err != nil || i > 0 && !errors.Is(err, store.ErrRunLimit) {
			f.Fatalf("run %s begins: %v", r.ID, err)
		}
	}
	if ids, _ := claimRuns(f, f.now); len(ids) > 0 {
		f.Fatalf("due while one is under way: %q", ids)
	}
	other := runOf(f, "other") // another subject's workflow with the same name
	other.Limit, other.Owner.Subject = 1, "other"
	createRuns(f, other)
	_, others := claimRuns(f, f.now)
	others[0].Status, others[0].StartedAt, others[0].DueAt = store.RunRunning, f.now, time.Time{}
	wantOK(f, f.SaveRun(f.Context(), others[0]))
	runs[0].Status, runs[0].FinishedAt, runs[0].UpdatedAt = store.RunSucceeded, f.now, f.now
	wantOK(f, f.SaveRun(f.Context(), runs[0]))
	next := min(runs[1].ID, runs[2].ID) // claimed in any order, admitted in order of creation
	if ids, _ := claimRuns(f, f.now); !slices.Equal(ids, []string{next}) {
		f.Fatalf("due after its end are %q, not %s", ids, next)
	}
}

func manyBeginNoMoreThanTheLimit(f *fixture) {
	const all, limit = 12, 3
	for i := range all {
		r := runOf(f, fmt.Sprintf("r%d", i))
		r.Limit = limit
		createRuns(f, r)
	}
	_, runs := claimRuns(f, f.now)
	var group sync.WaitGroup
	errs := make([]error, len(runs))
	for i, r := range runs {
		group.Go(func() {
			r.Status, r.StartedAt, r.DueAt = store.RunRunning, f.now, time.Time{}
			errs[i] = f.SaveRun(f.Context(), r)
		})
	}
	group.Wait()
	begun := 0
	for _, err := range errs {
		switch {
		case err == nil:
			begun++
		case !errors.Is(err, store.ErrRunLimit):
			f.Errorf("a run begins: %v", err)
		}
	}
	if begun != limit {
		f.Fatalf("%d runs began at once, want %d", begun, limit)
	}
}

func aCanceledRunIsDue(f *fixture) {
	createRuns(f, runOf(f, "r"))
	r := beginRun(f)
	try(f.CancelRun(f.Context(), allRuns, "acme", "r", "not needed", f.now)).wantOK(f)
	ids, runs := claimRuns(f, f.now)
	if !slices.Equal(ids, []string{"r"}) || runs[0].CancelReason != "not needed" {
		f.Fatalf("due are %q", ids)
	}
	if err := f.SaveRun(f.Context(), r); !errors.As(err, new(*store.StateError)) {
		f.Fatalf("saving the run as it was before: %v", err)
	}
	runs[0].Status, runs[0].FinishedAt = store.RunCanceled, f.now
	wantOK(f, f.SaveRun(f.Context(), runs[0]))
	if _, err := f.CancelRun(f.Context(), allRuns, "acme", "r", "again", f.now); !errors.As(err, new(*store.StateError)) {
		f.Fatalf("canceling a run that has ended: %v", err)
	}
	if _, err := f.CancelRun(f.Context(), allRuns, "acme", "x", "", f.now); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("canceling a run that is not there: %v", err)
	}
}

func liveRunsHaveRevisions(f *fixture) {
	other := runOf(f, "other")
	other.Revision = "other"
	createRuns(f, runOf(f, "a"), runOf(f, "b"), other)
	got := try(f.LiveRevisions(f.Context())).wantOK(f)
	slices.Sort(got)
	if !slices.Equal(got, []string{"other", "rev"}) {
		f.Fatalf("the revisions are %q", got)
	}
}

func oldRunsAreDeleted(f *fixture) {
	createRuns(f, runOf(f, "r"))
	r := beginRun(f)
	createRuns(f, runOf(f, "live"))
	r.Status, r.FinishedAt = store.RunSucceeded, f.now
	wantOK(f, f.SaveRun(f.Context(), r))
	for want, before := range []time.Time{f.now, f.now.Add(time.Second)} {
		n := try(f.PruneRuns(f.Context(), before, 10)).wantOK(f)
		if n != want {
			f.Fatalf("%d runs were deleted, want %d", n, want)
		}
	}
	try(f.GetRun(f.Context(), allRuns, "acme", "live")).wantOK(f)
}

func cursorsOnlyMoveOn(f *fixture) {
	for _, at := range []time.Duration{0, time.Hour, time.Minute} {
		try(f.CreateRuns(f.Context(), nil, []store.ScheduleCursor{{Tenant: "acme", ID: "s", Last: f.now.Add(at)}, {Tenant: "globex", ID: "s", Last: f.now}})).wantOK(f)
	}
	got := try(f.Cursors(f.Context())).wantOK(f)
	slices.SortFunc(got, func(a, b store.ScheduleCursor) int { return len(a.Tenant) - len(b.Tenant) })
	want := []store.ScheduleCursor{{Tenant: "acme", ID: "s", Last: f.now.Add(time.Hour)}, {Tenant: "globex", ID: "s", Last: f.now}}
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("the cursors are %v, want %v", got, want)
	}
}

func triggersAreKept(f *fixture) {
	alice, bob := store.Owner{Tenant: "acme", Subject: "alice"}, store.Owner{Tenant: "acme", Subject: "bob"}
	own := &store.WorkflowTrigger{ID: "own", Kind: "schedule", Owner: alice, Definition: json.RawMessage(`{"id":"own"}`), CreatedAt: f.now, UpdatedAt: f.now}
	declared := &store.WorkflowTrigger{ID: "declared", Kind: "event", Owner: bob, Declared: true, Paused: true, CreatedAt: f.now, UpdatedAt: f.now}
	for _, t := range []*store.WorkflowTrigger{own, declared} {
		wantOK(f, f.SaveTrigger(f.Context(), t, true))
		if err := f.SaveTrigger(f.Context(), t, true); !errors.As(err, new(*store.ExistsError)) {
			f.Fatalf("saving a new trigger twice: %v", err)
		}
	}
	own.Paused = true
	wantOK(f, f.SaveTrigger(f.Context(), own, false))
	got := try(f.Triggers(f.Context(), store.RunScope{Owner: alice})).wantOK(f)
	if !reflect.DeepEqual(got, []*store.WorkflowTrigger{own, declared}) {
		f.Fatalf("the triggers are %+v and %+v", got[0], got[1])
	}
	if got, err := f.Triggers(f.Context(), store.RunScope{Owner: bob}); err != nil || len(got) != 1 {
		f.Fatalf("another subject sees %v (%v)", got, err)
	}
	if got, err := f.Triggers(f.Context(), store.RunScope{Owner: store.Owner{Tenant: "globex", Subject: "alice"}}); err != nil || len(got) > 0 {
		f.Fatalf("another tenant sees %v (%v)", got, err)
	}
	if err := f.DeleteTrigger(f.Context(), store.RunScope{Owner: bob}, "acme", "schedule", "own"); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("deleting a foreign trigger: %v", err)
	}
	wantOK(f, f.DeleteTrigger(f.Context(), store.RunScope{Owner: alice}, "acme", "schedule", "own"))
	if err := f.DeleteTrigger(f.Context(), store.RunScope{Owner: alice}, "acme", "schedule", "own"); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("deleting it again: %v", err)
	}
}
