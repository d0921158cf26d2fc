package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// answers is an executor whose calls end as instructed: with an error, or with an answer for nil.
type answers struct {
	next  error
	asked int
}

func (a *answers) Stream(context.Context, *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		a.asked++
		if a.next != nil {
			yield(Event{}, a.next)
			return
		}
		if yield(Event{Type: EventText, Delta: "x"}, nil) {
			yield(Event{Type: EventFinish, Reason: FinishStop}, nil)
		}
	}
}

// call runs a call to its end.
func callOf(e Executor) (failed error) {
	for _, err := range e.Stream(context.Background(), &Request{}) {
		failed = err
	}
	return failed
}

func TestABreakerOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{next: &Error{Class: Overloaded}}
		exec := &Watched{Executor: a, Breaker: NewBreaker("m")}
		refused := func(text string) {
			t.Helper()
			asked := a.asked
			err := callOf(exec)
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, ErrCircuitOpen) || e.Class != Provider || !strings.Contains(e.Message, text) || e.RetryAfter <= 0 || a.asked != asked {
				t.Errorf("the call ended with %v", err)
			}
		}
		passes := func(want error) {
			t.Helper()
			asked := a.asked
			if err := callOf(exec); !errors.Is(err, want) || a.asked != asked+1 {
				t.Errorf("the call ended with %v", err)
			}
		}
		for range 5 {
			passes(a.next)
		}
		refused("model m failed too often; it is tried again in 30s")
		time.Sleep(29500 * time.Millisecond)
		refused("in 1s")
		time.Sleep(500 * time.Millisecond)
		passes(a.next) // the probe fails
		refused("in 30s")
		time.Sleep(30 * time.Second)
		a.next = nil
		passes(nil) // the probe succeeds
		a.next = &Error{Class: Timeout}
		for range 4 {
			passes(a.next)
		}
		a.next = nil
		passes(nil) // four failures in a row do not suffice
		a.next = &Error{Class: Timeout}
		for range 5 {
			passes(a.next)
		}
		refused("in 30s")
	})
}

func TestWhatCountsForABreaker(t *testing.T) {
	counts := []ErrorClass{Provider, RateLimited, Overloaded, Timeout, StreamInterrupted}
	all := append(slices.Clone(counts), ContextOverflow, InvalidRequest, Unauthorized, ModelNotFound, ContentFiltered, AllModelsUnavailable, Truncated, InvalidOutput, Canceled)
	for _, class := range all {
		b := NewBreaker("m")
		exec := &Watched{Executor: &answers{next: &Error{Class: class}}, Breaker: b}
		for range 5 {
			_ = callOf(exec)
		}
		if open := b.refusal() != nil; open != slices.Contains(counts, class) {
			t.Errorf("%s: the breaker is open: %v", class, open)
		}
	}
}

func TestACallCountsOnceHoweverOftenItIsRepeated(t *testing.T) {
	b, a := NewBreaker("m"), &answers{next: &Error{Class: Provider}}
	exec := &Retrying{Executor: a, Policy: RetryPolicy{MaxRetries: 3}, Breaker: b}
	for i := range 5 {
		if b.refusal() != nil {
			t.Fatalf("the breaker is open after %d calls", i)
		}
		_ = callOf(exec)
	}
	if b.refusal() == nil || a.asked != 20 {
		t.Errorf("the breaker is closed after %d attempts", a.asked)
	}
	if err := callOf(exec); !errors.Is(err, ErrCircuitOpen) || a.asked != 20 {
		t.Errorf("an open breaker gave %v after %d attempts", err, a.asked)
	}
}

// A consumer that stops, a context that ends and a panic release the probe's slot; events up to
// then count.
func TestAProbeThatIsGivenUpFreesItsPlace(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		probe func(b *Breaker)
		// closes is set if the breaker is closed afterwards, and fails if it is open for another 30
		// s.
		closes, fails bool
	}{
		"nothing was seen": {probe: func(b *Breaker) {
			a, _ := b.beginAttempt()
			a.countOutcome()
		}},
		"an event was seen": {closes: true, probe: func(b *Breaker) {
			for range (&Watched{Executor: &answers{}, Breaker: b}).Stream(context.Background(), &Request{}) {
				break
			}
		}},
		"only the choice of a pool was seen": {probe: func(b *Breaker) {
			pool := NewPool("pool", []Member{{ID: "m", Weight: 1, Executor: &answers{}, Breaker: b}}, PoolPolicy{})
			for range pool.Stream(context.Background(), &Request{}) {
				break
			}
		}},
		"a failure was seen before the consumer left": {fails: true, probe: func(b *Breaker) {
			exec := &Retrying{Executor: &answers{next: &Error{Class: Provider}}, Policy: RetryPolicy{MaxRetries: 1}, Breaker: b}
			for range exec.Stream(context.Background(), &Request{}) {
				break
			}
		}},
		"the consumer left while the answer was taken up again": {fails: true, probe: func(b *Breaker) {
			exec := &Retrying{Executor: halfCall{}, Policy: RetryPolicy{MaxRetries: 1, MaxStreamRetries: 1}, Breaker: b}
			for ev := range exec.Stream(context.Background(), &Request{}) {
				if ev.Type == EventToolCallCancel {
					break
				}
			}
		}},
		"the call was canceled": {probe: func(b *Breaker) {
			exec := &Watched{Executor: &answers{next: &Error{Class: Provider}}, Breaker: b}
			for range exec.Stream(ended, &Request{}) {
			}
		}},
		"the request was wrong": {probe: func(b *Breaker) {
			_ = callOf(&Watched{Executor: &answers{next: &Error{Class: InvalidRequest}}, Breaker: b})
		}},
		"the executor panicked": {probe: func(b *Breaker) {
			defer func() { _ = recover() }()
			_ = callOf(&Watched{Executor: panics{}, Breaker: b})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBreaker("m")
				for range breakerThreshold {
					a, _ := b.beginAttempt()
					a.noteEvent(context.Background(), 0, &Error{Class: Provider})
					a.countOutcome()
				}
				time.Sleep(breakerCooldown)
				tt.probe(b)
				if closed := b.until.IsZero(); closed != tt.closes || (b.refusal() != nil) != tt.fails {
					t.Errorf("the breaker is closed: %v, refuses: %v", closed, b.refusal())
				}
			})
		})
	}
}

// halfCall is an executor whose answers end in the middle of a call.
type halfCall struct{}

func (halfCall) Stream(context.Context, *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_ = yield(Event{Type: EventText, Delta: "x"}, nil) && yield(Event{Type: EventToolCallStart}, nil) && yield(Event{}, &Error{Class: Provider})
	}
}

type panics struct{}

func (panics) Stream(context.Context, *Request) iter.Seq2[Event, error] { panic("executor") }

// step is one event of a breaker: time passes, a call begins, or a running call ends.
type step struct {
	wait    time.Duration
	begins  bool
	call    int
	outcome outcome
}

func drawStep(t *rapid.T) step {
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		return step{wait: rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 31 * time.Second}).Draw(t, "wait")}
	case 1, 2:
		return step{begins: true}
	default:
		return step{
			call:    rapid.IntRange(0, 9).Draw(t, "call"),
			outcome: rapid.SampledFrom([]outcome{failed, failed, failed, failed, failed, failed, failed, saidNothing, succeeded}).Draw(t, "outcome"),
		}
	}
}

// Whatever calls overlap and however they end: an open breaker rejects all calls until its timeout,
// then lets one through at a time, and opens only after five consecutive failures of calls that
// began since its last change.
func TestABreakerKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 30, 120).Draw(r, "steps")
		broken := ""
		synctest.Test(t, func(*testing.T) { broken = promiseBroken(steps) })
		if broken != "" {
			r.Fatal(broken)
		}
	})
}

// promiseBroken runs the steps and describes a breaker's mistake, or returns "".
func promiseBroken(steps []step) string {
	type running struct {
		attempt
		era   int
		first bool
	}
	b := NewBreaker("m")
	var under []running
	failures, era := 0, 0
	var until time.Time // time of the next probe; zero while closed
	probing := func() bool {
		return slices.ContainsFunc(under, func(r running) bool { return r.first && r.era == era })
	}
	for _, s := range steps {
		switch {
		case s.wait > 0:
			time.Sleep(s.wait)
		case s.begins:
			a, err := b.beginAttempt()
			if may := until.IsZero() || !time.Now().Before(until) && !probing(); (err == nil) != may {
				return fmt.Sprintf("a call may begin: %v, but got %v", may, err)
			}
			if err == nil {
				under = append(under, running{a, era, !until.IsZero()})
			}
		case len(under) > 0:
			i := s.call % len(under)
			r := under[i]
			under = slices.Delete(under, i, i+1)
			r.outcome = s.outcome
			r.countOutcome()
			r.countOutcome() // a call counts once
			switch {
			case r.era != era || s.outcome == saidNothing:
			case s.outcome == succeeded:
				failures = 0
				if r.first {
					until, era = time.Time{}, era+1
				}
			default:
				if failures++; r.first || failures == breakerThreshold {
					failures, until, era = 0, time.Now().Add(breakerCooldown), era+1
				}
			}
		}
	}
	return ""
}
