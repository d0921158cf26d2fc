package service_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/postgres"
)

// dying is a store that a process loses in the middle of its work.
type dying struct {
	store.Store
	dead atomic.Bool
}

func (d *dying) AdvanceWebhook(ctx context.Context, a *store.AdvanceWebhook) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Store.AdvanceWebhook(ctx, a)
}

func (d *dying) HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []store.HeldWebhook) ([]store.HeldWebhook, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Store.HeartbeatWebhooks(ctx, worker, lease, held)
}

// TestReplicasShareTheWebhooksOfADatabase holds that each event arrives in order,
// from one replica at a time, though one of them dies: what it sent and did not
// note comes again with the same id, and nothing is left out.
func TestReplicasShareTheWebhooksOfADatabase(t *testing.T) {
	t.Parallel()
	const hooks, steps = 12, 8
	settings := store.Settings{DSN: pgtest.Start(t).Database(t)}
	if _, err := postgres.Migrate(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	r := &receivers{answer: func(ctx context.Context, _ *webhook.Delivery) error {
		select {
		case <-time.After(5 * time.Millisecond): // a receiver that is turntest.Far away
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	replica := func(mortal *dying) *service.Service {
		st, err := postgres.Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		mortal.Store = st
		s := service.New(service.Settings{
			Store: mortal, Notifier: st.Notifier(), Dispatcher: local.New(local.Settings{Concurrency: 1}), Lease: time.Second,
			Webhooks: map[string]webhook.Sender{"test": r},
		})
		t.Cleanup(s.Close)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := new(dying), new(dying)
	one, two := replica(first), replica(second)
	w := &town{T: t, store: second, turns: make(map[string]*store.Claimed)}
	for i := range hooks {
		id := fmt.Sprint("t", i)
		w.turn("acme", id)
		w.hook([]*service.Service{one, two}[i%2], id, "h")
	}
	for n := range steps {
		for i := range hooks {
			w.happen(fmt.Sprint("t", i), step)
		}
		if n == steps/2 {
			first.dead.Store(true)
			defer one.Close()
		}
	}
	for i := range hooks {
		w.happen(fmt.Sprint("t", i), finished)
	}
	eventually(t, func() string {
		for i := range hooks {
			if h := w.kept(fmt.Sprint("t", i), "h"); h.State != store.WebhookDone {
				return fmt.Sprintf("the webhook of turn %d is %s, up to event %d: %s", i, h.State, h.Cursor, h.LastError)
			}
		}
		return ""
	})
	ids := make(map[string]string)
	for _, n := range r.all() {
		event := fmt.Sprint(n.hook, " ", n.seq)
		if known := ids[event]; known != "" && known != n.id {
			t.Errorf("event %s has two ids", event)
		}
		ids[event] = n.id
	}
	for i := range hooks {
		seqs := r.seqs(fmt.Sprint("t", i, "/h"))
		if !slices.IsSorted(slices.Compact(slices.Clone(seqs))) && !goesBackOnce(seqs) {
			t.Errorf("the events of turn %d arrived as %v", i, seqs)
		}
		if slices.Sort(seqs); len(slices.Compact(seqs)) != steps+1 {
			t.Errorf("of turn %d arrived %v", i, seqs)
		}
	}
}

// goesBackOnce reports whether events came in order, but for those that a
// replica sent and could not note, which came again.
func goesBackOnce(seqs []uint64) bool {
	back := 0
	for i := 1; i < len(seqs); i++ {
		switch {
		case seqs[i] < seqs[i-1]:
			back++
		case seqs[i] > seqs[i-1]+1:
			return false
		}
	}
	return back <= 1
}
