package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
)

func TestARefusedCommitDoesNotSpoilTheOthersOfItsGroup(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	jobs := &queue{}
	s.Attach(jobs)
	_, fenced, fence := running(t, s)
	_, yielding, yieldFence := running(t, s)
	_, texts, textFence := running(t, s)
	_, gap, gapFence := running(t, s)
	jobs.mu.Lock()
	jobs.refuse = yielding
	jobs.mu.Unlock()
	good := make(map[string]int64)
	for range 20 {
		_, id, fence := running(t, s)
		good[id] = fence
	}
	bad := map[*store.Commit]func(error) bool{
		appended(fenced, fence+1, 1, `{}`): func(err error) bool {
			_, ok := errors.AsType[*store.FencedError](err)
			return ok
		},
		{TurnID: yielding, Fence: yieldFence, Now: at, Yield: true}: func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "is refused")
		},
		{TurnID: texts, Fence: textFence, Now: at, Events: []event.Record{{Seq: 1, Time: at, Type: "a\x00b"}}}: func(err error) bool {
			return errors.Is(err, store.ErrText)
		},
		appended(gap, gapFence, 2, `{}`): func(err error) bool { return err != nil && strings.Contains(err.Error(), "seq 2") },
	}
	for round := range uint64(5) {
		var all sync.WaitGroup
		for c, as := range bad {
			all.Go(func() {
				if err := s.Commit(t.Context(), c); !as(err) || !strings.Contains(err.Error(), c.TurnID) {
					t.Errorf("the commit to %s: %v", c.TurnID, err)
				}
			})
		}
		for id, fence := range good {
			all.Go(func() {
				if err := s.Commit(t.Context(), appended(id, fence, round+1, `{}`)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	for id := range good {
		if events, err := s.Events(t.Context(), id, 0, 10); err != nil || len(events) != 5 {
			t.Errorf("%s has %d events, error %v", id, len(events), err)
		}
	}
	for c := range bad {
		if events, err := s.Events(t.Context(), c.TurnID, 0, 10); err != nil || len(events) != 0 {
			t.Errorf("%s has %d events, error %v", c.TurnID, len(events), err)
		}
	}
}

func TestATurnThatIsHeldDoesNotHoldUpTheOthersForLong(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	_, held, heldFence := running(t, s)
	_, free, freeFence := running(t, s)
	tx, err := s.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM turns WHERE id = $1 FOR UPDATE", held); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- s.Commit(t.Context(), appended(held, heldFence, 1, `{}`)) }()
	if err := s.Commit(t.Context(), appended(free, freeFence, 1, `{}`)); err != nil {
		t.Errorf("the commit to another turn: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// It was made when the turn became free in time, and else not at all.
	err = <-waited
	events, readErr := s.Events(t.Context(), held, 0, 10)
	if readErr != nil || (err == nil) != (len(events) == 1) {
		t.Errorf("the commit to the turn that was held: %v, and there are %v, error %v", err, events, readErr)
	}
}

func TestCommitsOfOneTurnShareATransaction(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	_, id, fence := running(t, s)
	const calls = 30
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			key := fmt.Sprint("call", i)
			for _, entry := range []string{"began", "ended"} {
				c := &store.Commit{TurnID: id, Fence: fence, Now: at, Journal: []store.JournalRow{{Key: key, Entry: json.RawMessage(`"` + entry + `"`)}}}
				if err := s.Commit(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	rows, err := s.Journal(t.Context(), id)
	if err != nil || len(rows) != calls {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	for _, r := range rows {
		if string(r.Entry) != `"ended"` {
			t.Errorf("%s is %s", r.Key, r.Entry)
		}
	}
}

func TestACommitIsNotMadeForACallerWhoIsGone(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	_, id, fence := running(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, appended(id, fence, 1, `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("the commit: %v", err)
	}
	if err := s.Commit(t.Context(), appended(id, fence, 1, `{}`)); err != nil {
		t.Errorf("the commit that follows: %v", err)
	}
}

func TestClosingWaitsForCommitsAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	settings := database(t)
	s := open(t, settings)
	_, id, fence := running(t, s)
	var (
		all  sync.WaitGroup
		made = make(chan uint64, 1)
	)
	started := make(chan struct{})
	all.Go(func() {
		n := uint64(0)
		for s.Commit(t.Context(), appended(id, fence, n+1, `{}`)) == nil {
			if n++; n == 3 {
				close(started)
			}
		}
		made <- n
	})
	<-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := s.Commit(t.Context(), appended(id, fence, 1, `{}`)); !errors.Is(err, postgres.ErrClosed) {
		t.Errorf("a commit to a closed store: %v", err)
	}
	n := <-made
	events, err := open(t, settings).Events(t.Context(), id, 0, 1_000_000)
	if err != nil || uint64(len(events)) != n {
		t.Errorf("%d commits were acknowledged, and there are %d events, error %v", n, len(events), err)
	}
}

func TestPayloadsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	sessionID, id, fence := running(t, s)
	odd := []byte("{\"b\":1, \"a\":\x00\xff\xfe \"\\u0000\"}")
	c := &store.Commit{
		TurnID: id, Fence: fence, Now: at, State: odd, Messages: [][]byte{odd},
		Events:    []event.Record{{Seq: 1, Time: at, TurnID: id, Type: "test", Data: odd}},
		Journal:   []store.JournalRow{{Key: "k", Entry: odd, Result: odd}},
		Artifacts: []*store.Artifact{{ID: "artifact-" + id, Name: "n", Data: odd, Metadata: odd, CreatedAt: at}},
		Yield:     true,
	}
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), &store.Claim{TurnID: id, Worker: "worker", Lease: time.Minute, Now: at})
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), id, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := s.Artifact(t.Context(), store.Of(alice), "artifact-"+id)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][]byte{
		"state": claimed.State, "message": claimed.Messages[1], "entry": claimed.Journal[0].Entry, "result": claimed.Journal[0].Result,
		"event": events[0].Data, "artifact": artifact.Data, "metadata": artifact.Metadata,
	} {
		if !bytes.Equal(got, odd) {
			t.Errorf("the %s is %q", what, got)
		}
	}
	if artifact.SessionID != sessionID || artifact.TurnID != id || artifact.Owner != alice || artifact.Size != len(odd) {
		t.Errorf("the artifact is %+v", artifact)
	}
}

func TestATextThatPostgreSQLDoesNotKeepIsAClearError(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	for _, text := range []string{"a\x00b", "a\xffb"} {
		v := session(newID("session"))
		v.Labels = map[string]string{"name": text}
		if _, err := s.CreateSession(t.Context(), &store.NewSession{Session: v}); !errors.Is(err, store.ErrText) {
			t.Errorf("a label: %v", err)
		}
		n := &store.NewSession{Session: session(newID("session")), Key: store.Key{Value: text}}
		if _, err := s.CreateSession(t.Context(), n); !errors.Is(err, store.ErrText) {
			t.Errorf("a key: %v", err)
		}
		_, err := s.CreateTurn(t.Context(), &store.NewTurn{Turn: turn(newID("turn")+text, newSession(t, s))})
		if !errors.Is(err, store.ErrText) {
			t.Errorf("the id of a turn: %v", err)
		}
		if _, err := s.Turn(t.Context(), store.Everything, text); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a turn that cannot be: %v", err)
		}
	}
	page, err := s.Sessions(t.Context(), store.SessionQuery{Scope: store.Everything})
	if err != nil || len(page.Sessions) != 2 || slices.ContainsFunc(page.Sessions, func(v *store.Session) bool { return v.Labels != nil }) {
		t.Errorf("there are %v, error %v", page.Sessions, err)
	}
}
