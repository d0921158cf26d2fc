package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
)

func TestCommitsStandARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, migrated(t, server.Database(t)))
	const turns, most = 8, 5000
	var (
		all       sync.WaitGroup
		restarted atomic.Bool
		committed atomic.Int64
	)
	counts := make(map[string]uint64)
	var mu sync.Mutex
	for range turns {
		_, id, fence := running(t, s)
		all.Go(func() {
			after := 0
			for seq := uint64(1); seq < most && after < 5; seq++ {
				if restarted.Load() {
					after++
				}
				if err := s.Commit(t.Context(), appended(id, fence, seq, `{}`)); err != nil {
					t.Errorf("event %d of %s: %v", seq, id, err)
					return
				}
				committed.Add(1)
				mu.Lock()
				counts[id] = seq
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for committed.Load() < 10*turns && !t.Failed() {
		<-tick.C
	}
	server.Restart(t)
	restarted.Store(true)
	all.Wait()
	for id, n := range counts {
		events, err := s.Events(t.Context(), id, 0, most)
		if err != nil {
			t.Fatal(err)
		}
		if uint64(len(events)) != n || events[n-1].Seq != n {
			t.Errorf("%s has %d events, and %d were acknowledged", id, len(events), n)
		}
	}
}

func TestNotificationsResumeAfterARestart(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, migrated(t, server.Database(t)))
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := listen(ctx, s)
	ringing := time.NewTicker(10 * time.Millisecond)
	defer ringing.Stop()
	deadline := time.After(30 * time.Second)
	hear := func(what string, ok func(ids []string) bool) {
		for {
			select {
			case <-ringing.C:
				s.Notifier().Notify("turn")
			case ids := <-heard:
				if ok(ids) {
					return
				}
			case <-deadline:
				t.Fatalf("%s was not heard", what)
			}
		}
	}
	hear("a notification", func(ids []string) bool { return len(ids) > 0 })
	server.Restart(t)
	hear("the interruption", func(ids []string) bool { return len(ids) == 0 })
	hear("a notification after the restart", func(ids []string) bool { return len(ids) > 0 })
	cancel()
	go func() {
		for range heard { // a notification that is still under way
		}
	}()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the listener ended with %v", err)
	}
	close(heard)
}

func TestACommitWhoseOutcomeWasNotHeardIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, forward := range map[string]bool{"the commit was made": true, "the commit was lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			dsn := server.Database(t)
			migrated(t, dsn)
			cut := newCutter(t, server.Socket(), forward)
			s := open(t, store.Settings{DSN: cut.dsn(t, dsn)})
			jobs := &queue{}
			s.Attach(jobs)
			sessionID, id, fence := running(t, s)
			next := newTurn(t, s, sessionID)
			jobs.taken()
			cut.armed.Store(true)
			c := appended(id, fence, 1, `{"n":1}`)
			c.Messages = [][]byte{[]byte("m")}
			if err := s.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			cut.armed.Store(true)
			if err := s.Commit(t.Context(), finished(id, fence)); err != nil {
				t.Fatal(err)
			}
			if n := cut.cuts.Load(); n != 2 {
				t.Errorf("%d connections were cut", n)
			}
			events, err := s.Events(t.Context(), id, 0, 10)
			if err != nil || len(events) != 1 {
				t.Errorf("events %v, error %v", events, err)
			}
			own, err := s.OwnMessages(t.Context(), id)
			if err != nil || len(own) != 2 {
				t.Errorf("messages %q, error %v", own, err)
			}
			ended, err := s.Turn(t.Context(), store.Everything, id)
			if err != nil || ended.Status != store.Succeeded {
				t.Errorf("the turn is %v, error %v", ended, err)
			}
			claim(t, s, next, time.Minute)
		})
	}
}

// cutter is a proxy that cuts a connection at the moment of a commit.
type cutter struct {
	dir     string
	forward bool
	armed   atomic.Bool
	cuts    atomic.Int64
	live    sync.WaitGroup
}

func newCutter(t *testing.T, socket string, forward bool) *cutter {
	t.Helper()
	c := &cutter{dir: t.TempDir(), forward: forward}
	listener, err := net.Listen("unix", filepath.Join(c.dir, filepath.Base(socket)))
	if err != nil {
		t.Fatal(err)
	}
	c.live.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				t.Error(err)
				_ = client.Close()
				return
			}
			c.live.Go(func() { c.requests(client, server) })
			c.live.Go(func() {
				_, _ = io.Copy(client, server)
				_, _ = client.Close(), server.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.live.Wait()
	})
	return c
}

func (c *cutter) dsn(t *testing.T, direct string) string {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", c.dir)
	u.RawQuery = q.Encode()
	return u.String()
}

// requests passes what the client sends, but for a commit when it is armed.
func (c *cutter) requests(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
			c.cuts.Add(1)
			_ = client.Close() // it does not hear the answer
			if c.forward {
				_, _ = server.Write(buf[:n])
			}
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestACommitFailsWhenTheServerStaysAway(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, migrated(t, server.Database(t)))
	_, id, fence := running(t, s)
	server.Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Commit(ctx, appended(id, fence, 1, `{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the commit: %v", err)
	}
	if _, err := s.Turn(t.Context(), store.Everything, id); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.Turns(t.Context(), store.TurnQuery{Scope: store.Everything}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("listing: %v", err)
	}
	if _, err := s.CreateSession(t.Context(), &store.NewSession{Session: store.Session{ID: "s9"}}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("making a session: %v", err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("it can be pinged")
	}
	server.Start(t)
	if err := s.Commit(t.Context(), appended(id, fence, 1, `{}`)); err != nil {
		t.Errorf("the commit after the start: %v", err)
	}
}

func TestNoErrorHasThePassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://me:s3cr3t@127.0.0.1:1/db?connect_timeout=1",
		"postgres://me:s3cr3t@127.0.0.1:port/db",
		"postgres://me:s3cr3t/%zz@127.0.0.1/db",
		"postgres://me:x#s3cr3t@127.0.0.1/db",
		"host=127.0.0.1 port=1 password=s3cr3t user=me",
		"host=127.0.0.1 port=none password='s3cr3t' user=me",
		"host=127.0.0.1 s3cr3t",
	} {
		for _, err := range []error{
			second(postgres.Open(t.Context(), store.Settings{DSN: dsn})),
			second(postgres.Migrate(t.Context(), store.Settings{DSN: dsn})),
		} {
			if err == nil || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s: %v", dsn, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
