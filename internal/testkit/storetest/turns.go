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
	f.createSessions("s", "other", "empty")
	for id, agent := range map[string]string{"t1": "helper", "t2": "Clerk", "t3": "helper"} {
		n := f.turnOf("s", id)
		n.Turn.AgentID = agent
		f.createTurn(n)
	}
	f.createTurns("other", "t4")
	for id, want := range map[string][]string{"s": {"Clerk", "helper"}, "other": {"helper"}, "empty": nil, "unknown": nil} {
		agents := try(f.SessionAgents(f.Context(), id)).wantOK(f)
		slices.Sort(agents)
		wantEqual(f, "the agents of "+id, agents, want)
	}
}

func positionsAreThoseOfTheTurns(f *fixture) {
	f.sessionFor(bob, "other")
	c := f.createRunning("s", "running")
	step := f.commitOf(c)
	step.Events = append(step.Events, f.eventOf(&c.Turn, c.Turn.Seq+1, `{"delta":"a"}`), f.eventOf(&c.Turn, c.Turn.Seq+2, `{"delta":"b"}`))
	f.commitTurn(step)
	n := f.turnOf("other", "pending")
	n.Turn.Owner = bob
	f.createTurn(n)
	f.createSessions("third")
	f.createSucceeded("third", "ended")
	for _, asked := range [][]string{nil, {}, {"unknown"}, {"running"}, {"ended", "unknown", "pending", "running"}, {"quote'\"\\", "running"}} {
		got := try(f.Positions(f.Context(), asked)).wantOK(f)
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
			wantEqual(f, fmt.Sprintf("the positions of %q", asked), got, want)
		}
	}
}

func aTurnIsReadAsItWasMade(f *fixture) {
	f.createSessions("s")
	n := f.turnOf("s", "t")
	n.Turn.Metadata = json.RawMessage(`{"z": 1, "a": "é✓"}`)
	n.Turn.Background = true
	n.Turn.NotBefore = f.now.Add(time.Hour)
	n.Turn.ParentSnapshotID = "some-snapshot"
	n.Turn.FromStart = true
	want := n.Turn
	want.Status, want.UpdatedAt, want.ChangedAt = store.Pending, f.now, f.now
	wantEqual(f, "what CreateTurn returns", f.createTurn(n), &want)
	wantEqual(f, "the turn", f.getTurn("t"), &want)
	wantEqual(f, "its messages", try(f.OwnMessages(f.Context(), "t")).wantOK(f), n.Input)
	wantEqual(f, "its events", f.listEvents("t"), nil)
}

func aTurnNeedsASession(f *fixture) {
	wantError(f, try(f.CreateTurn(f.Context(), f.turnOf("none", "t"))).err, store.ErrNotFound)
	f.sessionFor(bob, "s")
	_, err := f.CreateTurn(f.Context(), f.turnOf("s", "t")) // ann's turn in bob's session
	wantError(f, err, store.ErrNotFound)
	wantError(f, try(f.Turn(f.Context(), store.Everything, "t")).err, store.ErrNotFound)
	f.wantJobs()
}

func aTurnIDIsTakenOnce(f *fixture) {
	f.createSessions("s", "other")
	f.createTurns("s", "t")
	f.wantJobs("t")
	for _, session := range []string{"s", "other"} {
		wantAs(f, try(f.CreateTurn(f.Context(), f.turnOf(session, "t"))).err, &store.ExistsError{Kind: "turn", ID: "t"})
	}
	wantEqual(f, "the messages", try(f.OwnMessages(f.Context(), "t")).wantOK(f), textMessages("input of t"))
	wantEqual(f, "when the other session had a turn", f.getSession("other").LastTurnAt, time.Time{})
	f.wantJobs()
}

func aTurnMayRefuseToWait(f *fixture) {
	f.createSessions("s", "other")
	reject := func(session, id string) error {
		n := f.turnOf(session, id)
		n.Reject = true
		_, err := f.CreateTurn(f.Context(), n)
		return err
	}
	wantOK(f, reject("s", "t1"))
	f.wantJobs("t1")
	wantAs(f, reject("s", "t2"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	wantOK(f, reject("other", "t2"))
	f.wantJobs("t2")
	c := f.claimTurn("t1")
	wantAs(f, reject("s", "t3"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	f.suspendTurn(c, "q")
	wantAs(f, reject("s", "t3"), &store.BusyError{SessionID: "s", TurnID: "t1"})
	wantError(f, try(f.Turn(f.Context(), store.Everything, "t3")).err, store.ErrNotFound)
	f.endTurn("t1")
	f.wantJobs()
	wantOK(f, reject("s", "t3"))
	f.wantJobs("t3")
}

func whatTheCallerSaysOfTheStateIsNotTaken(f *fixture) {
	f.createSessions("s")
	n := f.turnOf("s", "t")
	n.Turn.Status, n.Turn.Fence, n.Turn.Seq, n.Turn.Strikes, n.Turn.Steps = store.Succeeded, 7, 7, 7, 7
	n.Turn.StartedAt, n.Turn.FinishedAt, n.Turn.LeaseUntil, n.Turn.Worker = f.now, f.now, f.now, "mallory"
	n.Turn.Result = json.RawMessage(`{}`)
	f.createTurn(n)
	want := f.turnOf("s", "t").Turn
	want.Status, want.UpdatedAt, want.ChangedAt, want.Admitted = store.Pending, f.now, f.now, true
	wantEqual(f, "the turn", f.getTurn("t"), &want)
}

func aTurnPatchChangesWhatItNames(f *fixture) {
	f.createQueued("s", "t")
	want := f.getTurn("t")
	yes := true
	changed := try(f.UpdateTurn(f.Context(), store.Of(ann), "t", store.TurnPatch{Background: &yes, Now: f.now.Add(time.Second)})).wantOK(f)
	want.Background, want.UpdatedAt = true, f.now.Add(time.Second)
	wantEqual(f, "what UpdateTurn returns", changed, want)
	wantEqual(f, "the turn", f.getTurn("t"), want)
	wantError(f, try(f.UpdateTurn(f.Context(), store.Of(ann), "none", store.TurnPatch{Background: &yes, Now: f.now})).err, store.ErrNotFound)
}
