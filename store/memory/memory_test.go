package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"pgregory.net/rapid"
)

func TestItIsAStore(t *testing.T) { storetest.Run(t, openStore) }

func TestItFollowsTheModel(t *testing.T) { storetest.RunModel(t, openStore) }

func openStore(t *testing.T, s store.Settings) store.Store { return open(t, s) }

// open returns a store that is closed with the test.
func open(t testing.TB, s store.Settings) *memory.Store {
	m := memory.New(s)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// queue calls a function with the ids of the jobs that it is told of.
type queue func(ctx context.Context, ids []string) error

func (q queue) Enqueue(ctx context.Context, _ any, jobs []store.Job) error {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.TurnID
	}
	return q(ctx, ids)
}

var owner = store.Owner{Tenant: "acme", Subject: "ann"}

// create makes a turn in a session of its own.
func create(ctx context.Context, t testing.TB, m store.Store, id string) {
	t.Helper()
	now := time.Now()
	_, err := m.CreateSession(ctx, &store.NewSession{Session: store.Session{
		ID: "session-of-" + id, Owner: owner, State: store.SessionActive, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
	}})
	if err == nil {
		_, err = m.CreateTurn(ctx, &store.NewTurn{Turn: store.Turn{ID: id, SessionID: "session-of-" + id, Owner: owner, CreatedAt: now}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAQueueMayUseTheStore(t *testing.T) {
	m := open(t, store.Settings{})
	var claimed []string
	m.Attach(queue(func(ctx context.Context, ids []string) error {
		for _, id := range ids {
			c, err := m.Claim(ctx, &store.Claim{TurnID: id, Worker: "worker", Lease: time.Minute, Now: time.Now()})
			if err != nil {
				return err
			}
			claimed = append(claimed, c.Turn.ID)
		}
		return nil
	}))
	create(t.Context(), t, m, "t1")
	if want := []string{"t1"}; !slices.Equal(claimed, want) {
		t.Errorf("the queue claimed %q, want %q", claimed, want)
	}
}

func TestJobsThatAreNotTakenAreOfferedAgain(t *testing.T) {
	m := open(t, store.Settings{})
	var taken []string
	full := true
	m.Attach(queue(func(_ context.Context, ids []string) error {
		if full {
			return errors.New("the queue is full")
		}
		taken = append(taken, ids...)
		return nil
	}))
	create(t.Context(), t, m, "t1")
	create(t.Context(), t, m, "t2")
	full = false
	create(t.Context(), t, m, "t3")
	if want := []string{"t1", "t2", "t3"}; !slices.Equal(taken, want) {
		t.Errorf("the queue took %q, want %q", taken, want)
	}
}

func TestAJobIsQueuedAlthoughItsCallerLeft(t *testing.T) {
	m := open(t, store.Settings{})
	ctx, cancel := context.WithCancelCause(t.Context())
	var during error
	m.Attach(queue(func(ctx context.Context, _ []string) error {
		cancel(nil)
		during = ctx.Err()
		return nil
	}))
	create(ctx, t, m, "t1")
	if during != nil {
		t.Errorf("the context of the queue ended with that of the caller: %v", during)
	}
}

// TestPropertyPagesAreTheList holds that pages of any size, one after the other,
// have every record once, the latest first.
func TestPropertyPagesAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := memory.New(store.Settings{})
		defer m.Close()
		all := rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 20).Draw(t, "times")
		for i, at := range all {
			active := time.UnixMicro(at).UTC()
			_, err := m.CreateSession(t.Context(), &store.NewSession{Session: store.Session{
				ID: fmt.Sprint("s", i), Owner: owner, State: store.SessionActive, CreatedAt: active, UpdatedAt: active, ActiveAt: active,
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		var read []*store.Session
		q := store.SessionQuery{Scope: store.Everything, Page: store.Page{Limit: rapid.IntRange(1, 7).Draw(t, "limit")}}
		for {
			page, err := m.Sessions(t.Context(), q)
			if err != nil || len(page.Sessions) > q.Page.Limit {
				t.Fatalf("a page of %d has %d records: %v", q.Page.Limit, len(page.Sessions), err)
			}
			if read = append(read, page.Sessions...); page.Next == "" {
				break
			}
			if q.Page.After = page.Next; len(read) > len(all) {
				t.Fatalf("the pages have more than the %d records", len(all))
			}
		}
		if len(read) != len(all) {
			t.Fatalf("the pages have %d of %d records", len(read), len(all))
		}
		for i := 1; i < len(read); i++ {
			a, b := read[i-1], read[i]
			if a.ActiveAt.Before(b.ActiveAt) || a.ActiveAt.Equal(b.ActiveAt) && a.ID <= b.ID {
				t.Fatalf("%s stands before %s", a.ID, b.ID)
			}
		}
	})
}

// BenchmarkOpen opens and closes stores.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := memory.New(store.Settings{}).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRunPages(b *testing.B) {
	storetest.BenchmarkRunPages(b, open(b, store.Settings{}), nil)
}

func BenchmarkATurn(b *testing.B) {
	for _, held := range []int{0, 1000} {
		b.Run(fmt.Sprintf("of%d", held+1), func(b *testing.B) {
			m := open(b, store.Settings{})
			for i := range held {
				create(b.Context(), b, m, fmt.Sprint("held-", i))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprint("turn-", i)
				create(b.Context(), b, m, id)
				c, err := m.Claim(b.Context(), &store.Claim{TurnID: id, Worker: "worker", Lease: time.Minute, Now: time.Now()})
				if err == nil {
					err = m.Commit(b.Context(), &store.Commit{TurnID: id, Fence: c.Turn.Fence, Now: time.Now(), Finish: &store.Finish{Status: store.Succeeded}})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
