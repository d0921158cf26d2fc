package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// takeOver limits the time until another replica continues a turn, with the default lease.
const takeOver = 6 * time.Second

func TestAnotherReplicaGoesOnWithinTheLeaseAndASecond(t *testing.T) {
	t.Parallel()
	p := nowhere(t, onPostgres)
	reader := visit(t, p)
	reader.Listen()
	told := newNews()
	workers := newFleet(t, p, 2, told.tell)
	load := newWorkload(t, func(context.Context) (gateway, error) { return direct{reader.Service}, nil })
	load.open(t, "session")
	release := filepath.Join(t.TempDir(), "release")
	load.make(t.Context(), "session", plan{Turn: "long", Steps: [][]string{{wait}}, File: release}, true)
	by := told.until(t, "long", nil)
	var gaps []time.Duration
	for n := range 3 {
		atTool(t, p, "long", callID(0, 0), n+1)
		for slot := range 2 { // there is another one
			if _, err := workers.worker(t.Context(), slot); err != nil {
				t.Fatal(err)
			}
		}
		killed := time.Now()
		by.kill()
		by = told.until(t, "long", by)
		gaps = append(gaps, time.Since(killed))
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	load.end(t, "long")
	workers.finish(t)
	inspect(t, p, load)
	t.Logf("from a kill to the next step elsewhere: %s", percentiles(gaps))
	if half := gaps[len(gaps)/2]; half > takeOver { // a busy machine may delay one of them
		t.Errorf("it took %s until somebody went on", half)
	}
}
