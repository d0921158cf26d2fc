package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/google/go-cmp/cmp"
)

// occupyGatherer makes those who create sessions wait for each other, because two others
// do not get on until the function is called.
func occupyGatherer(t *testing.T, s *postgres.Store) (release func()) {
	t.Helper()
	tx, err := s.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE sessions IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var first sync.WaitGroup
	release = sync.OnceFunc(func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		first.Wait()
	})
	t.Cleanup(release)
	for range 2 {
		first.Go(func() { newSession(t, s) })
	}
	awaitBlocked(t, s, 2)
	return release
}

// awaitBlocked waits until so many statements wait for a lock.
func awaitBlocked(t *testing.T, s *postgres.Store, want int) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); ; {
		var got int
		if err := s.Pool().QueryRow(t.Context(), "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND NOT l.granted").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%d statements wait, want %d", got, want)
		}
	}
}

// createTogether has sessions created while two others are, for which they wait, and
// returns the errors by id.
func createTogether(t *testing.T, s *postgres.Store, sessions []store.Session) map[string]error {
	t.Helper()
	release := occupyGatherer(t, s)
	var all sync.WaitGroup
	var mu sync.Mutex
	failed := make(map[string]error)
	for _, v := range sessions {
		all.Go(func() {
			made, err := s.CreateSession(t.Context(), &store.NewSession{Session: v})
			if err == nil {
				if diff := cmp.Diff(&v, made); diff != "" {
					t.Error(diff)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			failed[v.ID] = err
		})
	}
	release()
	all.Wait()
	return failed
}

func TestSessionsThatAreCreatedTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	var sessions []store.Session
	for i := range 60 {
		v := session(newID("session"))
		v.Tip, v.Metadata = fmt.Sprint("snapshot", i), json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		if i%2 == 0 {
			v.LastTurnAt = at.Add(time.Duration(i) * time.Minute)
		}
		if i%10 == 0 {
			v.Labels = map[string]string{"n": fmt.Sprint(i)}
		}
		sessions = append(sessions, v)
	}
	for id, err := range createTogether(t, s, sessions) {
		t.Errorf("%s: %v", id, err)
	}
	var rows, transactions int
	err := s.Pool().QueryRow(t.Context(), "SELECT count(*), count(DISTINCT xmin::text) FROM sessions").Scan(&rows, &transactions)
	if err != nil || rows != len(sessions)+2 {
		t.Errorf("there are %d sessions, error %v", rows, err)
	}
	if transactions == rows {
		t.Error("each session had a transaction of its own")
	}
}

func TestASessionThatExistsDoesNotSpoilThoseThatAreCreatedWithIt(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	taken := newSession(t, s)
	sessions := []store.Session{session(taken)}
	for range 20 {
		sessions = append(sessions, session(newID("session")))
	}
	failed := createTogether(t, s, sessions)
	if exists, ok := errors.AsType[*store.ExistsError](failed[taken]); !ok || exists.ID != taken || len(failed) != 1 {
		t.Errorf("the sessions failed with %v", failed)
	}
}

func TestASessionWhoseCallerLeavesIsNotCreated(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	release := occupyGatherer(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	id := newID("session")
	left := make(chan error, 1)
	go func() {
		_, err := s.CreateSession(ctx, &store.NewSession{Session: session(id)})
		left <- err
	}()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v", err)
	}
	release()
	if _, err := s.Session(t.Context(), store.Of(alice), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
}
