package agents_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// These tests cover defects of the system that the agents API comes from: D1 and so on are their
// numbers in its specification. For D6 to D9, which concern HTTP, see server/agents.

// both returns two agents: one with server-side state, one with client-side state.
func both(t *testing.T, code func(context.Context, *agents.Turn[ledger]) (*agents.Result, error)) map[string]*agents.Agent[ledger] {
	t.Helper()
	server, err := agents.Custom("server", code, agents.Options[ledger]{})
	client, err2 := agents.Custom("client", code, agents.Options[ledger]{ClientManaged: true})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, server, client), server, client)
	return map[string]*agents.Agent[ledger]{"server": server, "client": client}
}

func TestD1EveryTurnEndsOnceInItsChunks(t *testing.T) {
	code := func(_ context.Context, turn *agents.Turn[ledger]) (*agents.Result, error) {
		err := turn.SendText("some")
		if strings.HasPrefix(turn.Input()[0].Text(), "fail") {
			err = agents.Error(wire.StatusAborted, "as you wish")
		}
		return &agents.Result{Text: "some text"}, err
	}
	for name, agent := range both(t, code) {
		for i := range 100 {
			text, want := "go on", wire.FinishStop
			if i%2 == 0 {
				text, want = "fail", wire.FinishFailed
			}
			ends, outputs, texts := 0, 0, 0
			for piece, err := range agent.StreamText(t.Context(), agents.Source{}, text) {
				switch {
				case err != nil:
					t.Fatal(name, err)
				case piece.Output != nil:
					outputs++
					if piece.Output.FinishReason != want {
						t.Errorf("%s: %s", name, piece.Output.FinishReason)
					}
				case piece.Chunk.TurnEnd != nil:
					ends++
					if piece.Chunk.TurnEnd.FinishReason != want {
						t.Errorf("%s: the chunk says %s", name, piece.Chunk.TurnEnd.FinishReason)
					}
				case piece.Chunk.ModelChunk != nil:
					texts++
				}
			}
			if ends != 1 || outputs != 1 || texts == 0 {
				t.Fatalf("%s: %d ends, %d outputs, %d texts", name, ends, outputs, texts)
			}
		}
	}
}

func TestD2OverlappingTurnsOfASessionAllStay(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		p := newPlaceOn(t, open)
		var all sync.WaitGroup
		for _, text := range []string{"one", "two", "three"} {
			all.Go(func() {
				if out, err := p.agent.RunText(t.Context(), agents.FromSession("s"), text); err != nil || out.Error != nil {
					t.Error(err, out)
				}
			})
		}
		all.Wait()
		kept, err := p.agent.LatestSnapshot(t.Context(), "s")
		if err != nil || kept.State.Custom.Turns != 3 {
			t.Fatalf("%+v, %v", kept, err)
		}
		said := make(map[string]int)
		for i := range kept.State.Messages {
			said[kept.State.Messages[i].Text()]++
		}
		if said["one"] != 1 || said["two"] != 1 || said["three"] != 1 {
			t.Errorf("%v", said)
		}
	})
}

func TestD3InstructionsAreNoPartOfASession(t *testing.T) {
	p := newPlace(t)
	for range 2 {
		if _, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "hello"); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := p.agent.LatestSnapshot(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range kept.State.Messages {
		if m.Role == wire.RoleSystem || strings.Contains(m.Text(), "keep the book") {
			t.Errorf("%+v", m)
		}
	}
}

func TestD4AnswersStandInTheOrderOfTheirRequests(t *testing.T) {
	p := newPlace(t)
	for range 20 {
		begun, err := p.agent.RunText(t.Context(), agents.Source{}, "ask")
		if err != nil || len(begun.Interrupts()) != 2 {
			t.Fatal(err, begun)
		}
		// The answers come in reverse order.
		out, err := p.agent.Run(t.Context(), agents.FromSnapshot(begun.SnapshotID), agents.Respond(respond(p, begun.SnapshotID)...))
		if err != nil || out.Error != nil {
			t.Fatal(err, out)
		}
		got, err := p.read(out.SnapshotID)
		if err != nil || strings.Join(got.Texts[:3], " ") != "ask yes 1 yes 2" {
			t.Fatal(err, got.Texts)
		}
	}
}

func TestD5ErrorsHaveNoInternalText(t *testing.T) {
	code := func(_ context.Context, turn *agents.Turn[ledger]) (*agents.Result, error) {
		if turn.Input()[0].Text() == "panic" {
			panic("the password is 1234")
		}
		return nil, errors.New("the password is 1234")
	}
	for name, agent := range both(t, code) {
		for _, text := range []string{"panic", "fail"} {
			out, err := agent.RunText(t.Context(), agents.Source{}, text)
			if err != nil || out.Error == nil || out.Error.Status != wire.StatusInternal || strings.Contains(out.Error.Message, "1234") {
				t.Errorf("%s: %v, %+v", name, err, out)
			}
		}
	}
}

func TestD11WhatFailedBlocksNoSession(t *testing.T) {
	p := newPlace(t)
	first, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "hello")
	if err != nil {
		t.Fatal(err)
	}
	// One turn fails, another is aborted, and a third loses its worker and is aborted.
	failed, err := p.agent.Detach(t.Context(), agents.FromSession("s"), agents.Text("to fail"), agents.DetachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := p.agent.WaitForSnapshot(t.Context(), failed.SnapshotID); err != nil || kept.Status != wire.SnapshotFailed {
		t.Fatal(err, kept)
	}
	reached := p.gate.set("between")
	aborted, err := p.agent.Detach(t.Context(), agents.FromSession("s"), agents.Text("hello"), agents.DetachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if _, err := p.agent.Abort(t.Context(), aborted.SnapshotID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{failed.SnapshotID, aborted.SnapshotID} {
		_, err := p.agent.RunText(t.Context(), agents.FromSnapshot(id), "again")
		if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != wire.StatusFailedPrecondition {
			t.Errorf("a dead snapshot is continued: %v", err)
		}
	}
	next, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "hello")
	if err != nil || next.Error != nil {
		t.Fatal(err, next)
	}
	if kept, err := p.agent.GetSnapshot(t.Context(), next.SnapshotID); err != nil || kept.ParentID != first.SnapshotID || kept.State.Custom.Turns != 2 {
		t.Errorf("%v, %+v", err, kept)
	}
}

func TestD12AnAbortedTurnKeepsItsConversation(t *testing.T) {
	p := newPlace(t)
	reached := p.gate.set("between")
	begun, err := p.agent.Detach(t.Context(), agents.Source{}, agents.Text("work"), agents.DetachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if _, err := p.agent.Abort(t.Context(), begun.SnapshotID); err != nil {
		t.Fatal(err)
	}
	got, err := p.read(begun.SnapshotID)
	if err != nil || len(got.Texts) < 3 || got.Texts[0] != "work" || got.Texts[1] != "worked" {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestD13AFailedTurnLeavesNoPartOfItsChanges(t *testing.T) {
	p := newPlace(t)
	if _, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "hello"); err != nil {
		t.Fatal(err)
	}
	failed, err := p.agent.Detach(t.Context(), agents.FromSession("s"), agents.Text("to fail"), agents.DetachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := p.agent.WaitForSnapshot(t.Context(), failed.SnapshotID)
	if err != nil || kept.Status != wire.SnapshotFailed || kept.State.Custom.Turns != 1 || *kept.State.Artifacts[0].Parts[0].Text != "hello" {
		t.Errorf("%v, %+v", err, kept)
	}
}
