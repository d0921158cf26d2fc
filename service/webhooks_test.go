package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
)

func TestAReceiverIsToldInOrderAndThenNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.hook(s, "t", "h")
		synctest.Wait()
		w.happen("t", started)
		pass(3 * time.Second)
		w.happen("t", text, text, step, text)
		pass(3 * time.Second)
		if got := w.kept("t", "h"); got.Cursor != 4 || got.State != store.WebhookActive {
			t.Errorf("the webhook is %s, up to event %d", got.State, got.Cursor)
		}
		pass(time.Hour) // nothing happens, and nobody follows
		if got := w.kept("t", "h"); got.Worker != "" || got.Cursor != 5 {
			t.Errorf("the webhook is %q's, up to event %d, want nobody's and 5", got.Worker, got.Cursor)
		}
		w.happen("t", text, finished)
		pass(2 * time.Second)
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1, 4, 7}) {
			t.Errorf("the events that arrived are %v", got)
		}
		if got := w.kept("t", "h"); got.State != store.WebhookDone || got.Worker != "" || got.Cursor != 7 {
			t.Errorf("the webhook is %s, of %q, up to event %d", got.State, got.Worker, got.Cursor)
		}
	})
}

func TestANewWebhookIsClaimedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", started)
		pass(10 * time.Millisecond)
		w.hook(s, "t", "h")
		synctest.Wait()
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("the events that arrived at once are %v", got)
		}
	})
}

func TestAWebhookOfAnotherProcessIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.happen("t", started)
		_, err := w.store.SaveWebhook(t.Context(), &store.NewWebhook{
			Scope: store.Everything, FromStart: true, Webhook: store.Webhook{TurnID: "t", ID: "h", Surface: "test", CreatedAt: time.Now()},
		})
		w.must(err)
		pass(time.Second)
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("the events that arrived are %v", got)
		}
	})
}

func TestWhatIsDeletedIsToldNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		s := w.tell(r)
		defer s.Close()
		w.turn("acme", "t")
		w.hook(s, "t", "h")
		w.hook(s, "t", "kept")
		w.happen("t", started)
		pass(3 * time.Second)
		w.must(s.DeleteWebhook(t.Context(), service.Operator(), "t", "h"))
		pass(3 * time.Second)
		w.happen("t", step, finished)
		pass(time.Minute)
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("what arrived is %v", got)
		}
		if got := r.seqs("t/kept"); !slices.Equal(got, []uint64{1, 2, 3}) {
			t.Errorf("what arrived at the other is %v", got)
		}
	})
}

// TestADeletionIsAnsweredWhenNothingIsUnderWay deletes webhooks of which something is
// being told, here and by another process.
func TestADeletionIsAnsweredWhenNothingIsUnderWay(t *testing.T) {
	for name, elsewhere := range map[string]bool{"here": false, "by another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t)
				var sending atomic.Bool
				r := &receivers{answer: func(ctx context.Context, _ *webhook.Delivery) error {
					sending.Store(true)
					defer sending.Store(false)
					select {
					case <-ctx.Done():
						time.Sleep(time.Second) // what was sent is not taken back at once
						return ctx.Err()
					case <-time.After(10 * time.Second):
						return nil
					}
				}}
				s := w.tell(r)
				defer s.Close()
				from := s
				if elsewhere {
					from = w.tell(nil)
					defer from.Close()
				}
				w.turn("acme", "t")
				w.hook(s, "t", "h")
				w.happen("t", started, step)
				pass(3 * time.Second)
				if !sending.Load() {
					t.Fatal("nothing is being sent")
				}
				w.must(from.DeleteWebhook(t.Context(), service.Operator(), "t", "h"))
				if !elsewhere && sending.Load() {
					t.Error("the deletion is answered while something is being sent")
				}
				pass(time.Minute)
				if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
					t.Errorf("what was begun to be told is %v", got)
				}
			})
		})
	}
}

func TestAnEndThatNobodyShowsIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		hide := func(_ context.Context, ev *event.Event) (*event.Event, error) {
			if ev.Data.Type() == event.TypeRunFinish {
				return nil, nil //nolint:nilnil // it is left out
			}
			return ev, nil
		}
		s := w.tell(r, func(v *service.Settings) { v.EventTransform = hide })
		defer s.Close()
		w.turn("acme", "t")
		w.hook(s, "t", "h")
		w.happen("t", started, finished)
		pass(10 * time.Second)
		if got := w.kept("t", "h"); got.State != store.WebhookDone {
			t.Errorf("the webhook is %+v", got)
		}
		if got := r.seqs("t/h"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("what arrived is %v", got)
		}
	})
}

func TestAWebhookIsItsOwners(t *testing.T) {
	w := newTown(t)
	w.turn("acme", "t")
	s := service.New(service.Settings{Store: w.store})
	defer s.Close()
	ann, eve := service.Caller{Tenant: "acme", Subject: "ann"}, service.Caller{Tenant: "acme", Subject: "eve"}
	save := func(caller service.Caller, req service.SaveWebhook) error {
		_, err := s.SaveWebhook(t.Context(), caller, req)
		return err
	}
	good := service.SaveWebhook{TurnID: "t", ID: "h", Surface: "test"}
	w.must(save(ann, good))
	for name, err := range map[string]error{
		"save": save(eve, good), "delete": s.DeleteWebhook(t.Context(), eve, "t", "h"),
		"get": func() error { _, err := s.GetWebhook(t.Context(), eve, "t", "h"); return err }(),
	} {
		if missing := new(service.NotFoundError); !errors.As(err, &missing) {
			t.Errorf("the error of %s by somebody else is %v", name, err)
		}
	}
	if page, err := s.ListWebhooks(t.Context(), eve, store.WebhookQuery{}); err != nil || len(page.Webhooks) != 0 {
		t.Errorf("somebody else sees %v, %v", page.Webhooks, err)
	}
	if _, err := s.GetWebhook(t.Context(), ann, "t", "h"); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*service.SaveWebhook){
		"id":      func(r *service.SaveWebhook) { r.ID = "" },
		"surface": func(r *service.SaveWebhook) { r.Surface = "" },
		"data":    func(r *service.SaveWebhook) { r.Data = make([]byte, service.MaxWebhookData+1) },
	} {
		bad := good
		change(&bad)
		if invalid := new(service.InvalidError); !errors.As(save(ann, bad), &invalid) || invalid.Field != field {
			t.Errorf("the error of a wrong %s is %v", field, save(ann, bad))
		}
	}
	for _, id := range []string{"a\nb", "a\x00", "\xff", strings.Repeat("x", service.MaxWebhookID+1)} {
		bad := good
		bad.ID = id
		if invalid := new(service.InvalidError); !errors.As(save(ann, bad), &invalid) {
			t.Errorf("the error of the id %q is %v", id, save(ann, bad))
		}
	}
	for i := 1; ; i++ {
		next := good
		next.ID = fmt.Sprint("h", i)
		err := save(ann, next)
		if limit := new(store.LimitError); errors.As(err, &limit) {
			if i != service.MaxWebhooks {
				t.Errorf("the limit is reached with %d", i)
			}
			break
		}
		w.must(err)
	}
}
