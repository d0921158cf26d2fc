package credential

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mint counts tokens; each is valid for an hour and takes a second.
type mint struct {
	made atomic.Int32
	fail atomic.Bool
}

var errMint = errors.New("the mint is closed")

func (m *mint) fetch(ctx context.Context) (int32, time.Time, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, time.Time{}, ctx.Err()
	}
	n := m.made.Add(1)
	if m.fail.Load() {
		return 0, time.Time{}, errMint
	}
	return n, time.Now().Add(time.Hour), nil
}

func checkValue(t *testing.T, c *Cached[int32], want int32) {
	t.Helper()
	if got, err := c.Get(t.Context()); got != want || err != nil {
		t.Errorf("Get returns %d, %v, want %d", got, err, want)
	}
}

func TestOneRenewalServesAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		c := NewCached(m.fetch)
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() { checkValue(t, c, 1) })
		}
		group.Wait()
		if m.made.Load() != 1 {
			t.Errorf("%d tokens were fetched", m.made.Load())
		}
	})
}

func TestACallerThatLeavesDoesNotEndTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		c := NewCached(m.fetch)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left gets %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() { checkValue(t, c, 1) })
		synctest.Wait()
		cancel()
		group.Wait()
		if m.made.Load() != 1 {
			t.Errorf("%d tokens were fetched", m.made.Load())
		}
	})
}

func TestAValueIsRenewedBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		c := NewCached(m.fetch)
		checkValue(t, c, 1)
		time.Sleep(time.Hour - renewBefore - time.Second)
		checkValue(t, c, 1)
		time.Sleep(2 * time.Second)
		start := time.Now()
		checkValue(t, c, 1) // starts the renewal without waiting for it
		if time.Since(start) != 0 {
			t.Error("a valid value is waited for")
		}
		time.Sleep(2 * time.Second)
		checkValue(t, c, 2)
	})
}

func TestAFailedRenewalKeepsAValidValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		c := NewCached(m.fetch)
		checkValue(t, c, 1)
		m.fail.Store(true)
		time.Sleep(time.Hour - renewBefore)
		for range 280 {
			time.Sleep(time.Second)
			checkValue(t, c, 1)
		}
		if tried := m.made.Load() - 1; tried < 20 || tried > 30 {
			t.Errorf("a failing renewal is tried %d times in five minutes", tried)
		}
		time.Sleep(renewBefore)
		if _, err := c.Get(t.Context()); !errors.Is(err, errMint) {
			t.Errorf("an expired value gives %v", err)
		}
		m.fail.Store(false)
		checkValue(t, c, m.made.Load()+1)
	})
}

func TestARejectedValueIsFetchedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		c := NewCached(m.fetch)
		checkValue(t, c, 1)
		c.Drop()
		checkValue(t, c, 1) // it is too young
		time.Sleep(dropAfter)
		c.Drop()
		checkValue(t, c, 2)
	})
}

// TestARenewalEnds lets a fetch hang: its context ends, and so do all waits.
func TestARenewalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCached(func(ctx context.Context) (int32, time.Time, error) {
			<-ctx.Done()
			return 0, time.Time{}, ctx.Err()
		})
		start := time.Now()
		if _, err := c.Get(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != fetchTimeout {
			t.Errorf("a fetch that hangs gives %v after %s", err, time.Since(start))
		}
	})
}
