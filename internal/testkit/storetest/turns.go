package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var turnTests = []test{
	{name: "ATurnIsReadAsItWasMade", run: aTurnIsReadAsItWasMade},
	{name: "PositionsAreThoseOfTheTurns", run: positionsAreThoseOfTheTurns},
	{name: "ATurnNeedsASession", run: aTurnNeedsASession},
	{name: "AnIDIsTakenOnce", run: aTurnIDIsTakenOnce},
	{name: "ATurnMayRefuseToWait", run: aTurnMayRefuseToWait},
	{name: "WhatTheCallerSaysOfTheStateIsNotTaken", run: whatTheCallerSaysOfTheStateIsNotTaken},
	{name: "APatchChangesWhatItNames", run: aTurnPatchChangesWhatItNames},
	{name: "ASessionHasTheAgentsOfItsTurns", run: aSessionHasTheAgentsOfItsTurns},
}

func aSessionHasTheAgentsOfItsTurns(f *fixture) {
	f.session("s", "other", "empty")
	for id, agent := range map[string]string{"t1": "helper", "t2": "Clerk", "t3": "helper"} {
		n := f.turnOf("s", id)
		n.Turn.AgentID = agent
		f.create(n)
	}
	f.turn("other", "t4")
	for id, want := range map[string][]string{"s": {"Clerk", "helper"}, "other": {"helper"}, "empty": nil, "unknown": nil} {
		agents, err := f.SessionAgents(f.Context(), id)
		ok(f, err)
		slices.Sort(agents)
		equal(f, "the agents of "+id, agents, want)
	}
}

func positionsAreThoseOfTheTurns(f *fixture) {
	f.sessionFor(bob, "other")
	c := f.running("s", "running")
	step := f.commitOf(c)
	step.Events = append(step.Events, f.eventOf(&c.Turn, c.Turn.Seq+1, `{"delta":"a"}`), f.eventOf(&c.Turn, c.Turn.Seq+2, `{"delta":"b"}`))
	f.commit(step)
	n := f.turnOf("other", "pending")
	n.Turn.Owner = bob
	f.create(n)
	f.session("third")
	f.succeed("third", "ended")
	for _, asked := range [][]string{nil, {}, {"unknown"}, {"running"}, {"ended", "unknown", "pending", "running"}, {"quote'\"\\", "running"}} {
		got, err := f.Positions(f.Context(), asked)
		ok(f, err)
		var want []store.Position
		for _, id := range asked {
			if turn, err := f.Turn(f.Context(), store.Everything, id); err == nil {
				want = append(want, store.Position{TurnID: id, Status: turn.Status, Seq: turn.Seq})
			}
		}
		byID := func(a, b store.Position) int { return strings.Compare(a.TurnID, b.TurnID) }
		slices.SortFunc(got, byID)
		slices.SortFunc(want, byID)
		if len(got) > 0 || len(want) > 0 {
			equal(f, fmt.Sprintf("the positions of %q", asked), got, want)
		}
	}
}

func aTurnIsReadAsItWasMade(f *fixture) {
	f.session("s")
	n := f.turnOf("s", "t")
	n.Turn.Metadata = json.RawMessage(`{"z": 1, "a": "é✓"}`)
	n.Turn.Background = true
	n.Turn.NotBefore = f.now.Add(time.Hour)
	n.Turn.ParentSnapshotID = "some-snapshot"
	n.Turn.FromStart = true
	want := n.Turn
	want.Status, want.UpdatedAt, want.ChangedAt = store.Pending, f.now, f.now
	equal(f, "what CreateTurn returns", f.create(n), &want)
	equal(f, "the turn", f.get("t"), &want)
	own, err := f.OwnMessages(f.Context(), "t")
	ok(f, err)
	equal(f, "its messages", own, n.Input)
	equal(f, "its events", f.events("t"), nil)
}

func aTurnNeedsASession(f *fixture) {
	_, err := f.CreateTurn(f.Context(), f.turnOf("none", "t"))
	is(f, err, store.ErrNotFound)
	f.sessionFor(bob, "s")
	_, err = f.CreateTurn(f.Context(), f.turnOf("s", "t")) // ann's turn in bob's session
	is(f, err, store.ErrNotFound)
	_, err = f.Turn(f.Context(), store.Everything, "t")
	is(f, err, store.ErrNotFound)
	f.jobs()
}

func aTurnIDIsTakenOnce(f *fixture) {
	f.session("s", "other")
	f.turn("s", "t")
	f.jobs("t")
	for _, session := range []string{"s", "other"} {
		_, err := f.CreateTurn(f.Context(), f.turnOf(session, "t"))
		as(f, err, &store.ExistsError{Kind: "turn", ID: "t"})
	}
	own, err := f.OwnMessages(f.Context(), "t")
	ok(f, err)
	equal(f, "the messages", own, messages("input of t"))
	equal(f, "when the other session had a turn", f.getSession("other").LastTurnAt, time.Time{})
	f.jobs()
}

func aTurnMayRefuseToWait(f *fixture) {
	f.session("s", "other")
	reject := func(session, id string) error {
		n := f.turnOf(session, id)
		n.Reject = true
		_, err := f.CreateTurn(f.Context(), n)
		return err
	}
	ok(f, reject("s", "t1"))
	f.jobs("t1")
	as(f, reject("s", "t2"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	ok(f, reject("other", "t2"))
	f.jobs("t2")
	c := f.claim("t1")
	as(f, reject("s", "t3"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	f.suspend(c, "q")
	as(f, reject("s", "t3"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	_, err := f.Turn(f.Context(), store.Everything, "t3")
	is(f, err, store.ErrNotFound)
	f.end("t1")
	f.jobs()
	ok(f, reject("s", "t3"))
	f.jobs("t3")
}

func whatTheCallerSaysOfTheStateIsNotTaken(f *fixture) {
	f.session("s")
	n := f.turnOf("s", "t")
	n.Turn.Status, n.Turn.Fence, n.Turn.Seq, n.Turn.Strikes, n.Turn.Steps = store.Succeeded, 7, 7, 7, 7
	n.Turn.StartedAt, n.Turn.FinishedAt, n.Turn.LeaseUntil, n.Turn.Worker = f.now, f.now, f.now, "mallory"
	n.Turn.Result = json.RawMessage(`{}`)
	f.create(n)
	want := f.turnOf("s", "t").Turn
	want.Status, want.UpdatedAt, want.ChangedAt, want.Admitted = store.Pending, f.now, f.now, true
	equal(f, "the turn", f.get("t"), &want)
}

func aTurnPatchChangesWhatItNames(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	want := f.get("t")
	yes := true
	changed, err := f.UpdateTurn(f.Context(), store.Of(ann), "t", store.TurnPatch{Background: &yes, Now: f.now.Add(time.Second)})
	ok(f, err)
	want.Background, want.UpdatedAt = true, f.now.Add(time.Second)
	equal(f, "what UpdateTurn returns", changed, want)
	equal(f, "the turn", f.get("t"), want)
	_, err = f.UpdateTurn(f.Context(), store.Of(ann), "none", store.TurnPatch{Background: &yes, Now: f.now})
	is(f, err, store.ErrNotFound)
}
