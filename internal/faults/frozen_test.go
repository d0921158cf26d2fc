package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// news delivers the process that works on a turn.
type news chan struct {
	worker *process
	turn   string
}

func newNews() news {
	return make(news, 1<<12)
}

func (n news) tell(p *process, turnID string) {
	n <- struct {
		worker *process
		turn   string
	}{p, turnID}
}

// until waits for a process other than the given one to make progress on a turn.
func (n news) until(t *testing.T, turnID string, other *process) *process {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case is := <-n:
			if is.turn == turnID && is.worker != other {
				return is.worker
			}
		case <-deadline:
			t.Fatalf("nobody works on turn %s", turnID)
		}
	}
}

func TestAWorkerThatWasFrozenWritesNothingAndLivesOn(t *testing.T) {
	t.Parallel()
	p := nowhere(t, onPostgres)
	p.Lease = 600 * time.Millisecond
	reader := visit(t, p)
	reader.Listen()
	told := newNews()
	one := newFleet(t, p, 1, told.tell)
	two := newFleet(t, p, 1, told.tell)
	for _, f := range []*fleet{one, two} { // both are there
		if _, err := f.gateway(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	load := newWorkload(t, func(context.Context) (gateway, error) { return direct{reader.Service}, nil })
	load.open(t, "session")
	release := filepath.Join(t.TempDir(), "release")
	long := plan{Turn: "long", Steps: [][]string{{wait}, {pay, put}}, File: release}
	load.make(t.Context(), "session", long, true)
	frozen := told.until(t, "long", nil)
	atTool(t, p, "long", callID(0, 0), 1)
	frozen.signal(syscall.SIGSTOP)
	survivor := told.until(t, "long", frozen)
	atTool(t, p, "long", callID(0, 0), 2)
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	load.end(t, "long")
	before := everything(t, reader.store, "session", "long")

	frozen.signal(syscall.SIGCONT)
	if survivor == one.slots[0] {
		one, two = two, one
	}
	two.finish(t) // the rest is for the frozen process
	load.follow(t, "session", plan{Turn: "next", Steps: [][]string{{pay}, {put}}})
	if by := told.until(t, "next", nil); by != frozen {
		t.Error("somebody else works on")
	}
	after := everything(t, reader.store, "session", "long")
	after.tip = before.tip // the other turn moved it
	if !reflect.DeepEqual(before, after) {
		t.Errorf("it was\n%+v\nand is\n%+v", before, after)
	}
	one.finish(t)
	t.Log(inspect(t, p, load))
}

// atTool waits until a call has begun the given number of times.
func atTool(t *testing.T, p *place, turn, call string, times int) {
	t.Helper()
	marked(t, p, turn, call, begins, times)
}

// marked waits until the witness has the given number of marks for a call.
func marked(t *testing.T, p *place, turn, call, what string, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := poll(ctx, func() bool {
		n := 0
		for _, m := range readWitness(t, p.Witness) {
			if m.Turn == turn && m.Call == call && m.What == what {
				n++
			}
		}
		return n >= times
	}); err != nil {
		t.Fatalf("call %s of turn %s: no %s number %d", call, turn, what, times)
	}
}

// records holds all stored records of a turn.
type records struct {
	tip      string
	turn     store.Turn
	events   []event.Record
	messages [][]byte
	journal  []store.JournalRow
	snapshot store.Snapshot
}

func everything(t *testing.T, kept store.Store, sessionID, turnID string) records {
	t.Helper()
	ctx := t.Context()
	session, err := kept.Session(ctx, store.Everything, sessionID)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := kept.Turn(ctx, store.Everything, turnID)
	if err != nil {
		t.Fatal(err)
	}
	r := records{tip: session.Tip, turn: *turn}
	if r.events, err = kept.Events(ctx, turnID, 0, 1000); err != nil {
		t.Fatal(err)
	}
	if r.messages, err = kept.OwnMessages(ctx, turnID); err != nil {
		t.Fatal(err)
	}
	if r.journal, err = kept.Journal(ctx, turnID); err != nil {
		t.Fatal(err)
	}
	snapshot, err := kept.Snapshot(ctx, store.Everything, turn.SnapshotID)
	if err != nil {
		t.Fatal(err)
	}
	r.snapshot = *snapshot
	return r
}
