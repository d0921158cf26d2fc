package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/dispatch/local"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// receivers stand in for the receivers of a surface, and its sender.
type receivers struct {
	mu sync.Mutex
	// got are the notifications that arrived, in order.
	got []notification
	// busy counts those that are being sent, by webhook.
	busy map[string]int
	// answer says what becomes of a notification; nil takes it in.
	answer func(ctx context.Context, d *runtime.Delivery) error
	// tells is what is told of; nil is everything but text.
	tells func(*event.Record) bool
}

// notification is one that arrived.
type notification struct {
	hook, id string
	seq      uint64
	at       time.Time
}

// Tells reports whether receivers are told of an event.
func (r *receivers) Tells(record *event.Record) bool {
	if r.tells != nil {
		return r.tells(record)
	}
	return record.Type != event.TypeTextDelta
}

var errTwice = errors.New("two send for one webhook")

// Send notes the notification, and what the receiver says.
func (r *receivers) Send(ctx context.Context, d *runtime.Delivery) error {
	name := d.Hook.TurnID + "/" + d.Hook.ID
	r.mu.Lock()
	if r.busy == nil {
		r.busy = make(map[string]int)
	}
	r.busy[name]++
	twice := r.busy[name] > 1
	r.got = append(r.got, notification{hook: name, id: d.ID, seq: d.Record.Seq, at: time.Now()})
	answer := r.answer
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy[name]--
	}()
	if twice {
		panic(errTwice)
	}
	if answer == nil {
		return nil
	}
	return answer(ctx, d)
}

// seqs returns which events arrived at a webhook, in order.
func (r *receivers) seqs(hook string) (list []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.got {
		if n.hook == hook {
			list = append(list, n.seq)
		}
	}
	return list
}

func (r *receivers) all() []notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// shared is a store that other processes use, too: what they run is not taken
// from them by who comes new.
type shared struct{ *memory.Store }

func (shared) Recover(context.Context, time.Time) (int, error) { return 0, nil }

// town is a store with turns that a test moves by hand, and services that tell
// of them. It is used within a bubble of synctest.
type town struct {
	*testing.T
	store shared
	turns map[string]*store.Claimed
}

func newTown(t *testing.T) *town {
	return &town{T: t, store: shared{memory.New(store.Settings{})}, turns: make(map[string]*store.Claimed)}
}

// tell returns a service that tells with a sender.
func (w *town) tell(sender runtime.WebhookSender, settings ...setting) *runtime.Service {
	w.Helper()
	v := runtime.ServiceSettings{
		Store: w.store, Dispatcher: local.New(local.Settings{Concurrency: 1}), Webhooks: map[string]runtime.WebhookSender{"test": sender},
	}
	for _, set := range settings {
		set(&v)
	}
	s := runtime.NewService(v)
	if err := s.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	return s
}

// turn makes a turn of a tenant that runs in a far away process.
func (w *town) turn(tenant, id string) {
	w.Helper()
	owner := store.Owner{Tenant: tenant, Subject: "ann"}
	now := time.Now()
	_, err := w.store.CreateSession(w.Context(), &store.NewSession{Session: store.Session{
		ID: "session-" + id, Owner: owner, AgentID: "a", State: store.SessionActive, CreatedAt: now,
	}})
	w.must(err)
	// Its job is for a dispatcher that has nobody to run it: it is not due.
	_, err = w.store.CreateTurn(w.Context(), &store.NewTurn{Turn: store.Turn{
		ID: id, SessionID: "session-" + id, Owner: owner, AgentID: "a", SnapshotID: "snap-" + id, CreatedAt: now, NotBefore: now.Add(1000 * time.Hour),
	}})
	w.must(err)
	w.turns[id], err = w.store.Claim(w.Context(), &store.Claim{TurnID: id, Worker: "far", Lease: 2000 * time.Hour, Now: now.Add(1000 * time.Hour)})
	w.must(err)
}

// happen adds events to a turn; the last may end it.
func (w *town) happen(id string, events ...event.Data) {
	w.Helper()
	c := w.turns[id]
	commit := &store.Commit{TurnID: id, Fence: c.Turn.Fence, Now: time.Now()}
	for _, data := range events {
		c.Turn.Seq++
		r, err := event.NewRecord(event.Event{Seq: c.Turn.Seq, Time: time.Now(), TurnID: id, SessionID: c.Turn.SessionID, Data: data})
		w.must(err)
		commit.Events = append(commit.Events, r)
		if r.Terminal() {
			commit.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{}`)}
		}
	}
	w.must(w.store.Commit(w.Context(), commit))
}

func (w *town) hook(s *runtime.Service, turn, id string) *store.Webhook {
	w.Helper()
	saved, err := s.SaveWebhook(w.Context(), runtime.Operator(), runtime.SaveWebhook{TurnID: turn, ID: id, Surface: "test", FromStart: true})
	w.must(err)
	return saved
}

// kept returns a webhook as it is in the store.
func (w *town) kept(turn, id string) *store.Webhook {
	w.Helper()
	h, err := w.store.Webhook(w.Context(), store.Everything, turn, id)
	w.must(err)
	return h
}

func (w *town) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

var (
	started  = &event.RunStart{AgentID: "a"}
	step     = &event.StepStart{}
	text     = &event.TextDelta{Delta: "a"}
	finished = &event.RunFinish{Status: event.StatusSucceeded}
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

// failing refuses the first n notifications with an error.
func failing(n int, err error) func(context.Context, *runtime.Delivery) error {
	var mu sync.Mutex
	return func(context.Context, *runtime.Delivery) error {
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
		r := &receivers{answer: failing(1, &runtime.DeliveryError{Cause: errors.New("busy"), RetryAfter: 10 * time.Minute})}
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
		{"when it is gone", &runtime.DeliveryError{Cause: errors.New("gone"), Final: true}, 0, 0},
		{"when nothing arrives for a day", errors.New("down"), 22 * time.Hour, 26 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := newTown(t), &receivers{answer: failing(1000, c.err)}
				s := w.tell(r, func(v *runtime.ServiceSettings) { v.Lease = time.Minute })
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
				dead, err := s.ListWebhooks(t.Context(), runtime.Operator(), store.WebhookQuery{State: store.WebhookDead})
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

// hanging lets receivers whose name says so hang, until a sender has enough.
func hanging(ctx context.Context, d *runtime.Delivery) error {
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
		// The process dies behind the notification: neither its note nor its
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
		if late := all[1].at.Sub(all[0].at); late > runtime.DefaultLease+2*time.Second {
			t.Errorf("the second took %v", late)
		}
	})
}

func TestTwoProcessesNeverTellAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		slow := func(ctx context.Context, _ *runtime.Delivery) error {
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
		stuck := &receivers{answer: func(ctx context.Context, _ *runtime.Delivery) error {
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
		if all := r.all(); len(all) != 1 || all[0].at.Sub(began) < runtime.DefaultLease-time.Second {
			t.Errorf("the other process told of %v", all)
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
		r := &receivers{answer: func(ctx context.Context, _ *runtime.Delivery) error {
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
		r := &receivers{answer: func(ctx context.Context, _ *runtime.Delivery) error {
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
		w.must(s.DeleteWebhook(t.Context(), runtime.Operator(), "t", "h"))
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

func TestAnEndThatNobodyShowsIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newTown(t), new(receivers)
		hide := func(_ context.Context, ev *event.Event) (*event.Event, error) {
			if ev.Data.Type() == event.TypeRunFinish {
				return nil, nil //nolint:nilnil // it is left out
			}
			return ev, nil
		}
		s := w.tell(r, func(v *runtime.ServiceSettings) { v.EventTransform = hide })
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
	s := runtime.NewService(runtime.ServiceSettings{Store: w.store})
	defer s.Close()
	ann, eve := runtime.Caller{Tenant: "acme", Subject: "ann"}, runtime.Caller{Tenant: "acme", Subject: "eve"}
	save := func(caller runtime.Caller, req runtime.SaveWebhook) error {
		_, err := s.SaveWebhook(t.Context(), caller, req)
		return err
	}
	good := runtime.SaveWebhook{TurnID: "t", ID: "h", Surface: "test"}
	w.must(save(ann, good))
	for name, err := range map[string]error{
		"save": save(eve, good), "delete": s.DeleteWebhook(t.Context(), eve, "t", "h"),
		"get": func() error { _, err := s.GetWebhook(t.Context(), eve, "t", "h"); return err }(),
	} {
		if missing := new(runtime.NotFoundError); !errors.As(err, &missing) {
			t.Errorf("the error of %s by somebody else is %v", name, err)
		}
	}
	if page, err := s.ListWebhooks(t.Context(), eve, store.WebhookQuery{}); err != nil || len(page.Webhooks) != 0 {
		t.Errorf("somebody else sees %v, %v", page.Webhooks, err)
	}
	if _, err := s.GetWebhook(t.Context(), ann, "t", "h"); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*runtime.SaveWebhook){
		"id":      func(r *runtime.SaveWebhook) { r.ID = "" },
		"surface": func(r *runtime.SaveWebhook) { r.Surface = "" },
		"data":    func(r *runtime.SaveWebhook) { r.Data = make([]byte, runtime.MaxWebhookData+1) },
	} {
		bad := good
		change(&bad)
		if invalid := new(runtime.InvalidError); !errors.As(save(ann, bad), &invalid) || invalid.Field != field {
			t.Errorf("the error of a wrong %s is %v", field, save(ann, bad))
		}
	}
	for _, id := range []string{"a\nb", "a\x00", "\xff", strings.Repeat("x", runtime.MaxWebhookID+1)} {
		bad := good
		bad.ID = id
		if invalid := new(runtime.InvalidError); !errors.As(save(ann, bad), &invalid) {
			t.Errorf("the error of the id %q is %v", id, save(ann, bad))
		}
	}
	for i := 1; ; i++ {
		next := good
		next.ID = fmt.Sprint("h", i)
		err := save(ann, next)
		if limit := new(store.LimitError); errors.As(err, &limit) {
			if i != runtime.MaxWebhooks {
				t.Errorf("the limit is reached with %d", i)
			}
			break
		}
		w.must(err)
	}
}
