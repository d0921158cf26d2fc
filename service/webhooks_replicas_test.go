package service_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
)

// forgetful is a store that forgets what was told once.
type forgetful struct {
	store.Store
	mu    sync.Mutex
	fails int
}

func (f *forgetful) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	f.mu.Lock()
	f.fails--
	fails := f.fails >= 0
	f.mu.Unlock()
	if fails {
		return errDead
	}
	return f.Store.AdvanceWebhook(ctx, a)
}

func TestWhatWasToldAndNotNotedIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		w.turn("acme", "t")
		w.happen("t", started)
		// The process dies after the notification: neither its progress nor its
		// release reaches the store.
		dying := w.tell(r, on(&forgetful{Store: w.store, fails: 1000}))
		w.hook(dying, "t", "h")
		synctest.Wait()
		dying.Close()
		next := w.tell(r)
		defer next.Close()
		pass(10 * time.Second)
		all := r.all()
		if len(all) != 2 || all[0].seq != 1 || all[1].seq != 1 || all[0].id != all[1].id {
			t.Fatalf("the notifications are %v, want the same twice", all)
		}
		if late := all[1].at.Sub(all[0].at); late > service.DefaultLease+2*time.Second {
			t.Errorf("the second took %v", late)
		}
	})
}

func TestTwoProcessesNeverTellAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		slow := func(ctx context.Context, _ *webhook.Delivery) error {
			select {
			case <-time.After(700 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r := &receivers{answer: slow}
		one, two := w.tell(r), w.tell(r)
		defer two.Close()
		for i := range 5 {
			id := fmt.Sprint("t", i)
			w.turn("acme", id)
			w.happen(id, started)
			w.hook(one, id, "h")
			w.hook(two, id, "h2")
		}
		for n := range 12 {
			pass(time.Second)
			for i := range 5 {
				w.happen(fmt.Sprint("t", i), step)
			}
			switch n {
			case 3: // one hands over, and another comes
				w.must(one.Drain(t.Context()))
				one.Close()
			case 6:
				one = w.tell(r)
				defer one.Close()
			}
		}
		for i := range 5 {
			w.happen(fmt.Sprint("t", i), finished)
		}
		pass(30 * time.Second)
		for i := range 5 {
			for _, hook := range []string{"h", "h2"} {
				seqs := r.seqs(fmt.Sprint("t", i, "/", hook))
				want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
				if !slices.Equal(seqs, want) {
					t.Errorf("what arrived at %d/%s is %v", i, hook, seqs)
				}
			}
		}
	})
}

func TestAProcessThatFreezesLosesItsWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		w.turn("acme", "t")
		w.happen("t", started)
		// It does not reach the store any more, and sends without end.
		cut := &cutOff{Store: w.store}
		stuck := &receivers{answer: func(ctx context.Context, _ *webhook.Delivery) error {
			cut.off.Lock()
			cut.isOff = true
			cut.off.Unlock()
			<-ctx.Done()
			return ctx.Err()
		}}
		frozen := w.tell(stuck, on(cut))
		w.hook(frozen, "t", "h")
		synctest.Wait()
		began := time.Now()
		next := w.tell(r)
		defer next.Close()
		defer frozen.Close()
		pass(20 * time.Second)
		if all := r.all(); len(all) != 1 || all[0].at.Sub(began) < service.DefaultLease-time.Second {
			t.Errorf("the other process sent %v", all)
		}
		stuck.mu.Lock()
		defer stuck.mu.Unlock()
		if stuck.busy["t/h"] != 0 {
			t.Error("the process that was cut off is sending still")
		}
	})
}

// cutOff is a store that a process does not reach any more.
type cutOff struct {
	store.Store
	off   sync.Mutex
	isOff bool
}

func (c *cutOff) gone() error {
	c.off.Lock()
	defer c.off.Unlock()
	if c.isOff {
		return errDead
	}
	return nil
}

func (c *cutOff) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) ([]store.HeldWebhook, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.HeartbeatWebhooks(ctx, worker, lease, held)
}

func (c *cutOff) ClaimWebhooks(ctx context.Context, q *store.ClaimWebhooks) ([]*store.Webhook, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.ClaimWebhooks(ctx, q)
}

func TestADrainLetsWhatIsBeingSentArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		r := &receivers{answer: func(ctx context.Context, _ *webhook.Delivery) error {
			select {
			case <-time.After(3 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", started, step)
		w.hook(s, "t", "h")
		synctest.Wait()
		began := time.Now()
		w.must(s.Drain(t.Context()))
		if took := time.Since(began); took != 3*time.Second && took != 6*time.Second {
			t.Errorf("the drain took %v", took)
		}
		got := w.kept("t", "h")
		if got.Worker != "" || got.Cursor == 0 || got.Attempts != 0 {
			t.Errorf("the webhook is %+v", got)
		}
		told := len(r.all())
		pass(time.Minute)
		if now := len(r.all()); now != told {
			t.Errorf("%d notifications came after the drain", now-told)
		}
	})
}

func TestAPauseOfTheProcessIsNotTheReceiversFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		r := &receivers{answer: func(ctx context.Context, _ *webhook.Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s := w.tell(r)
		w.turn("acme", "t")
		w.happen("t", started)
		w.hook(s, "t", "h")
		synctest.Wait()
		s.Close()
		if got := w.kept("t", "h"); got.Attempts != 0 || got.Worker != "" || got.State != store.WebhookActive || got.Cursor != 0 {
			t.Errorf("the webhook is %+v", got)
		}
	})
}
