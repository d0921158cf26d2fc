package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// member returns a member of a pool that answers with its name.
func member(name string, weight float64, outcomes ...outcome) model.Member {
	if outcomes == nil {
		outcomes = []outcome{{text: name}}
	}
	return model.Member{ID: name, Upstream: "up-" + name, Weight: weight, Executor: &attempts{outcomes: outcomes}}
}

// lastResort makes a member one for failover only.
func lastResort(m model.Member) model.Member {
	m.FailoverOnly = true
	return m
}

func asked(m model.Member) int { return len(m.Executor.(*attempts).asked) }

var moves = model.PoolPolicy{Home: model.HomeFirstHealthy, OnQuota: true, OnPermanent: true}

func TestADeterministicHomeIsStableAndFollowsTheWeights(t *testing.T) {
	build := func() *model.Pool {
		return model.NewPool("pool", []model.Member{member("a", 1), member("b", 2), lastResort(member("x", 50)), member("c", 5)}, model.PoolPolicy{Home: model.HomeDeterministic})
	}
	first, second := build(), build()
	const sessions = 8000
	got := make(map[string]int)
	for i := range sessions {
		session := fmt.Sprintf("session-%d", i)
		home, err := ask(t.Context(), first, in(session))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := ask(t.Context(), second, in(session)); again != home {
			t.Fatalf("session %d has the homes %s and %s", i, home, again)
		}
		got[home]++
	}
	for name, share := range map[string]float64{"a": 1. / 8, "b": 2. / 8, "c": 5. / 8, "x": 0} {
		if have := float64(got[name]) / sessions; math.Abs(have-share) > 0.03 {
			t.Errorf("%s is home to %.3f of the sessions, want %.3f", name, have, share)
		}
	}
}

func TestOnlyTheSessionsOfAMemberThatGoesAwayMove(t *testing.T) {
	all := []model.Member{member("a", 1), member("b", 1), member("c", 1)}
	whole := model.NewPool("pool", all, model.PoolPolicy{})
	part := model.NewPool("pool", all[:2], model.PoolPolicy{})
	for i := range 500 {
		session := fmt.Sprint(i)
		before, _ := ask(t.Context(), whole, in(session))
		after, _ := ask(t.Context(), part, in(session))
		if before != "c" && before != after {
			t.Fatalf("session %s moved from %s to %s", session, before, after)
		}
	}
}

func TestRoundRobinFollowsTheWeightsAndKeepsASessionAtHome(t *testing.T) {
	pool := model.NewPool("pool", []model.Member{member("a", 1), lastResort(member("x", 9)), member("b", 3)}, model.PoolPolicy{Home: model.HomeRoundRobin})
	homes := make(map[string]string)
	got := make(map[string]int)
	for i := range 40 {
		session := fmt.Sprint(i)
		homes[session], _ = ask(t.Context(), pool, in(session))
		got[homes[session]]++
	}
	if diff := cmp.Diff(map[string]int{"a": 10, "b": 30}, got); diff != "" {
		t.Error(diff)
	}
	for session, home := range homes {
		if again, _ := ask(t.Context(), pool, in(session)); again != home {
			t.Errorf("session %s moved from %s to %s", session, home, again)
		}
	}
}

func TestAPoolRemembersOnlySoManySessions(t *testing.T) {
	pool := model.NewPool("pool", []model.Member{member("a", 1), member("b", 1)}, model.PoolPolicy{Home: model.HomeRoundRobin})
	for i := range 3 * 4096 {
		if _, err := ask(t.Context(), pool, in(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheOrderOfFailover(t *testing.T) {
	full := []outcome{refuses(model.RateLimited)}
	list := []model.Member{
		member("a", 1, full...), lastResort(member("x", 1, full...)), member("b", 1, full...), lastResort(member("y", 1)), member("c", 1, refuses(model.Overloaded)),
	}
	var order []string
	for i := range list {
		exec, name := list[i].Executor, list[i].ID
		list[i].Executor = spy{exec, func() { order = append(order, name) }}
	}
	text, err := ask(t.Context(), model.NewPool("pool", list, moves), in("s"))
	if text != "y" || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "x", "y"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestAMemberIsAskedByItsOwnName(t *testing.T) {
	m := member("a", 1)
	if _, err := ask(t.Context(), model.NewPool("pool", []model.Member{m}, moves), in("")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"up-a"}, m.Executor.(*attempts).names); diff != "" {
		t.Error(diff)
	}
}

func TestWhenAPoolMovesOn(t *testing.T) {
	quota := func(threshold time.Duration) model.PoolPolicy {
		return model.PoolPolicy{Home: model.HomeFirstHealthy, OnQuota: true, QuotaThreshold: threshold}
	}
	wait := func(d time.Duration) outcome {
		return outcome{err: &model.Error{Class: model.RateLimited, RetryAfter: d}}
	}
	for _, tt := range []struct {
		name   string
		policy model.PoolPolicy
		first  outcome
		want   bool
	}{
		{"rate limited", moves, refuses(model.RateLimited), true},
		{"overloaded", moves, refuses(model.Overloaded), true},
		{"unauthorized", moves, refuses(model.Unauthorized), true},
		{"an empty answer", moves, refuses(model.EmptyAnswer), true},
		{"model not found", moves, refuses(model.ModelNotFound), true},
		{"provider", moves, refuses(model.Provider), false},
		{"timeout", moves, refuses(model.Timeout), false},
		{"interrupted", moves, refuses(model.StreamInterrupted), false},
		{"invalid", moves, refuses(model.InvalidRequest), false},
		{"overflow", moves, refuses(model.ContextOverflow), false},
		{"filtered", moves, refuses(model.ContentFiltered), false},
		{"cancelled", moves, refuses(model.Canceled), false},
		{"of no class", moves, outcome{err: errors.New("reset by peer")}, false},
		{"in the middle", moves, outcome{text: "half", err: &model.Error{Class: model.RateLimited}}, false},
		{"quota off", model.PoolPolicy{Home: model.HomeFirstHealthy, OnPermanent: true}, refuses(model.Overloaded), false},
		{"permanent off", model.PoolPolicy{Home: model.HomeFirstHealthy, OnQuota: true}, refuses(model.Unauthorized), false},
		{"a short wait", quota(time.Minute), wait(59 * time.Second), false},
		{"exactly the threshold", quota(time.Minute), wait(time.Minute), false},
		{"a long wait", quota(time.Minute), wait(61 * time.Second), true},
		{"a wait nobody knows", quota(time.Minute), wait(0), true},
	} {
		second := member("b", 1)
		pool := model.NewPool("pool", []model.Member{member("a", 1, tt.first), second}, tt.policy)
		text, err := ask(t.Context(), pool, in("s"))
		if moved := text == "b" && err == nil; moved != tt.want || asked(second) > 0 != tt.want {
			t.Errorf("%s: the answer is %q, %v", tt.name, text, err)
		}
	}
}

func TestAPoolDoesNotMoveOnWhenTheCallIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	second := member("b", 1)
	first := member("a", 1, refuses(model.RateLimited))
	first.Executor = spy{first.Executor, cancel}
	_, err := ask(ctx, model.NewPool("pool", []model.Member{first, second}, moves), in("s"))
	if err == nil || asked(second) != 0 {
		t.Errorf("the error is %v, and the second was asked %d times", err, asked(second))
	}
}

func TestAMemberThatFailedForGoodIsNotAskedAgain(t *testing.T) {
	for _, home := range []model.Home{model.HomeDeterministic, model.HomeRoundRobin, model.HomeFirstHealthy} {
		gone, busy := member("gone", 1, refuses(model.Unauthorized)), member("busy", 1, refuses(model.RateLimited))
		policy := moves
		policy.Home = home
		pool := model.NewPool("pool", []model.Member{gone, busy, lastResort(member("x", 1))}, policy)
		for i := range 50 {
			if text, err := ask(t.Context(), pool, in(fmt.Sprint(i))); text != "x" || err != nil {
				t.Fatalf("%s: the answer is %q, %v", home, text, err)
			}
		}
		if asked(gone) != 1 || asked(busy) != 50 {
			t.Errorf("%s: asked %d and %d times", home, asked(gone), asked(busy))
		}
	}
}

func TestAPoolWithoutAMemberLeft(t *testing.T) {
	pool := model.NewPool("pool", []model.Member{member("a", 1, refuses(model.Unauthorized)), lastResort(member("x", 1, refuses(model.ModelNotFound)))}, moves)
	_, err := ask(t.Context(), pool, in("s"))
	want := "all_models_unavailable: no member of pool pool can serve the request; last error: model_not_found"
	if e := model.AsError(err); e.Class != model.AllModelsUnavailable || e.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if last, ok := errors.AsType[*model.Error](errors.Unwrap(err)); !ok || last.Class != model.ModelNotFound {
		t.Errorf("the cause is %v", errors.Unwrap(err))
	}
	_, err = ask(t.Context(), pool, in("s"))
	if want := "all_models_unavailable: no member of pool pool can serve the request; last error: unauthorized"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAProviderThatCouldNotBeMade(t *testing.T) {
	cause := errors.New("no key")
	_, err := ask(t.Context(), model.Unavailable{Err: cause}, in(""))
	if e := model.AsError(err); e.Class != model.InvalidRequest || !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if _, err := ask(t.Context(), model.Unavailable{}, in("")); err == nil {
		t.Error("there is no error")
	}
}

// thinker is an executor that reasons and says nothing.
type thinker struct{}

func (thinker) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if yield(model.Event{Type: model.EventReasoning, Delta: "Hm."}, nil) {
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
		}
	}
}

func TestAPoolMovesOnAfterAnAnswerOfReasoningAlone(t *testing.T) {
	silent := func(name string) model.Member {
		return model.Member{ID: name, Upstream: name, Weight: 1, Executor: &model.Watched{Executor: thinker{}}}
	}
	pool := model.NewPool("pool", []model.Member{silent("a"), member("b", 1)}, moves)
	var answer model.Answer
	for ev, err := range pool.Stream(t.Context(), in("s")) {
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(model.Assistant("b"), answer.Message()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if _, err := ask(t.Context(), model.NewPool("pool", []model.Member{silent("a"), silent("b")}, moves), in("s")); model.AsError(err).Class != model.EmptyAnswer {
		t.Errorf("two silent members fail with %v", err)
	}
}
