package river

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ring returns a ringer in a bubble, and what tells the times of its echoes.
func ring(t *testing.T) (r *ringer, echoes func() []time.Time) {
	t.Helper()
	var mu sync.Mutex
	var at []time.Time
	r = newRinger(func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
	})
	t.Cleanup(r.close)
	return r, func() []time.Time {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(at)
	}
}

func TestAnInsertThatComesAloneNotifiesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, echoes := ring(t)
		for range 10 {
			if !r.beforeInsert() {
				t.Error("an insert is not to notify")
			}
			time.Sleep(ringQuiet)
		}
		if n := len(echoes()); n != 0 {
			t.Errorf("%d echoes for nothing", n)
		}
	})
}

func TestAnInsertBehindAnotherHasEchoesUntilItIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, echoes := ring(t)
		r.beforeInsert()
		time.Sleep(time.Millisecond)
		if r.beforeInsert() {
			t.Error("it is to notify itself")
		}
		begin := time.Now()
		time.Sleep(time.Hour)
		heard := echoes()
		for commit := range 100 {
			committed := begin.Add(time.Duration(commit) * time.Millisecond)
			if !within(heard, committed, ringLast) {
				t.Errorf("no echo for a commit after %d ms", commit)
			}
		}
		if !within(heard, begin, ringFirst) {
			t.Error("no echo at once")
		}
		if n := len(heard); n > 6 {
			t.Errorf("%d echoes for one insert", n)
		}
	})
}

func TestEveryInsertHasItsEchoSoonAndABusyReplicaNotMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, echoes := ring(t)
		begin := time.Now()
		var inserts []time.Time
		for i := range 5000 {
			if !r.beforeInsert() {
				inserts = append(inserts, time.Now())
			}
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
		}
		took := time.Since(begin)
		if n, most := len(echoes()), int(took/ringFirst); n > most {
			t.Errorf("%d echoes in %v, want %d at most", n, took, most)
		}
		time.Sleep(time.Second)
		heard := echoes()
		for _, at := range inserts {
			if !within(heard, at, ringFirst) {
				t.Fatalf("no echo for the insert after %v", at.Sub(begin))
			}
		}
	})
}

func TestBehindTheEndAnInsertNotifiesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, echoes := ring(t)
		r.beforeInsert()
		r.beforeInsert()
		r.close()
		for range 2 {
			if !r.beforeInsert() {
				t.Error("an insert is not to notify")
			}
		}
		time.Sleep(time.Second)
		if n := len(echoes()); n != 0 {
			t.Errorf("%d echoes", n)
		}
	})
}

// within reports whether one of the times is in the span that begins at from.
func within(times []time.Time, from time.Time, span time.Duration) bool {
	for _, at := range times {
		if !at.Before(from) && !at.After(from.Add(span)) {
			return true
		}
	}
	return false
}
