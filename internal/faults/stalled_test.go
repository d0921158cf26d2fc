package faults_test

import (
	"context"
	"iter"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// stalledHeap limits the heap growth caused by readers that never read, for a turn of about 20 MB
// of events.
const stalledHeap = 8 << 20

func TestReadersThatNeverReadHoldNothingUp(t *testing.T) {
	p := nowhere(t, onSQLite)
	e := visit(t, p)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	load := newWorkload(t, func(context.Context) (gateway, error) { return direct{e.Service}, nil })
	load.open(t, "session")
	alone := talkTime(t, load, e, "alone")

	load.make(t.Context(), "session", plan{Turn: "stalled", Steps: [][]string{{look}, {talk}, {talk}}}, true)
	var pulls []func() (event.Record, error, bool)
	for range 10 {
		next, stop := iter.Pull2(e.Events(t.Context(), alice, "stalled", 0))
		defer stop()
		if _, err, ok := next(); err != nil || !ok {
			t.Fatal(err, ok)
		}
		pulls = append(pulls, next)
	}
	before := heap()
	begun := time.Now()
	if _, err := e.WaitTurn(t.Context(), alice, "stalled"); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	if grown := heap() - before; grown > stalledHeap {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if took > 3*alone+2*time.Second {
		t.Errorf("it took %s, and %s without such readers", took, alone)
	}
	seq := uint64(1)
	for {
		record, err, ok := pulls[0]()
		if !ok {
			break
		}
		if seq++; err != nil || record.Seq != seq {
			t.Fatalf("after event %d comes %d, %v", seq-1, record.Seq, err)
		}
	}
	turn, err := e.GetTurn(t.Context(), alice, "stalled")
	if err != nil || turn.Seq != seq {
		t.Errorf("the turn has %d events, and %d were read, %v", turn.Seq, seq, err)
	}
	t.Logf("%d events in %s, %s without such readers", seq, took.Round(time.Millisecond), alone.Round(time.Millisecond))
}

// talkTime returns the duration of a turn with much output.
func talkTime(t *testing.T, load *workload, e *engine, id string) time.Duration {
	t.Helper()
	load.make(t.Context(), "session", plan{Turn: id, Steps: [][]string{{look}, {talk}, {talk}}}, true)
	begun := time.Now()
	if _, err := e.WaitTurn(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

// heap returns the number of bytes in use.
func heap() int64 {
	var stats goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
