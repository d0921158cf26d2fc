package service_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// The log of a turn has the events of its delegates, at any depth. Readers who do not ask
// for them get the turn's own events alone, whichever way they read.
func TestDelegatesAreKeptAndShownToWhoAsks(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":   {turntest.AsksAgent("clerk"), {Text: "thanks"}},
		"clerk":  {turntest.AsksAgent("intern"), {Text: "sorted"}},
		"intern": {{Text: "copied"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk", Delegates: []string{"intern"}}, spec.Agent{ID: "intern"},
	))
	s := serve(t, rt, on(newMemory(t)))
	made := create(t, s, says(session(t, s, "boss"), "go"))
	own := log(t, s, made.ID)

	depths := make(map[int]int)
	after := uint64(0)
	for {
		page, err := s.ReadEvents(t.Context(), alice, made.ID, after, 1, service.WithDelegates)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if after++; page[0].Seq != after {
			t.Fatalf("event %d comes after %d", page[0].Seq, after-1)
		}
		depths[len(page[0].Path)]++
	}
	if depths[0] != len(own) || depths[1] == 0 || depths[2] == 0 {
		t.Errorf("the log has these events by depth: %v", depths)
	}

	var read []event.Record
	for after = 0; ; after = read[len(read)-1].Seq {
		page, err := s.ReadEvents(t.Context(), alice, made.ID, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if read = append(read, page...); len(page) > 2 {
			t.Errorf("a page of 2 has %d events", len(page))
		}
	}
	var followed []event.Record
	for r, err := range s.Events(t.Context(), alice, made.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, r)
	}
	for name, list := range map[string][]event.Record{"read": read, "followed": followed} {
		if len(list) != len(own) || !list[len(list)-1].Terminal() {
			t.Errorf("%s: %d events, want %d", name, len(list), len(own))
		}
		for i := range list {
			if len(list[i].Path) > 0 {
				t.Errorf("%s: event %d of delegate %v is shown", name, list[i].Seq, list[i].Path)
			}
		}
	}

	done, err := s.GetTurn(t.Context(), alice, made.ID)
	if err != nil || len(done.Outcome.Agents) != 3 {
		t.Errorf("the turn used %+v, %v", done.Outcome.Agents, err)
	}
}
