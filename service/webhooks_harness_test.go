package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// receivers is a fake surface with its receivers and sender.
type receivers struct {
	mu sync.Mutex
	// got are the notifications that arrived, in order.
	got []notification
	// busy counts those that are being sent, by webhook.
	busy map[string]int
	// answer decides how a notification is answered; nil accepts it.
	answer func(ctx context.Context, d *webhook.Delivery) error
	// tells reports which events are sent; nil is everything but text.
	tells func(*event.Record) bool
}

// notification is one that arrived.
type notification struct {
	hook, id string
	seq      uint64
	at       time.Time
}

// Tells reports whether receivers want an event.
func (r *receivers) Tells(record *event.Record) bool {
	if r.tells != nil {
		return r.tells(record)
	}
	return record.Type != event.TypeTextDelta
}

var errTwice = errors.New("two send for one webhook")

// Send notes the notification, and what the receiver says.
func (r *receivers) Send(ctx context.Context, d *webhook.Delivery) error {
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
	store store.Store
	turns map[string]*store.Claimed
}

func newTown(t *testing.T) *town {
	return &town{T: t, store: shared{memory.New(store.Settings{})}, turns: make(map[string]*store.Claimed)}
}

// tell returns a service that tells with a sender.
func (w *town) tell(sender webhook.Sender, settings ...setting) *service.Service {
	w.Helper()
	v := service.Settings{
		Store: w.store, Dispatcher: local.New(local.Settings{Concurrency: 1}), Webhooks: map[string]webhook.Sender{"test": sender},
	}
	for _, set := range settings {
		set(&v)
	}
	s := service.New(v)
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
		ID: "session-" + id, Owner: owner, AgentID: "a", State: store.SessionActive, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
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

func (w *town) hook(s *service.Service, turn, id string) *store.Webhook {
	w.Helper()
	saved, err := s.SaveWebhook(w.Context(), service.Operator(), service.SaveWebhook{TurnID: turn, ID: id, Surface: "test", FromStart: true})
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
