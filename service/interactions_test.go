package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

func TestAPersonIsWaitedForWithoutAWorker(t *testing.T) {
	s := serve(t, asking(t))
	id := session(t, s, "clerk")
	turn := until(t, s, create(t, s, says(id, "x")).ID, store.Waiting)
	if turn.Worker != "" {
		t.Errorf("worker %s waits", turn.Worker)
	}
	ctx := t.Context()
	open, err := s.ListInteractions(ctx, alice, store.InteractionQuery{TurnID: turn.ID})
	if err != nil || len(open) != 2 || open[0].Ticket.Message != "may I?" {
		t.Fatalf("the interactions are %+v, %v", open, err)
	}
	wrong := yes("may_a")
	wrong.Result = json.RawMessage(`"maybe"`)
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, wrong); !errors.As(err, new(*backend.ResolutionError)) {
		t.Errorf("the error of an answer that does not fit is %v", err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("nothing")); !errors.As(err, new(*runtime.NotFoundError)) {
		t.Errorf("the error of an unknown one is %v", err)
	}
	first, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("a"))
	if err != nil || first.ID != "may_a" || first.ResolvedBy != "alice" {
		t.Fatalf("the interaction is %+v, %v", first, err)
	}
	if again, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("may_a")); err != nil || !again.ResolvedAt.Equal(first.ResolvedAt) {
		t.Errorf("the same answer gives %+v, %v", again, err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, refuse("may_a", "")); !errors.As(err, new(*store.ConflictError)) {
		t.Errorf("the error of another answer is %v", err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, refuse("may_b", "no")); err != nil {
		t.Fatal(err)
	}
	got := ended(t, s, turn.ID)
	if got.Status != store.Succeeded || got.Outcome.Response != "all done" {
		t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
	}
	records := log(t, s, turn.ID)
	if how, _ := callOutcome(t, records, "a"); how != event.CallSucceeded {
		t.Errorf("call a %s", how)
	}
	if how, text := callOutcome(t, records, "b"); how != event.CallFailed || !strings.Contains(text, "no") {
		t.Errorf("call b %s: %s", how, text)
	}
}

func TestNobodyAnswersInTime(t *testing.T) {
	for policy, want := range map[runtime.TimeoutPolicy]store.Status{runtime.TimeoutCancels: store.Succeeded, runtime.TimeoutFails: store.Failed} {
		t.Run("the turn's "+string(policy), func(t *testing.T) {
			s := serve(t, asking(t), func(v *runtime.ServiceSettings) {
				v.InteractionTimeout, v.Lease = time.Hour, 300*time.Millisecond
			})
			req := says(session(t, s, "clerk"), "x")
			req.InteractionTimeout, req.OnTimeout = 30*time.Millisecond, policy
			if got := ended(t, s, create(t, s, req).ID); got.Status != want {
				t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
			}
		})
		t.Run(string(policy), func(t *testing.T) {
			s := serve(t, asking(t), func(v *runtime.ServiceSettings) {
				v.InteractionTimeout, v.OnTimeout, v.Lease = 30*time.Millisecond, policy, 300*time.Millisecond
			})
			got := ended(t, s, create(t, s, says(session(t, s, "clerk"), "x")).ID)
			if got.Status != want {
				t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
			}
			if want == store.Failed && got.Outcome.Termination.Code != runtime.CodeInteractionTimeout {
				t.Errorf("it ended by %+v", got.Outcome.Termination)
			}
			open, err := s.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: got.ID, State: store.InteractionPending})
			if err != nil || len(open) != 0 {
				t.Errorf("%v are still open, %v", open, err)
			}
		})
	}
}

func TestWhatIsAskedCanBeAnsweredAtOnce(t *testing.T) {
	release := make(chan struct{})
	slow := toolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return tools.TextResult("slow"), ctx.Err()
	})
	both := calls("a", "risky", "{}")
	both.calls = append(both.calls, calls("b", "slow", "{}").calls...)
	exec := scripts(map[string][]answer{"clerk": {both, {text: "all done"}}})
	s := serve(t, build(t, withAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}).
		WithTool("risky", risky).WithTool("slow", slow).WithPlugin("cautious", cautious)))
	turn := create(t, s, says(session(t, s, "clerk"), "x"))
	for r, err := range s.Events(t.Context(), alice, turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type != event.TypeInteractionRequest {
			continue
		}
		if _, err := s.ResolveInteraction(t.Context(), alice, turn.ID, yes("a")); err != nil {
			t.Fatalf("the other call is under way, and the answer gives %v", err)
		}
		close(release)
	}
	if got := ended(t, s, turn.ID); got.Outcome.Response != "all done" {
		t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
	}
}
