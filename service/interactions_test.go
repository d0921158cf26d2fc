package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

func TestAPersonIsWaitedForWithoutAWorker(t *testing.T) {
	s := serve(t, turntest.Asking(t))
	id := session(t, s, "clerk")
	turn := until(t, s, create(t, s, says(id, "x")).ID, store.Waiting)
	if turn.Worker != "" {
		t.Errorf("worker %s waits", turn.Worker)
	}
	ctx := t.Context()
	open, err := s.ListInteractions(ctx, alice, store.InteractionQuery{TurnID: turn.ID})
	if err != nil || len(open) != 2 || open[0].Request.Message != "may I?" {
		t.Fatalf("the interactions are %+v, %v", open, err)
	}
	wrong := turntest.Yes("may_a")
	wrong.Result = json.RawMessage(`"maybe"`)
	if _, err := s.AnswerInteraction(ctx, alice, turn.ID, wrong); !errors.As(err, new(*interaction.AnswerError)) {
		t.Errorf("the error of an answer that does not fit is %v", err)
	}
	if _, err := s.AnswerInteraction(ctx, alice, turn.ID, turntest.Yes("nothing")); !errors.As(err, new(*service.NotFoundError)) {
		t.Errorf("the error of an unknown one is %v", err)
	}
	first, err := s.AnswerInteraction(ctx, alice, turn.ID, turntest.Yes("a"))
	if err != nil || first.ID != "may_a" || first.AnsweredBy != "alice" {
		t.Fatalf("the interaction is %+v, %v", first, err)
	}
	if again, err := s.AnswerInteraction(ctx, alice, turn.ID, turntest.Yes("may_a")); err != nil || !again.AnsweredAt.Equal(first.AnsweredAt) {
		t.Errorf("the same answer gives %+v, %v", again, err)
	}
	if _, err := s.AnswerInteraction(ctx, alice, turn.ID, refuse("may_a", "")); !errors.As(err, new(*store.ConflictError)) {
		t.Errorf("the error of another answer is %v", err)
	}
	if _, err := s.AnswerInteraction(ctx, alice, turn.ID, refuse("may_b", "no")); err != nil {
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
	for policy, want := range map[service.TimeoutPolicy]store.Status{service.TimeoutCancels: store.Succeeded, service.TimeoutFails: store.Failed} {
		t.Run("the turn's "+string(policy), func(t *testing.T) {
			s := serve(t, turntest.Asking(t), func(v *service.Settings) {
				v.InteractionTimeout, v.Lease = time.Hour, 300*time.Millisecond
			})
			req := says(session(t, s, "clerk"), "x")
			req.InteractionTimeout, req.OnTimeout = 30*time.Millisecond, policy
			if got := ended(t, s, create(t, s, req).ID); got.Status != want {
				t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
			}
		})
		t.Run(string(policy), func(t *testing.T) {
			s := serve(t, turntest.Asking(t), func(v *service.Settings) {
				v.InteractionTimeout, v.OnTimeout, v.Lease = 30*time.Millisecond, policy, 300*time.Millisecond
			})
			got := ended(t, s, create(t, s, says(session(t, s, "clerk"), "x")).ID)
			if got.Status != want {
				t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
			}
			if want == store.Failed && got.Outcome.Termination.Code != service.CodeInteractionTimeout {
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
	slow := turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return tools.TextResult("slow"), ctx.Err()
	})
	both := turntest.Calls("a", "risky", "{}")
	both.Calls = append(both.Calls, turntest.Calls("b", "slow", "{}").Calls...)
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {both, {Text: "all done"}}})
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}).
		WithTool("risky", turntest.Risky).WithTool("slow", slow).WithPlugin("cautious", turntest.Cautious)))
	turn := create(t, s, says(session(t, s, "clerk"), "x"))
	for r, err := range s.Events(t.Context(), alice, turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type != event.TypeInteractionRequest {
			continue
		}
		if _, err := s.AnswerInteraction(t.Context(), alice, turn.ID, turntest.Yes("a")); err != nil {
			t.Fatalf("the other call is under way, and the answer gives %v", err)
		}
		close(release)
	}
	if got := ended(t, s, turn.ID); got.Outcome.Response != "all done" {
		t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
	}
}
