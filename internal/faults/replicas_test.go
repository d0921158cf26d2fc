package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// pair returns two services on one database: the first works, the second only observes.
func pair(t *testing.T) (p *place, load *workload, looks *engine) {
	t.Helper()
	p = nowhere(t, onPostgres)
	works := visit(t, p)
	if err := works.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	looks = visit(t, p)
	looks.Listen()
	load = newWorkload(t, func(context.Context) (gateway, error) { return direct{looks.Service}, nil })
	load.open(t, "session")
	return p, load, looks
}

func TestATurnIsFollowedAndAnsweredThroughAnotherReplica(t *testing.T) {
	t.Parallel()
	p, load, looks := pair(t)
	begun := time.Now()
	load.follow(t, "session", plan{Turn: "first", Steps: [][]string{{look}, {sign, put}, {sign}, {pay}}})
	load.follow(t, "session", plan{Turn: "second", Steps: [][]string{{sign}}})
	if took := time.Since(begun); took > 10*time.Second { // each wait without notification takes two
		t.Errorf("it took %s", took)
	}
	a := check(t.Context(), t, looks.store, load, readWitness(t, p.Witness))
	if a.succeeded != 2 {
		t.Error(a)
	}
}

func TestATurnIsCanceledThroughAnotherReplicaWhileItsToolIsSilent(t *testing.T) {
	t.Parallel()
	p, load, looks := pair(t)
	load.make(t.Context(), "session", plan{Turn: "silent", Steps: [][]string{{hang}}}, true)
	atTool(t, p, "silent", callID(0, 0), 1)
	begun := time.Now()
	load.cancel(t.Context(), "silent")
	marked(t, p, "silent", callID(0, 0), stops, 1)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("its tool was stopped after %s", took)
	}
	load.end(t, "silent")
	load.follow(t, "session", plan{Turn: "next", Steps: [][]string{{put}}})
	if turn, err := looks.store.Turn(t.Context(), store.Everything, "silent"); err != nil || turn.Status != store.Canceled {
		t.Errorf("the turn is %+v, %v", turn, err)
	}
	check(t.Context(), t, looks.store, load, readWitness(t, p.Witness))
}
