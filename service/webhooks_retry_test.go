package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
)

// failing refuses the first n notifications with an error.
func failing(n int, err error) func(context.Context, *webhook.Delivery) error {
	var mu sync.Mutex
	return func(context.Context, *webhook.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

func TestWhatDidNotArriveIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), &receivers{answer: failing(4, errors.New("no route"))}
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", started, step, finished)
		w.hook(s, "t", "h")
		synctest.Wait()
		if got := w.kept("t", "h"); got.Attempts != 1 || got.LastError != "no route" || got.FailingSince.IsZero() || got.Worker != "" {
			t.Errorf("after a failure the webhook is %+v", got)
		}
		pass(time.Minute)
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1, 1, 1, 1, 1, 2, 3}) {
			t.Errorf("the events that arrived are %v", got)
		}
		all := r.all()
		for i := 1; i < 5; i++ {
			if all[i].id != all[0].id {
				t.Errorf("attempt %d has another id", i+1)
			}
			// The pauses double from a second, vary by half, and end with a look.
			least := time.Duration(1<<(i-1)) * time.Second / 2
			if pause := all[i].at.Sub(all[i-1].at); pause < least || pause > 3*least+time.Second {
				t.Errorf("the pause before attempt %d is %v", i+1, pause)
			}
		}
		if all[5].id == all[4].id {
			t.Error("two events have one id")
		}
		if got := w.kept("t", "h"); got.State != store.WebhookDone || got.Attempts != 0 || got.LastError != "" || !got.FailingSince.IsZero() {
			t.Errorf("in the end the webhook is %+v", got)
		}
	})
}

func TestAReceiverMayAskToBeLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		r := &receivers{answer: failing(1, &webhook.DeliveryError{Cause: errors.New("busy"), RetryAfter: 10 * time.Minute})}
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", finished)
		w.hook(s, "t", "h")
		pass(20 * time.Minute)
		if all := r.all(); len(all) != 2 || all[1].at.Sub(all[0].at) < 10*time.Minute || all[1].at.Sub(all[0].at) > 10*time.Minute+2*time.Second {
			t.Errorf("the notifications are %v", all)
		}
	})
}

func TestAReceiverIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		// least and most is how long that takes.
		least, most time.Duration
	}{
		{"when it is gone", &webhook.DeliveryError{Cause: errors.New("gone"), Final: true}, 0, 0},
		{"when nothing arrives for a day", errors.New("down"), 22 * time.Hour, 26 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := newTown(t), &receivers{answer: failing(1000, c.err)}
				s := w.tell(r, func(v *service.Settings) { v.Lease = time.Minute })
				defer s.Close()
				w.turn("acme", "t")
				w.happen("t", started, finished)
				began := time.Now()
				w.hook(s, "t", "h")
				pass(27 * time.Hour)
				got := w.kept("t", "h")
				if got.State != store.WebhookDead || got.LastError != c.err.Error() || got.Worker != "" {
					t.Fatalf("the webhook is %+v", got)
				}
				if took := got.UpdatedAt.Sub(began); took < c.least || took > c.most+2*time.Second {
					t.Errorf("it took %v", took)
				}
				dead, err := s.ListWebhooks(t.Context(), service.Operator(), store.WebhookQuery{State: store.WebhookDead})
				w.must(err)
				if len(dead.Webhooks) != 1 {
					t.Errorf("the operator sees %d dead webhooks", len(dead.Webhooks))
				}
				// To save it anew gives it another chance.
				r.mu.Lock()
				r.got, r.answer = nil, nil
				r.mu.Unlock()
				w.hook(s, "t", "h")
				pass(time.Second)
				if seqs := r.seqs("t/h"); !slices.Equal(seqs, []uint64{1, 2}) {
					t.Errorf("what arrived then is %v", seqs)
				}
			})
		})
	}
}

func TestAReceiverThatHangsDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		r := &receivers{answer: hanging}
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", started)
		w.hook(s, "t", "hangs")
		synctest.Wait()
		w.hook(s, "t", "h")
		synctest.Wait()
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("what arrived beside the one that hangs is %v", got)
		}
		began := time.Now()
		w.happen("t", step, finished) // nor the run
		if time.Since(began) != 0 {
			t.Errorf("the run was held up for %v", time.Since(began))
		}
		pass(2 * time.Second)
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1, 2, 3}) {
			t.Errorf("what arrived beside the one that hangs is %v", got)
		}
	})
}

// hanging blocks deliveries to receivers that are named so, until a sender has
// enough.
func hanging(ctx context.Context, d *webhook.Delivery) error {
	if !strings.HasPrefix(d.Hook.ID, "hangs") {
		return nil
	}
	select {
	case <-time.After(10 * time.Second):
		return errors.New("too slow")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestATenantDoesNotTakeAllTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), &receivers{answer: hanging}
		s := w.tell(r)
		defer s.Close()
		// One tenant has more receivers that hang than there is room for at all.
		for i := range 20 {
			turn := fmt.Sprint("stuck-", i)
			w.turn("bad", turn)
			w.happen(turn, started)
			for j := range 50 {
				_, err := w.store.SaveWebhook(t.Context(), &store.NewWebhook{Scope: store.Everything, FromStart: true, Webhook: store.Webhook{
					TurnID: turn, ID: fmt.Sprint("hangs-", j), Surface: "test", CreatedAt: time.Now(),
				}})
				w.must(err)
			}
		}
		pass(time.Second)
		w.turn("good", "t")
		w.happen("t", started)
		w.hook(s, "t", "h")
		synctest.Wait()
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("what arrived at another tenant at once is %v", got)
		}
		pass(5 * time.Minute)
		asked := make(map[string]bool)
		for _, n := range r.all() {
			asked[n.hook] = true
		}
		if len(asked) != 1001 {
			t.Errorf("%d of 1001 receivers were asked", len(asked))
		}
	})
}

func TestASenderThatPanicsIsOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		calls := 0
		r := &receivers{tells: func(*event.Record) bool {
			if calls++; calls == 1 {
				panic("oops")
			}
			return true
		}}
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", finished)
		w.hook(s, "t", "h")
		synctest.Wait()
		if got := w.kept("t", "h"); got.Attempts != 1 || !strings.Contains(got.LastError, "oops") {
			t.Errorf("the webhook is %+v", got)
		}
		pass(5 * time.Second)
		if got := w.kept("t", "h"); got.State != store.WebhookDone {
			t.Errorf("the webhook is %+v", got)
		}
	})
}
