package model_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// switchable is a member that can be made to fail.
type switchable struct {
	model.Member
	exec *attempts
}

func newSwitchable(name string) *switchable {
	exec := &attempts{outcomes: []outcome{{text: name}}}
	return &switchable{model.Member{ID: name, Upstream: "up-" + name, Weight: 1, Executor: exec}, exec}
}

func (s *switchable) fails(class model.ErrorClass) { s.exec.outcomes = []outcome{refuses(class)} }
func (s *switchable) works()                       { s.exec.outcomes = []outcome{{text: s.ID}} }

// served makes a request and returns the answering member or the error's class.
func served(t *testing.T, e model.Executor, req *model.Request) string {
	t.Helper()
	text, err := ask(t.Context(), e, req)
	if err != nil {
		return string(model.AsError(err).Class)
	}
	return text
}

// A session stays where it moved, even when its old home works again.
func TestASessionStaysWhereItMovedTo(t *testing.T) {
	for _, home := range []model.Home{model.HomeDeterministic, model.HomeRoundRobin, model.HomeFirstHealthy} {
		a, b, x := newSwitchable("a"), newSwitchable("b"), newSwitchable("x")
		b.FailoverOnly, x.FailoverOnly = true, true
		policy := moves
		policy.Home = home
		pool := model.NewPool("pool", []model.Member{a.Member, b.Member, x.Member}, policy)
		got := []string{served(t, pool, in("s"))}
		a.fails(model.RateLimited)
		got = append(got, served(t, pool, in("s")))
		a.works()
		got = append(got, served(t, pool, in("s")), served(t, pool, in("other")))
		b.fails(model.Unauthorized)
		got = append(got, served(t, pool, in("s")))
		if diff := cmp.Diff([]string{"a", "b", "b", "a", "a"}, got); diff != "" {
			t.Errorf("%s: %s", home, diff)
		}
	}
}

func TestASessionMayMoveOnlySoOften(t *testing.T) {
	a, b := newSwitchable("a"), newSwitchable("b")
	policy := moves
	policy.MaxMoves = new(1)
	pool := model.NewPool("pool", []model.Member{a.Member, b.Member}, policy)
	a.fails(model.Overloaded)
	got := []string{served(t, pool, in("s")), served(t, pool, in("s"))}
	a.works()
	b.fails(model.RateLimited)
	got = append(got, served(t, pool, in("s")))
	b.fails(model.ModelNotFound)
	got = append(got, served(t, pool, in("s")))
	b.works() // but not called again
	got = append(got, served(t, pool, in("s")), served(t, pool, in("other")))
	if diff := cmp.Diff([]string{"b", "b", "rate_limited", "model_not_found", "model_not_found", "a"}, got); diff != "" {
		t.Error(diff)
	}
	policy.MaxMoves = new(0)
	a.fails(model.RateLimited)
	if got := served(t, model.NewPool("pool", []model.Member{a.Member, b.Member}, policy), in("s")); got != "rate_limited" {
		t.Errorf("a session that may not move got %s", got)
	}
}

// Rejections by members on the way are not moves: the session moves to the member that answers.
func TestOnlyTheMemberThatAnswersIsMovedTo(t *testing.T) {
	a, b, c := newSwitchable("a"), newSwitchable("b"), newSwitchable("c")
	policy := moves
	policy.MaxMoves = new(1)
	pool := model.NewPool("pool", []model.Member{a.Member, b.Member, c.Member}, policy)
	a.fails(model.RateLimited)
	b.fails(model.RateLimited)
	c.fails(model.RateLimited)
	got := []string{served(t, pool, in("s"))}
	a.works()
	got = append(got, served(t, pool, in("s")))
	a.fails(model.RateLimited)
	c.works()
	got = append(got, served(t, pool, in("s")), served(t, pool, in("s")))
	if diff := cmp.Diff([]string{"all_models_unavailable", "a", "c", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAHomeMayBeThatOfATurn(t *testing.T) {
	turn := func(id string) *model.Request { return &model.Request{SessionID: "s", TurnID: id} }
	policy := model.PoolPolicy{Home: model.HomeRoundRobin, PerTurn: true}
	pool := model.NewPool("pool", []model.Member{member("a", 1), member("b", 1)}, policy)
	var got []string
	for _, id := range []string{"1", "1", "2", "3", "2", "1"} {
		got = append(got, served(t, pool, turn(id)))
	}
	if diff := cmp.Diff([]string{"a", "a", "b", "a", "b", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPoolSaysWhoServes(t *testing.T) {
	pool := model.NewPool("pool", []model.Member{member("a", 1, refuses(model.RateLimited)), member("b", 1)}, moves)
	a, events, err := collect(t, t.Context(), pool, in("s"))
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Event{
		{Type: model.EventServed, ID: "a", Name: "up-a"}, {Type: model.EventServed, ID: "b", Name: "up-b"}, says("b"), finish,
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if a.Served != (model.Served{ID: "b", Upstream: "up-b"}) {
		t.Errorf("the answer was served by %+v", a.Served)
	}
}

// A quota error moves the call immediately; there is no wait while another member is free.
func TestRetriesAroundAPoolMoveFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := member("a", 1, outcome{err: &model.Error{Class: model.RateLimited, RetryAfter: time.Minute}})
		pool := model.NewPool("pool", []model.Member{busy, member("b", 1)}, moves)
		begun := time.Now()
		if got := served(t, patient(pool, 2), in("s")); got != "b" || time.Since(begun) != 0 || asked(busy) != 1 {
			t.Errorf("after %s and %d attempts %s answered", time.Since(begun), asked(busy), got)
		}
		// A single member is waited for.
		alone := model.NewPool("pool", []model.Member{busy}, moves)
		if got := served(t, patient(alone, 2), in("s")); got != "rate_limited" || time.Since(begun) != 2*time.Minute {
			t.Errorf("after %s the answer is %s", time.Since(begun), got)
		}
	})
}

// An interrupted answer continues at the session's home, or where the session moves to.
func TestRecoveryInAPool(t *testing.T) {
	first := &played{plays: []play{{events: []model.Event{says("one ")}, err: broke}, {err: &model.Error{Class: model.Overloaded}}}}
	pool := model.NewPool("pool", []model.Member{{ID: "a", Weight: 1, Executor: first}, member("b", 1)}, moves)
	a, _, err := collect(t, t.Context(), patient(pool, 2), in("s"))
	if err != nil || a.Text() != "one b" || a.Served.ID != "b" || len(first.asked) != 2 {
		t.Errorf("the answer is %q by %s, %v", a.Text(), a.Served.ID, err)
	}
}

func TestOpenBreakersInAPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, avoid := range []bool{true, false} {
			a, b := newSwitchable("a"), newSwitchable("b")
			a.Breaker, b.Breaker = model.NewBreaker("a"), model.NewBreaker("b")
			policy := moves
			policy.OnCircuitOpen = avoid
			pool := model.NewPool("pool", []model.Member{a.Member, b.Member}, policy)
			a.fails(model.Provider)
			var got []string
			for i := range 5 {
				got = append(got, served(t, pool, in(fmt.Sprint(i))))
			}
			got = append(got, served(t, patient(pool, 3), in("0")), served(t, pool, in("new")))
			want := []string{"provider", "provider", "provider", "provider", "provider"}
			if avoid {
				want = append(want, "b", "b")
			} else {
				want = append(want, "provider", "provider")
			}
			if diff := cmp.Diff(want, got); diff != "" || a.exec.asked == nil || len(a.exec.asked) != 5 {
				t.Errorf("avoiding %v: asked %d times: %s", avoid, len(a.exec.asked), diff)
			}
			if !avoid {
				continue
			}
			b.fails(model.Provider)
			for range 5 {
				_ = served(t, pool, in("new"))
			}
			_, err := ask(t.Context(), pool, in("new"))
			e := model.AsError(err)
			if e.Class != model.AllModelsUnavailable || !errors.Is(err, model.ErrCircuitOpen) || e.RetryAfter != 30*time.Second {
				t.Errorf("with all breakers open the error is %v", err)
			}
			time.Sleep(30 * time.Second)
			a.works()
			if got := []string{served(t, pool, in("1")), served(t, pool, in("1"))}; got[0] != "a" || got[1] != "a" {
				t.Errorf("the probe was served by %v", got)
			}
		}
	})
}

// While one call probes a member, the other calls use other members.
func TestOneCallProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSwitchable("a"), newSwitchable("b")
		a.Breaker = model.NewBreaker("a")
		policy := moves
		policy.OnCircuitOpen = true
		nested := ""
		var pool *model.Pool
		first := a.Member
		first.Executor = spy{a.exec, func() {
			if len(a.exec.asked) == 5 {
				nested = served(t, pool, in("other"))
			}
		}}
		pool = model.NewPool("pool", []model.Member{first, b.Member}, policy)
		a.fails(model.Timeout)
		for range 5 {
			_ = served(t, pool, in("s"))
		}
		time.Sleep(30 * time.Second)
		a.works()
		if got := served(t, pool, in("s")); got != "a" || nested != "b" {
			t.Errorf("the probe was served by %s, the other call by %s", got, nested)
		}
	})
}

// Many concurrent sessions, through failures of all kinds: the pool's state stays consistent, and
// each session is served.
func TestManyCallsOfAPoolAtOnce(t *testing.T) {
	for _, home := range []model.Home{model.HomeDeterministic, model.HomeRoundRobin, model.HomeFirstHealthy} {
		flaky := func(name string) model.Member {
			m := member(name, 1, outcome{text: name}, refuses(model.RateLimited), refuses(model.Provider), outcome{text: name})
			m.Breaker, m.Executor = model.NewBreaker(name), watched(m.Executor, time.Minute)
			return m
		}
		policy := moves
		policy.Home, policy.OnCircuitOpen, policy.MaxMoves = home, true, new(3)
		pool := model.NewPool("pool", []model.Member{flaky("a"), flaky("b"), lastResort(flaky("x"))}, policy)
		exec := &model.Retrying{Executor: pool, Policy: model.RetryPolicy{MaxRetries: 3, MaxStreamRetries: 3}}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 40 {
					if _, err := ask(t.Context(), exec, in(fmt.Sprint(g*i%50))); err != nil {
						t.Errorf("%s: %v", home, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
