package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A database that becomes read-only and is cut off from its clients looks like a
// primary that is demoted. Nobody cuts them off when it takes writes again: the
// connections that were made meanwhile stay read-only.
func TestAReadOnlyDatabaseIsReportedAndRecoversByItself(t *testing.T) {
	t.Parallel()
	for name, ping := range map[string]bool{"pinged": true, "never pinged": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			dsn := server.Database(t)
			s := open(t, migrated(t, dsn))
			_, id, fence := running(t, s)
			server.SetReadOnly(t, dsn, true)

			// Connections that were cut off are found out first.
			eventually(t, "a new session is refused", func() bool {
				_, err := s.CreateSession(t.Context(), &store.NewSession{Session: session(newID("session"))})
				return errors.Is(err, store.ErrNotWritable)
			})
			_, beat := s.Heartbeat(t.Context(), "worker", time.Minute, []store.Held{{TurnID: id, Fence: fence}})
			_, reap := s.Reap(t.Context(), time.Now())
			for what, err := range map[string]error{"a commit": s.Commit(t.Context(), appended(id, fence, 1, `{}`)), "a heartbeat": beat, "a reap": reap} {
				if !errors.Is(err, store.ErrNotWritable) || !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s in a read-only database: %v", what, err)
				}
			}
			if ping {
				if err := s.Ping(t.Context()); !errors.Is(err, store.ErrNotWritable) {
					t.Errorf("a ping of a read-only database: %v", err)
				}
			}
			if kept, err := s.Turn(t.Context(), store.Everything, id); err != nil || kept.Status != store.Running {
				t.Errorf("the turn is %+v, %v", kept, err)
			}

			server.SetReadOnly(t, dsn, false)
			for n := range uint64(40) { // more than the pool has connections
				eventually(t, "a commit is made", func() bool {
					err := s.Commit(t.Context(), appended(id, fence, n+1, `{}`))
					if err != nil && !errors.Is(err, store.ErrNotWritable) {
						t.Fatal(err)
					}
					return err == nil
				})
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("a ping where writes are taken again: %v", err)
			}
		})
	}
}

// After a Ping that succeeds, no connection is used that was made while the database was
// read-only, though the one that answered the Ping was made later.
func TestConnectionsOfAReadOnlyTimeAreNotUsedAfterAPing(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.Database(t)
	s := open(t, migrated(t, dsn))
	_, id, fence := running(t, s)
	server.SetReadOnly(t, dsn, true)
	var old []*pgxpool.Conn
	for len(old) < 4 {
		eventually(t, "a connection is made", func() bool {
			c, err := s.Pool().Acquire(t.Context())
			if err == nil && c.Ping(t.Context()) != nil { // it was cut off
				c.Release()
				return false
			}
			if err == nil {
				old = append(old, c)
			}
			return err == nil
		})
	}
	server.SetReadOnly(t, dsn, false)
	fresh, err := s.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range old {
		c.Release()
	}
	fresh.Release() // the pool gives out the one that was used last
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	var held []*pgxpool.Conn
	for range len(old) + 1 { // leaves the oldest ones, one after the other
		if err := s.Commit(t.Context(), appended(id, fence, uint64(len(held))+1, `{}`)); err != nil {
			t.Errorf("commit %d: %v", len(held)+1, err)
		}
		c, err := s.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Release()
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not come to it that %s", what)
		}
	}
}
