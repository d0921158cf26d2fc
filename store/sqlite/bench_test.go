//go:build unix

package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// BenchmarkAppendOf64Turns appends single events of 512 bytes to 64 turns at the
// same time, each of which waits until its event is on disk.
func BenchmarkAppendOf64Turns(b *testing.B) {
	const turns = 64
	s := open(b)
	claimed := make([]*store.Claimed, turns)
	for i := range claimed {
		newSession(b, s, numbered("session", i))
		claimed[i] = running(b, s, numbered("session", i), numbered("turn", i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	begun := cpu(b)
	var wg sync.WaitGroup
	for i, c := range claimed {
		wg.Go(func() {
			for seq := range uint64((b.N + i) / turns) {
				if err := s.Commit(b.Context(), commit(c.Turn.ID, c.Turn.Fence, seq, 1)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	reportCPU(b, begun)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkStep commits what a step of a turn comes to.
func BenchmarkStep(b *testing.B) {
	s := open(b)
	newSession(b, s, "session")
	c := running(b, s, "session", "turn")
	state := payload
	b.ReportAllocs()
	b.ResetTimer()
	var seq uint64
	for range b.N {
		step := commit("turn", c.Turn.Fence, seq, 4)
		step.State, step.Steps, step.Messages = state, 1, [][]byte{payload, payload}
		step.Journal = []store.JournalRow{{Key: "call", Entry: payload, Result: payload}}
		if err := s.Commit(b.Context(), step); err != nil {
			b.Fatal(err)
		}
		seq += 4
	}
}

// BenchmarkCreateClaimStep measures a turn from its request to its first step.
func BenchmarkCreateClaimStep(b *testing.B) {
	s := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		newSession(b, s, numbered("session", i))
		b.StartTimer()
		c := running(b, s, numbered("session", i), numbered("turn", i))
		step := commit(c.Turn.ID, c.Turn.Fence, 0, 4)
		step.State, step.Messages = payload, [][]byte{payload}
		if err := s.Commit(b.Context(), step); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurn measures whole turns, 64 at the same time: create, claim, three
// commits, finish.
func BenchmarkTurn(b *testing.B) {
	const sessions = 64
	s := open(b)
	for i := range sessions {
		newSession(b, s, numbered("session", i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	begun := cpu(b)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			for n := range (b.N + i) / sessions {
				wholeTurn(b, s, numbered("session", i), numbered(numbered("turn", i), n))
			}
		})
	}
	wg.Wait()
	reportCPU(b, begun)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

func wholeTurn(b *testing.B, s store.Store, session, id string) {
	if _, err := s.CreateTurn(b.Context(), newTurn(session, id)); err != nil {
		b.Error(err)
		return
	}
	c, err := s.Claim(b.Context(), claim(id))
	if err != nil {
		b.Error(err)
		return
	}
	for seq := range uint64(3) {
		step := commit(id, c.Turn.Fence, 2*seq, 2)
		step.State = payload
		if err := s.Commit(b.Context(), step); err != nil {
			b.Error(err)
		}
	}
	if err := s.Commit(b.Context(), finish(c, 6)); err != nil {
		b.Error(err)
	}
}

// BenchmarkAppendToALongTurn shows that an append does not cost more when the
// turn is long.
func BenchmarkAppendToALongTurn(b *testing.B) {
	for _, events := range []int{10, 1_000, 100_000} {
		b.Run(numbered("events", events), func(b *testing.B) {
			s := open(b)
			newSession(b, s, "session")
			c := running(b, s, "session", "turn")
			seq := fill(b, s, c, events)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := s.Commit(b.Context(), commit("turn", c.Turn.Fence, seq, 1)); err != nil {
					b.Fatal(err)
				}
				seq++
			}
		})
	}
}

// fill appends events to a turn and returns the seq of the last.
func fill(b *testing.B, s store.Store, c *store.Claimed, events int) (seq uint64) {
	for seq < uint64(events) {
		n := min(1000, events-int(seq))
		if err := s.Commit(b.Context(), commit(c.Turn.ID, c.Turn.Fence, seq, n)); err != nil {
			b.Fatal(err)
		}
		seq += uint64(n)
	}
	return seq
}

// BenchmarkReplay reads events from the beginning, 1000 at a time.
func BenchmarkReplay(b *testing.B) {
	const events = 20_000
	s := open(b)
	newSession(b, s, "session")
	fill(b, s, running(b, s, "session", "turn"), events)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var seq uint64
		for seq < events {
			list, err := s.Events(b.Context(), "turn", seq, 1000)
			if err != nil || len(list) == 0 {
				b.Fatal(len(list), err)
			}
			seq = list[len(list)-1].Seq
		}
	}
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkPage reads pages of 50 of 100,000 sessions.
func BenchmarkPage(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runtime.db")
	manySessions(b, path)
	s := reopen(b, path)
	for _, list := range []struct {
		name string
		q    store.SessionQuery
	}{
		{"OfEverybody", store.SessionQuery{Scope: store.Everything}},
		{"OfAnOwner", store.SessionQuery{Scope: store.Of(owner)}},
		{"WithAState", store.SessionQuery{Scope: store.Of(owner), State: store.SessionActive}},
		{"WithACommonLabel", store.SessionQuery{Scope: store.Of(owner), Labels: map[string]string{"env": "prod"}}},
		{"WithARareLabel", store.SessionQuery{Scope: store.Of(owner), Labels: map[string]string{"user": "u777"}}},
	} {
		q := list.q
		b.Run(list.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				page, err := s.Sessions(b.Context(), q)
				if err != nil || len(page.Sessions) == 0 {
					b.Fatal(len(page.Sessions), err)
				}
				if page.Next != "" {
					q.Page.After = page.Next
				}
			}
		})
	}
}

func BenchmarkRunPages(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runtime.db")
	s := reopen(b, path)
	storetest.BenchmarkRunPages(b, s, func() {
		conn, err := sql.Open("sqlite", path)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(b.Context(), "UPDATE workflow_runs SET finished_at = updated_at"); err != nil {
			b.Fatal(err)
		}
	})
}

// manySessions makes a file with 100,000 sessions.
func manySessions(b *testing.B, path string) {
	s, err := sqlite.Open(b.Context(), store.Settings{DSN: path})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	conn, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.ExecContext(b.Context(), `
		CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n;
		INSERT INTO sessions SELECT printf('session-%032d', i * 7919 % 100003), 'acme', CASE i % 2 WHEN 0 THEN 'ann' ELSE 'bob' END, 'helper', 'active',
			CAST('{"env":"prod","user":"u1"}' AS BLOB), NULL, '', ?1 + i, ?1 + i, ?1 + i, 0 FROM n;
		INSERT INTO session_labels SELECT printf('session-%032d', i * 7919 % 100003), 'env', 'prod' FROM n;
		INSERT INTO session_labels SELECT printf('session-%032d', i * 7919 % 100003), 'user', 'u' || (i % 1000 + (i % 2 = 0)) FROM n;`, startTurn.UnixMicro())
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLatency shows how long the steps of a turn take one after the other.
func BenchmarkLatency(b *testing.B) {
	s := open(b)
	newSession(b, s, "session")
	var made, claimed, committed time.Duration
	for i := range b.N {
		id, begun := numbered("turn", i), time.Now()
		if _, err := s.CreateTurn(b.Context(), newTurn("session", id)); err != nil {
			b.Fatal(err)
		}
		made += time.Since(begun)
		begun = time.Now()
		c, err := s.Claim(b.Context(), claim(id))
		if err != nil {
			b.Fatal(err)
		}
		claimed += time.Since(begun)
		begun = time.Now()
		if err := s.Commit(b.Context(), finish(c, 0)); err != nil {
			b.Fatal(err)
		}
		committed += time.Since(begun)
	}
	for name, d := range map[string]time.Duration{"create": made, "claim": claimed, "finish": committed} {
		b.ReportMetric(float64(d.Microseconds())/float64(b.N), "µs/"+name)
	}
}

// cpu returns what the process has used of the processors.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// reportCPU reports the processor time of an operation since begun.
func reportCPU(b *testing.B, begun time.Duration) {
	b.ReportMetric(float64((cpu(b)-begun).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}
