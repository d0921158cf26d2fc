package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var revisionTests = []test{
	{name: "WhatIsPublishedIsCurrent", run: whatIsPublishedIsCurrent},
	{name: "PublishingAgainChangesNothing", run: publishingAgainChangesNothing},
	{name: "AnotherRevisionIsAConflict", run: anotherRevisionIsAConflict},
	{name: "OneOfManyPublishersSucceeds", run: oneOfManyPublishersSucceeds},
	{name: "ADocumentIsPublishedOnceMore", run: aDocumentIsPublishedOnceMore},
	{name: "RevisionsAreListedInPages", run: revisionsAreListedInPages},
	{name: "TenantsHaveRevisionsOfTheirOwn", run: tenantsHaveRevisionsOfTheirOwn},
	{name: "ABuildLeadsToItsDocument", run: aBuildLeadsToItsDocument},
	{name: "AttemptsAreRemembered", run: attemptsAreRemembered},
	{name: "OldRevisionsAreDeleted", run: oldRevisionsAreDeleted},
	{name: "TheRevisionOfALiveTurnIsKept", run: theRevisionOfALiveTurnIsKept},
	{name: "TheRevisionOfALiveRunIsKept", run: theRevisionOfALiveRunIsKept},
	{name: "OverlaysAreListedByTenant", run: overlaysAreListedByTenant},
	{name: "AnOverlayIsPublishedOverItsBase", run: anOverlayIsPublishedOverItsBase},
	{name: "ABaseIsPublishedForTheOverlaysThatWereProven", run: aBaseIsPublishedForProvenOverlays},
	{name: "OverlaysWithWorkflowsAreFoundByThemselves", run: overlaysWithWorkflowsAreFound},
	{name: "TheBaseBelowALiveRunIsKept", run: theBaseBelowALiveRunIsKept},
	{name: "AnAttemptIsStoredWithItsRevision", run: anAttemptIsStoredWithItsRevision},
	{name: "TheBaseBelowALiveTurnIsKept", run: theBaseBelowALiveTurnIsKept},
}

func revisionOf(f *fixture, tenant, hash string) store.Revision {
	return store.Revision{
		Tenant: tenant, Hash: hash, Document: []byte(`{"of":"` + hash + `"}`),
		Author: "ann", Note: "why " + hash, Findings: []byte(`[]`), CreatedAt: f.now,
	}
}

// publishRevisions publishes for a tenant, whichever revision is current.
func publishRevisions(f *fixture, tenant string, hashes ...string) (last *store.Revision) {
	f.Helper()
	for _, hash := range hashes {
		last = try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, tenant, hash), Regardless: true})).wantOK(f)
		f.now = f.now.Add(time.Minute)
	}
	return last
}

// currentHash returns the hash on which both methods agree.
func currentHash(f *fixture, tenant string) string {
	f.Helper()
	hash := try(f.CurrentHash(f.Context(), tenant)).wantOK(f)
	r, err := f.CurrentRevision(f.Context(), tenant)
	if hash == "" {
		wantError(f, err, store.ErrNotFound)
		return ""
	}
	wantOK(f, err)
	wantEqual(f, "the current revision", r.Hash, hash)
	return hash
}

func whatIsPublishedIsCurrent(f *fixture) {
	wantEqual(f, "what is current at first", currentHash(f, ""), "")
	want := revisionOf(f, "", "a")
	got := try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: want})).wantOK(f)
	want.Number = 1
	wantEqual(f, "the first", *got, want)
	next := revisionOf(f, "", "b")
	got = try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: next, Expected: "a"})).wantOK(f)
	next.Number, next.Parent = 2, "a"
	wantEqual(f, "the next", *got, next)
	current := try(f.CurrentRevision(f.Context(), "")).wantOK(f)
	wantEqual(f, "the current one", *current, next)
	earlier := try(f.Revision(f.Context(), "", "a")).wantOK(f)
	wantEqual(f, "the earlier one", *earlier, want)
	wantError(f, try(f.Revision(f.Context(), "", "c")).err, store.ErrNotFound)
}

func publishingAgainChangesNothing(f *fixture) {
	publishRevisions(f, "", "a", "b")
	again := revisionOf(f, "", "b")
	again.Author = "bob"
	got := try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: again, Expected: "a"})).wantOK(f)
	wantEqual(f, "its number", got.Number, 2)
	wantEqual(f, "its author", got.Author, "ann")
}

func anotherRevisionIsAConflict(f *fixture) {
	publishRevisions(f, "", "a", "b")
	for _, expected := range []string{"", "a", "x"} {
		_, err := f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "", "c"), Expected: expected})
		var conflict *store.RevisionConflictError
		if !errors.As(err, &conflict) || conflict.Current == nil || conflict.Current.Hash != "b" || conflict.Expected != expected {
			f.Errorf("with %q expected the error is %v", expected, err)
		}
	}
	wantEqual(f, "what is current", currentHash(f, ""), "b")
	_, err := f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "t", "c"), Expected: "b"})
	var conflict *store.RevisionConflictError
	if !errors.As(err, &conflict) || conflict.Current != nil {
		f.Errorf("without any revision the error is %v", err)
	}
}

func oneOfManyPublishersSucceeds(f *fixture) {
	publishRevisions(f, "", "base")
	var published, conflicts atomic.Int32
	var all sync.WaitGroup
	for _, hash := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			_, err := f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "", hash), Expected: "base"})
			switch {
			case err == nil:
				published.Add(1)
			case errors.As(err, new(*store.RevisionConflictError)):
				conflicts.Add(1)
			default:
				f.Error(err)
			}
		})
	}
	all.Wait()
	wantEqual(f, "how many published", published.Load(), 1)
	wantEqual(f, "how many had a conflict", conflicts.Load(), 5)
}

func aDocumentIsPublishedOnceMore(f *fixture) {
	publishRevisions(f, "", "a", "b")
	back := publishRevisions(f, "", "a")
	wantEqual(f, "its number", back.Number, 3)
	wantEqual(f, "its parent", back.Parent, "b")
	latest := try(f.Revision(f.Context(), "", "a")).wantOK(f)
	wantEqual(f, "the latest with the hash", latest.Number, 3)
}

func revisionsAreListedInPages(f *fixture) {
	publishRevisions(f, "", "a", "b", "c", "d", "e")
	publishRevisions(f, "other", "x")
	var got []string
	page := store.Page{Limit: 2}
	for {
		list := try(f.Revisions(f.Context(), store.RevisionQuery{Page: page})).wantOK(f)
		for _, r := range list.Revisions {
			if r.Document != nil {
				f.Errorf("the list has the document of %s", r.Hash)
			}
			got = append(got, r.Hash)
		}
		if page.After = list.Next; page.After == "" {
			break
		}
	}
	wantEqual(f, "the revisions", got, []string{"e", "d", "c", "b", "a"})
	wantError(f, try(f.Revisions(f.Context(), store.RevisionQuery{Page: store.Page{After: "?"}})).err, store.ErrCursor)
}

func tenantsHaveRevisionsOfTheirOwn(f *fixture) {
	publishRevisions(f, "", "a")
	publishRevisions(f, "t", "a", "b")
	wantEqual(f, "that of the base", currentHash(f, ""), "a")
	wantEqual(f, "that of the tenant", currentHash(f, "t"), "b")
	wantError(f, try(f.Revision(f.Context(), "", "b")).err, store.ErrNotFound)
}

func aBuildLeadsToItsDocument(f *fixture) {
	publishRevisions(f, "", "a", "b")
	b := store.RevisionBuild{Build: "x", Hash: "a", Components: []byte(`{"tools":["t"]}`), BuiltAt: f.now}
	wantOK(f, f.AddRevisionBuild(f.Context(), b))
	got, r, err := f.BuiltRevision(f.Context(), "x")
	wantOK(f, err)
	wantEqual(f, "the build", *got, b)
	wantEqual(f, "its document", string(r.Document), `{"of":"a"}`)
	b.Hash = "b"
	wantOK(f, f.AddRevisionBuild(f.Context(), b))
	_, r, err = f.BuiltRevision(f.Context(), "x")
	wantOK(f, err)
	wantEqual(f, "the document that gives the same", r.Hash, "b")
	b.Build, b.Hash = "y", "c"
	wantError(f, f.AddRevisionBuild(f.Context(), b), store.ErrNotFound)
	_, _, err = f.BuiltRevision(f.Context(), "y")
	wantError(f, err, store.ErrNotFound)
}

func attemptsAreRemembered(f *fixture) {
	for _, outcome := range []store.RevisionOutcome{store.RevisionPublished, store.RevisionRefused, store.RevisionConflicted} {
		wantOK(f, f.AddRevisionAttempt(f.Context(), store.RevisionAttempt{
			Hash: "a", Expected: "b", Author: "ann", Note: "why", Outcome: outcome, Findings: []byte(`[{}]`), At: f.now,
		}))
	}
	wantOK(f, f.AddRevisionAttempt(f.Context(), store.RevisionAttempt{Tenant: "t", Outcome: store.RevisionRefused, At: f.now}))
	first := try(f.RevisionAttempts(f.Context(), store.RevisionQuery{Page: store.Page{Limit: 2}})).wantOK(f)
	rest := try(f.RevisionAttempts(f.Context(), store.RevisionQuery{Page: store.Page{Limit: 2, After: first.Next}})).wantOK(f)
	var got []store.RevisionOutcome
	for _, a := range append(first.Attempts, rest.Attempts...) {
		got = append(got, a.Outcome)
	}
	wantEqual(f, "the outcomes", got, []store.RevisionOutcome{store.RevisionConflicted, store.RevisionRefused, store.RevisionPublished})
	last := rest.Attempts[0]
	last.Seq = 0
	wantEqual(f, "the first attempt", last, store.RevisionAttempt{
		Hash: "a", Expected: "b", Author: "ann", Note: "why", Outcome: store.RevisionPublished, Findings: []byte(`[{}]`), At: f.now,
	})
	wantEqual(f, "where the list ends", rest.Next, "")
}

func oldRevisionsAreDeleted(f *fixture) {
	publishRevisions(f, "", "a", "b", "a", "c")
	publishRevisions(f, "t", "z")
	wantOK(f, f.AddRevisionBuild(f.Context(), store.RevisionBuild{Build: "of b", Hash: "b", BuiltAt: f.now}))
	r := store.Retention{Now: f.now.Add(time.Hour - 2*time.Minute - time.Second), Revisions: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Revisions: 3})
	page := try(f.Revisions(f.Context(), store.RevisionQuery{})).wantOK(f)
	wantEqual(f, "how many are left", len(page.Revisions), 1)
	wantError(f, try(f.Revision(f.Context(), "", "b")).err, store.ErrNotFound)
	_, _, err := f.BuiltRevision(f.Context(), "of b")
	wantError(f, err, store.ErrNotFound)
	r.Now = r.Now.Add(100 * time.Hour)
	wantEqual(f, "what is deleted of current ones", pruneStore(f, r), store.Pruned{})
	wantEqual(f, "the number of the next", publishRevisions(f, "", "d").Number, 5)
}

func theRevisionOfALiveRunIsKept(f *fixture) {
	publishRevisions(f, "", "a", "b", "c")
	wantOK(f, f.AddRevisionBuild(f.Context(), store.RevisionBuild{Build: "of a", Hash: "a", BuiltAt: f.now}))
	run := runOf(f, "r")
	run.Revision = "of a"
	createRuns(f, run)
	began := beginRun(f)
	r := store.Retention{Now: f.now.Add(100 * time.Hour), Revisions: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Revisions: 1})
	_, _, err := f.BuiltRevision(f.Context(), "of a")
	wantOK(f, err)
	began.Status, began.FinishedAt = store.RunSucceeded, f.now
	wantOK(f, f.SaveRun(f.Context(), began))
	wantEqual(f, "what is deleted after its end", pruneStore(f, r), store.Pruned{Revisions: 1})
	_, _, err = f.BuiltRevision(f.Context(), "of a")
	wantError(f, err, store.ErrNotFound)
}

func theRevisionOfALiveTurnIsKept(f *fixture) {
	publishRevisions(f, "", "a", "b", "c")
	wantOK(f, f.AddRevisionBuild(f.Context(), store.RevisionBuild{Build: "of a", Hash: "a", BuiltAt: f.now}))
	f.createQueued("s", "t1")
	claimed := try(f.Claim(f.Context(), &store.Claim{TurnID: "t1", Worker: "w", Lease: time.Minute, Revision: "of a", Now: f.now})).wantOK(f)
	r := store.Retention{Now: f.now.Add(100 * time.Hour), Revisions: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Revisions: 1})
	_, _, err := f.BuiltRevision(f.Context(), "of a")
	wantOK(f, err)
	f.finishTurn(claimed)
	wantEqual(f, "what is deleted after its end", pruneStore(f, r), store.Pruned{Revisions: 1})
	_, _, err = f.BuiltRevision(f.Context(), "of a")
	wantError(f, err, store.ErrNotFound)
}

func overlayOf(f *fixture, tenant string) store.OverlayState {
	f.Helper()
	return try(f.Overlay(f.Context(), tenant)).wantOK(f)
}

func overlayMark(f *fixture) uint64 {
	f.Helper()
	return try(f.OverlayMark(f.Context())).wantOK(f)
}

func overlaysAreListedByTenant(f *fixture) {
	publishRevisions(f, "", "base")
	publishRevisions(f, "b", "x", "y")
	publishRevisions(f, "a", "z")
	publishRevisions(f, "c", "x")
	var got []string
	q := store.OverlayQuery{Limit: 2}
	for {
		page := try(f.Overlays(f.Context(), q)).wantOK(f)
		for _, r := range page.Overlays {
			got = append(got, r.Tenant+"="+r.Hash+string(r.Document))
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	wantEqual(f, "the overlays", got, []string{"a=z", "b=y", "c=x"})
	page := try(f.Overlays(f.Context(), store.OverlayQuery{After: "b", Documents: true})).wantOK(f)
	wantEqual(f, "how many come after b", len(page.Overlays), 1)
	wantEqual(f, "the document", string(page.Overlays[0].Document), `{"of":"x"}`)
}

func anOverlayIsPublishedOverItsBase(f *fixture) {
	publishRevisions(f, "", "old", "new")
	wantEqual(f, "what a tenant has at first", overlayOf(f, "t"), store.OverlayState{})
	wantError(f, try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "t", "a"), Base: "old"})).err, store.ErrBaseChanged)
	try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "t", "a"), Base: "new"})).wantOK(f)
	wantEqual(f, "what it has then", overlayOf(f, "t"), store.OverlayState{Hash: "a"})
}

func aBaseIsPublishedForProvenOverlays(f *fixture) {
	publishRevisions(f, "", "old")
	before := overlayMark(f)
	publishRevisions(f, "t", "a")
	publishRevisions(f, "u", "a")
	next := store.PublishRevision{Revision: revisionOf(f, "", "new"), Expected: "old", Proven: &store.ProvenOverlays{Mark: before}}
	wantError(f, try(f.PublishRevision(f.Context(), &next)).err, store.ErrOverlaysChanged)
	next.Proven = &store.ProvenOverlays{Mark: overlayMark(f), Held: []store.HeldOverlay{{Tenant: "t", Base: "old"}}}
	try(f.PublishRevision(f.Context(), &next)).wantOK(f)
	wantEqual(f, "the tenant that is held", overlayOf(f, "t"), store.OverlayState{Hash: "a", Base: "old"})
	wantEqual(f, "the other", overlayOf(f, "u"), store.OverlayState{Hash: "a"})
	r := store.Retention{Now: f.now.Add(100 * time.Hour), Revisions: time.Hour}
	wantEqual(f, "what is deleted of a base that a tenant stays over", pruneStore(f, r), store.Pruned{})
	publishRevisions(f, "t", "b")
	wantEqual(f, "the tenant that has published", overlayOf(f, "t"), store.OverlayState{Hash: "b"})
	next = store.PublishRevision{Revision: revisionOf(f, "", "newest"), Expected: "new", Proven: &store.ProvenOverlays{
		Mark: overlayMark(f), Held: []store.HeldOverlay{{Tenant: "u", Base: "new"}},
	}}
	try(f.PublishRevision(f.Context(), &next)).wantOK(f)
	wantEqual(f, "the other that is held then", overlayOf(f, "u"), store.OverlayState{Hash: "a", Base: "new"})
	wantEqual(f, "what is deleted then", pruneStore(f, r), store.Pruned{Revisions: 2})
}

func theBaseBelowALiveTurnIsKept(f *fixture) {
	publishRevisions(f, "", "old", "new")
	publishRevisions(f, "t", "a")
	build := store.RevisionBuild{Build: "of a over old", Tenant: "t", Hash: "a", Base: "old", BuiltAt: f.now}
	wantOK(f, f.AddRevisionBuild(f.Context(), build))
	got, r, err := f.BuiltRevision(f.Context(), build.Build)
	wantOK(f, err)
	wantEqual(f, "the build", *got, build)
	wantEqual(f, "its tenant", r.Tenant, "t")
	f.createQueued("s", "t1")
	claimed := try(f.Claim(f.Context(), &store.Claim{TurnID: "t1", Worker: "w", Lease: time.Minute, Revision: build.Build, Now: f.now})).wantOK(f)
	old := store.Retention{Now: f.now.Add(100 * time.Hour), Revisions: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, old), store.Pruned{})
	f.finishTurn(claimed)
	wantEqual(f, "what is deleted after its end", pruneStore(f, old), store.Pruned{Revisions: 1})
}

func overlaysWithWorkflowsAreFound(f *fixture) {
	publishRevisions(f, "", "base")
	publish := func(tenant, hash, before string, has bool) {
		try(f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, tenant, hash), Expected: before, HasWorkflows: has})).wantOK(f)
	}
	want := func(about string, want ...store.TenantOverlay) {
		list := try(f.WorkflowOverlays(f.Context(), "", 10)).wantOK(f)
		wantEqual(f, about, list, want)
	}
	state := func(tenant, hash, base string) store.TenantOverlay {
		return store.TenantOverlay{Tenant: tenant, OverlayState: store.OverlayState{Hash: hash, Base: base}}
	}
	publish("b", "x", "", true)
	publish("a", "x", "", true)
	publish("c", "x", "", false)
	want("with workflows", state("a", "x", ""), state("b", "x", ""))
	publish("b", "y", "x", true)
	publish("a", "y", "x", false)
	want("then", state("b", "y", ""))
	_, err := f.PublishRevision(f.Context(), &store.PublishRevision{Revision: revisionOf(f, "", "next"), Expected: "base", Proven: &store.ProvenOverlays{
		Mark: overlayMark(f), Held: []store.HeldOverlay{{Tenant: "c", Base: "base"}},
	}})
	wantOK(f, err)
	want("with one that is held", state("b", "y", ""), state("c", "x", "base"))
	list := try(f.WorkflowOverlays(f.Context(), "b", 10)).wantOK(f)
	wantEqual(f, "after b", list, []store.TenantOverlay{state("c", "x", "base")})
	list = try(f.WorkflowOverlays(f.Context(), "", 1)).wantOK(f)
	wantEqual(f, "the first", list, []store.TenantOverlay{state("b", "y", "")})
}

func theBaseBelowALiveRunIsKept(f *fixture) {
	publishRevisions(f, "", "old", "new")
	publishRevisions(f, "t", "a", "b")
	wantOK(f, f.AddRevisionBuild(f.Context(), store.RevisionBuild{Build: "of a", Tenant: "t", Hash: "a", Base: "old", BuiltAt: f.now}))
	run := runOf(f, "r")
	run.Revision = "of a"
	createRuns(f, run)
	r := store.Retention{Now: f.now.Add(100 * time.Hour), Revisions: time.Hour}
	wantEqual(f, "what is deleted below a live run", pruneStore(f, r), store.Pruned{})
}

func anAttemptIsStoredWithItsRevision(f *fixture) {
	publish := func(hash, before string) error {
		_, err := f.PublishRevision(f.Context(), &store.PublishRevision{
			Revision: revisionOf(f, "", hash), Expected: before, Attempt: &store.RevisionAttempt{Hash: hash, Author: "ann", At: f.now},
		})
		return err
	}
	wantOK(f, publish("a", ""))
	wantOK(f, publish("a", ""))
	if publish("b", "x") == nil {
		f.Error("another one than the current one was expected, and it is published")
	}
	page := try(f.RevisionAttempts(f.Context(), store.RevisionQuery{})).wantOK(f)
	var got []string
	for _, a := range page.Attempts {
		got = append(got, a.Hash+" "+string(a.Outcome)+" "+a.Author)
	}
	wantEqual(f, "the attempts", got, []string{"a unchanged ann", "a published ann"})
}
