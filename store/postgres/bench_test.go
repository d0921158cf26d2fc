package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
)

// payload is the data of an event: 512 bytes.
var payload = `{"text":"` + strings.Repeat("x", 501) + `"}`

// BenchmarkAppend appends events of 512 bytes to 64 turns at once, each on its
// own, and durably.
func BenchmarkAppend(b *testing.B) {
	const turns = 64
	s := open(b, database(b))
	type worker struct {
		turn  string
		fence int64
		seq   uint64
	}
	free := make(chan *worker, turns)
	for range turns {
		_, id, fence := running(b, s)
		free <- &worker{turn: id, fence: fence}
	}
	b.SetParallelism(turns / 2)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		w := <-free
		defer func() { free <- w }()
		for pb.Next() {
			w.seq++
			if err := s.Commit(b.Context(), appended(w.turn, w.fence, w.seq, payload)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkAppendAfter appends one event at a time to a turn that has many.
func BenchmarkAppendAfter(b *testing.B) {
	for _, length := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			s := open(b, database(b))
			_, id, fence := running(b, s)
			fill(b, s, id, fence, length)
			seq := uint64(length)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				seq++
				if err := s.Commit(b.Context(), appended(id, fence, seq, payload)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fill appends events to a turn, a thousand at a time.
func fill(b *testing.B, s store.Store, id string, fence int64, length int) {
	b.Helper()
	for seq := 0; seq < length; {
		c := &store.Commit{TurnID: id, Fence: fence, Now: at}
		for range min(1000, length-seq) {
			seq++
			c.Events = append(c.Events, event.Record{Seq: uint64(seq), Time: at, TurnID: id, Type: "test", Data: []byte(payload)})
		}
		if err := s.Commit(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay reads 20,000 events, a thousand at a time.
func BenchmarkReplay(b *testing.B) {
	const length = 20_000
	s := open(b, database(b))
	_, id, fence := running(b, s)
	fill(b, s, id, fence, length)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for after := uint64(0); after < length; {
			list, err := s.Events(b.Context(), id, after, 1000)
			if err != nil || len(list) == 0 {
				b.Fatal(len(list), err)
			}
			after = list[len(list)-1].Seq
		}
	}
	b.ReportMetric(float64(b.N)*length/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkTurn makes, claims, runs and ends turns, in 16 sessions at once.
func BenchmarkTurn(b *testing.B) {
	s := open(b, database(b))
	s.Attach(&queue{})
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		sessionID := newSession(b, s)
		for pb.Next() {
			id := newTurn(b, s, sessionID)
			fence := claim(b, s, id, time.Minute)
			c := appended(id, fence, 1, payload)
			c.State, c.Messages = []byte(`{}`), [][]byte{[]byte(payload)}
			if err := s.Commit(b.Context(), c); err != nil {
				b.Error(err)
				return
			}
			f := finished(id, fence)
			f.Events = appended(id, fence, 2, payload).Events
			if err := s.Commit(b.Context(), f); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkPage lists 50 of an owner's 100,000 sessions, from the middle.
func BenchmarkPage(b *testing.B) {
	settings := database(b)
	s := open(b, settings)
	_, err := s.Pool().Exec(b.Context(), `INSERT INTO sessions (id, tenant, subject, agent_id, state, tip, created_at, updated_at, active_at)
		SELECT 's' || n, 'acme', 'alice', 'agent', 'active', '', now(), now(), now() - n * interval '1 second' FROM generate_series(1, 100000) n`)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Pool().Exec(b.Context(), "VACUUM ANALYZE sessions", pgx.QueryExecModeSimpleProtocol); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]store.SessionQuery{
		"owner":    {Scope: store.Of(alice)},
		"everyone": {Scope: store.Everything},
		"agent":    {Scope: store.Of(alice), AgentID: "agent", State: store.SessionActive},
	} {
		b.Run(name, func(b *testing.B) {
			q.Page.After = store.Cursor{Time: time.Now().Add(-50_000 * time.Second), ID: "s"}.String()
			b.ReportAllocs()
			for range b.N {
				page, err := s.Sessions(b.Context(), q)
				if err != nil || len(page.Sessions) != store.DefaultPage {
					b.Fatal(len(page.Sessions), err)
				}
			}
		})
	}
}

func BenchmarkRunPages(b *testing.B) {
	s := open(b, database(b))
	storetest.BenchmarkRunPages(b, s, func() {
		for _, statement := range []string{"UPDATE workflow_runs SET finished_at = updated_at", "VACUUM ANALYZE workflow_runs"} {
			if _, err := s.Pool().Exec(b.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
				b.Fatal(err)
			}
		}
	})
}
