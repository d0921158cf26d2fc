package storetest

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
)

var scopeTests = []test{
	{name: "WhatIsForeignLooksUnknown", run: whatIsForeignLooksUnknown},
	{name: "ListsHaveNothingForeign", run: listsHaveNothingForeign},
	{name: "AForeignCallerChangesNothing", run: aForeignCallerChangesNothing},
	{name: "TheOwnerAndTheOperatorSee", run: theOwnerAndTheOperatorSee},
}

// call is a method that takes a scope, with the ids that it concerns.
type call struct {
	name string
	do   func(ctx context.Context, s store.Store, scope store.Scope, id ids) error
}

// ids are the ids of a session and its records.
type ids struct{ session, turn, snapshot, artifact, interaction string }

// scopedCalls returns all methods that return or change one thing visible in a scope.
func scopedCalls(f *fixture) []call {
	background := true
	return []call{
		{"Session", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Session(ctx, scope, id.session)
			return err
		}},
		{"UpdateSession", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			labels := map[string]string{"changed": "yes"}
			_, err := s.UpdateSession(ctx, scope, id.session, store.SessionPatch{Labels: &labels, Now: f.now})
			return err
		}},
		{"Turn", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Turn(ctx, scope, id.turn)
			return err
		}},
		{"UpdateTurn", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.UpdateTurn(ctx, scope, id.turn, store.TurnPatch{Background: &background, Now: f.now})
			return err
		}},
		{"Snapshot", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Snapshot(ctx, scope, id.snapshot)
			return err
		}},
		{"Artifact", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Artifact(ctx, scope, id.artifact)
			return err
		}},
		{"Artifacts", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Artifacts(ctx, scope, id.turn)
			return err
		}},
		{"Interaction", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			_, err := s.Interaction(ctx, scope, id.turn, id.interaction)
			return err
		}},
		{"AnswerInteraction", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			r := f.answerOf(id.turn, id.interaction, "yes")
			r.Scope = scope
			_, err := s.AnswerInteraction(ctx, r)
			return err
		}},
		{"EndTurn", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			e := f.endOf(id.turn)
			e.Scope = scope
			_, err := s.EndTurn(ctx, e)
			return err
		}},
		{"DeleteSession", func(ctx context.Context, s store.Store, scope store.Scope, id ids) error {
			return s.DeleteSession(ctx, scope, id.session)
		}},
	}
}

var (
	known   = ids{session: "s", turn: "t2", snapshot: "snapshot-t1", artifact: "artifact", interaction: "q"}
	unknown = ids{session: "none", turn: "none", snapshot: "none", artifact: "none", interaction: "none"}
)

// createOwned creates the records named by known, which belong to ann. The turn waits.
func createOwned(f *fixture) {
	f.Helper()
	f.createQueued("s", "t1")
	last := f.finishOf(f.claimTurn("t1"))
	f.commitTurn(last)
	f.createTurns("s", "t2")
	c := f.claimTurn("t2")
	asked := f.suspendOf(c, "q")
	asked.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "artifact", "data")}
	f.commitTurn(asked)
	f.queue.Take()
}

// strangers must not see ann's records: another subject of her tenant, the same subject of another
// tenant, and the empty owner.
var strangers = []store.Scope{store.Of(bob), store.Of(eve), store.Of(store.Owner{}), store.Of(store.Owner{Tenant: "acme"})}

func whatIsForeignLooksUnknown(f *fixture) {
	createOwned(f)
	for _, scope := range strangers {
		for _, c := range scopedCalls(f) {
			for _, id := range []ids{known, unknown} {
				if err := c.do(f.Context(), f.Store, scope, id); !errors.Is(err, store.ErrNotFound) {
					f.Errorf("%s of %v for %v: the error is %v, want %v", c.name, id, scope.Owner, err, store.ErrNotFound)
				}
			}
		}
	}
}

func listsHaveNothingForeign(f *fixture) {
	createOwned(f)
	for _, scope := range strangers {
		for _, session := range []string{"s", "none"} {
			snapshots := try(f.Snapshots(f.Context(), store.SnapshotQuery{Scope: scope, SessionID: session})).wantOK(f)
			wantEqual(f, "the snapshots", snapshots, store.SnapshotPage{})
			turns, _ := turnIDs(f, store.TurnQuery{Scope: scope, SessionID: session})
			wantEqual(f, "the turns", turns, nil)
			questions := try(f.Interactions(f.Context(), store.InteractionQuery{Scope: scope, SessionID: session})).wantOK(f)
			wantEqual(f, "the interactions", questions, nil)
		}
		sessions, _ := sessionIDs(f, store.SessionQuery{Scope: scope})
		wantEqual(f, "the sessions", sessions, nil)
		turns, _ := turnIDs(f, store.TurnQuery{Scope: scope})
		wantEqual(f, "the turns", turns, nil)
		questions := try(f.Interactions(f.Context(), store.InteractionQuery{Scope: scope, TurnID: "t2"})).wantOK(f)
		wantEqual(f, "the interactions", questions, nil)
	}
}

func aForeignCallerChangesNothing(f *fixture) {
	createOwned(f)
	session, turn := f.getSession("s"), f.getTurn("t2")
	for _, scope := range strangers {
		for _, c := range scopedCalls(f) {
			_ = c.do(f.Context(), f.Store, scope, known)
		}
	}
	wantEqual(f, "the session", f.getSession("s"), session)
	wantEqual(f, "the turn", f.getTurn("t2"), turn)
	question := try(f.Interaction(f.Context(), store.Everything, "t2", "q")).wantOK(f)
	wantEqual(f, "the state of the interaction", question.State, store.InteractionPending)
	f.wantJobs()
}

func theOwnerAndTheOperatorSee(f *fixture) {
	createOwned(f)
	for _, scope := range []store.Scope{store.Of(ann), store.Everything} {
		for _, c := range scopedCalls(f) {
			if c.name == "DeleteSession" {
				continue
			}
			if err := c.do(f.Context(), f.Store, scope, known); err != nil {
				f.Errorf("%s: %v", c.name, err)
			}
		}
	}
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
}
