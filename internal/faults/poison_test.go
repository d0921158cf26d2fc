package faults_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

func TestATurnThatKillsEachOfItsWorkersEndsAsPoison(t *testing.T) {
	for _, driver := range []string{onSQLite, onPostgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			p := nowhere(t, driver)
			p.Lease, p.Strikes = 600*time.Millisecond, 0 // the default
			workers := newFleet(t, p, 1, nil)
			load := newWorkload(t, workers.gateway)
			load.open(t, "session")
			load.follow(t, "session", plan{Turn: "poison", Steps: [][]string{{pay}, {die}}})
			load.follow(t, "session", plan{Turn: "next", Steps: [][]string{{put}}})
			workers.finish(t)

			kept, err := p.store(t.Context(), zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			poison, outcome := result(t, kept, "poison")
			if poison.Status != store.Failed || outcome.Termination.Code != service.CodePoison {
				t.Errorf("the turn is %s: %+v", poison.Status, outcome)
			}
			if next, outcome := result(t, kept, "next"); next.Status != store.Succeeded || next.ParentSnapshotID != "" {
				t.Errorf("the turn after is %s: %+v", next.Status, outcome)
			}
			begun := map[string]int{}
			for _, m := range readWitness(t, p.Witness) {
				if m.Turn == "poison" && m.What == begins {
					begun[m.Call]++
				}
			}
			if begun[callID(0, 0)] != 1 || begun[callID(1, 0)] != service.DefaultStrikes {
				t.Errorf("its calls were made %v times", begun)
			}
		})
	}
}

// result returns a turn and what it came to.
func result(t *testing.T, kept store.Store, id string) (*store.Turn, event.Outcome) {
	t.Helper()
	turn, err := kept.Turn(t.Context(), store.Everything, id)
	if err != nil {
		t.Fatal(err)
	}
	var outcome event.Outcome
	if err := json.Unmarshal(turn.Result, &outcome); err != nil {
		t.Fatal(err)
	}
	return turn, outcome
}
