package service_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// desks returns a runtime whose agents answer with their names. A prompt that names another
// agent hands over to it, and "fail NAME" fails after the handoff.
func desks(t testing.TB, names ...string) *runtime.AgentRuntime {
	exec := &turntest.Answerer{}
	exec.Answer = func(_ context.Context, agent string, _ int) turntest.Answer {
		asked := ""
		for _, m := range exec.LastMessages(agent) {
			if m.Role == model.RoleUser {
				asked = m.Text()
			}
		}
		to, fails := strings.CutPrefix(asked, "fail ")
		switch {
		case slices.Contains(names, to) && to != agent:
			return turntest.Calls("c1", agenttool.HandoffID(to), `{}`)
		case fails:
			return turntest.Answer{Err: &model.Error{Class: model.InvalidRequest, Message: "no"}}
		default:
			return turntest.Answer{Text: agent}
		}
	}
	var agents []spec.Agent
	for _, name := range names {
		others := slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		agents = append(agents, spec.Agent{ID: name, Handoffs: others})
	}
	return turntest.Build(t, turntest.WithAgents(exec, agents...))
}

// answered runs a turn of alice and returns its answer.
func answered(t testing.TB, s *service.Service, req service.CreateTurn) string {
	t.Helper()
	return ended(t, s, create(t, s, req).ID).Outcome.Response
}

// currentAgent returns the agent that has the conversation of a session.
func currentAgent(t testing.TB, s *service.Service, id string) string {
	t.Helper()
	found, err := s.GetSession(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	return found.CurrentAgentID
}

func TestAHandoffLastsUntilAnAgentIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t, desks(t, "front", "billing", "shop"))
	id := session(t, s, "front")
	addressed, named := func(agent string) service.CreateTurn {
		req := says(id, "hi")
		req.AgentID, req.Addressed = agent, true
		return req
	}, func(agent string) service.CreateTurn {
		req := says(id, "hi")
		req.AgentID = agent
		return req
	}
	for i, step := range []struct {
		req  service.CreateTurn
		want string
	}{
		{says(id, "hi"), "front"},
		{says(id, "billing"), "billing"},
		{says(id, "hi"), "billing"},
		{addressed("front"), "billing"},
		{addressed("shop"), "shop"}, // another agent than that of the turn before
		{addressed("front"), "front"},
		{says(id, "billing"), "billing"},
		{named("front"), "front"},
		{says(id, "hi"), "front"},
		{named("shop"), "shop"},
		{says(id, "hi"), "shop"},
		{says(id, "billing"), "billing"},
	} {
		if got := answered(t, s, step.req); got != step.want {
			t.Fatalf("step %d: %s answers, want %s", i, got, step.want)
		}
		if got := currentAgent(t, s, id); got != step.want {
			t.Fatalf("step %d: the session shows %s, want %s", i, got, step.want)
		}
	}
	front := "front"
	if _, err := s.UpdateSession(t.Context(), alice, id, store.SessionPatch{AgentID: &front}); err != nil {
		t.Fatal(err)
	}
	if got := answered(t, s, says(id, "hi")); got != "front" {
		t.Errorf("after the session was given an agent, %s answers", got)
	}
}

func TestAQueuedTurnGoesToTheAgentThatTookOver(t *testing.T) {
	t.Parallel()
	s := idle(t, desks(t, "front", "billing"))
	id := session(t, s, "front")
	create(t, s, says(id, "billing"))
	second := create(t, s, says(id, "hi"))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, s, second.ID).Outcome.Response; got != "billing" {
		t.Errorf("%s answers", got)
	}
}

func TestAHandoffOfAFailedTurnIsForgotten(t *testing.T) {
	t.Parallel()
	s := serve(t, desks(t, "front", "billing"))
	id := session(t, s, "front")
	answered(t, s, says(id, "hi"))
	if turn := ended(t, s, create(t, s, says(id, "fail billing")).ID); turn.Status != store.Failed || turn.Outcome.Agent != "billing" {
		t.Fatalf("the turn is %s at %s", turn.Status, turn.Outcome.Agent)
	}
	if got := answered(t, s, says(id, "hi")); got != "front" {
		t.Errorf("%s answers", got)
	}
}

func TestSnapshotsRestoreTheAgentThatHadTheConversation(t *testing.T) {
	t.Parallel()
	s := serve(t, desks(t, "front", "billing", "shop"))
	id := session(t, s, "front")
	tips := map[string]string{}
	for _, text := range []string{"hi", "billing", "shop"} {
		answered(t, s, says(id, text))
		found, err := s.GetSession(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		tips[found.CurrentAgentID] = found.Tip
	}
	for _, agent := range []string{"billing", "front", "shop"} {
		tip := tips[agent]
		forked, err := s.ForkSession(t.Context(), alice, service.ForkSession{SessionID: id, SnapshotID: tip})
		if err != nil {
			t.Fatal(err)
		}
		named, err := s.ForkSession(t.Context(), alice, service.ForkSession{SessionID: id, SnapshotID: tip, New: service.CreateSession{AgentID: "front"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := answered(t, s, says(named.ID, "hi")); got != "front" {
			t.Errorf("a fork for front is answered by %s", got)
		}
		if _, err := s.UpdateSession(t.Context(), alice, id, store.SessionPatch{Tip: &tip}); err != nil {
			t.Fatal(err)
		}
		from := says(id, "hi")
		from.SnapshotID = tip
		for what, got := range map[string]string{
			"the fork": answered(t, s, says(forked.ID, "hi")), "the session": currentAgent(t, s, id), "a turn from the snapshot": answered(t, s, from),
			"the turn after": answered(t, s, says(id, "hi")),
		} {
			if got != agent {
				t.Errorf("%s of %s goes to %s", what, agent, got)
			}
		}
	}
	start := says(id, "hi")
	start.FromStart = true
	if got := answered(t, s, start); got != "front" {
		t.Errorf("a turn from the start goes to %s", got)
	}
}

func TestHandoffsPerTurnEndWithTheirTurn(t *testing.T) {
	t.Parallel()
	kept, rt := newMemory(t), desks(t, "front", "billing")
	s := serve(t, rt, on(kept))
	id := session(t, s, "front")
	answered(t, s, says(id, "billing"))
	s.Close()
	s = serve(t, rt, on(kept), func(v *service.Settings) { v.Handoff = service.HandoffPerTurn })
	for range 2 {
		if got := answered(t, s, says(id, "hi")); got != "front" {
			t.Errorf("%s answers", got)
		}
		if got := answered(t, s, says(id, "billing")); got != "billing" {
			t.Errorf("%s answers", got)
		}
		if got := currentAgent(t, s, id); got != "" {
			t.Errorf("the session shows %s", got)
		}
	}
}

func TestASessionGoesBackToItsAgentWhenTheOtherIsRemoved(t *testing.T) {
	t.Parallel()
	kept := newMemory(t)
	s := serve(t, desks(t, "front", "billing"), on(kept))
	id := session(t, s, "front")
	answered(t, s, says(id, "billing"))
	s.Close()
	core, logs := observer.New(zap.WarnLevel)
	s = serve(t, desks(t, "front", "shop"), on(kept), func(v *service.Settings) { v.Logger = zap.New(core) })
	if got := answered(t, s, says(id, "hi")); got != "front" {
		t.Errorf("%s answers", got)
	}
	lines := logs.FilterMessageSnippet("current agent of session removed").All()
	if len(lines) != 1 || lines[0].ContextMap()["removed"] != "billing" || lines[0].ContextMap()["session_id"] != id {
		t.Errorf("the log is %v", lines)
	}
	if got := currentAgent(t, s, id); got != "front" {
		t.Errorf("the session shows %s", got)
	}
}

func TestCallersNeedPermissionForTheFirstAgentOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, desks(t, "front", "billing"))
	limited := alice
	limited.Agents = service.NewAgentSet([]string{"front"})
	id := session(t, s, "front")
	for _, text := range []string{"billing", "hi"} {
		made, err := s.CreateTurn(t.Context(), limited, says(id, text))
		if err != nil {
			t.Fatal(err)
		}
		turn, err := s.WaitTurn(t.Context(), limited, made.ID)
		if err != nil || turn.Outcome.Response != "billing" || turn.AgentID != "front" {
			t.Fatalf("%+v, %v", turn, err)
		}
	}
	if _, err := s.GetSession(t.Context(), limited, id); err != nil {
		t.Error(err)
	}
	req := says(id, "hi")
	req.AgentID = "billing"
	if _, err := s.CreateTurn(t.Context(), limited, req); err == nil {
		t.Error("a caller may name an agent that it may not use")
	}
}

func TestASessionWithoutAnAgentKeepsTheOneThatHasIt(t *testing.T) {
	t.Parallel()
	s := serve(t, desks(t, "front", "billing"))
	id := session(t, s, "")
	first := says(id, "billing")
	first.AgentID = "front"
	if got := answered(t, s, first); got != "billing" {
		t.Errorf("%s answers", got)
	}
	turn := ended(t, s, create(t, s, says(id, "hi")).ID)
	if turn.Outcome.Response != "billing" || turn.AgentID != "front" {
		t.Errorf("%s answers a turn for %s", turn.Outcome.Response, turn.AgentID)
	}
}
