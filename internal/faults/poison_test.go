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

func TestATurnThatTakesTooMuchMemoryFailsAndItsProcessLives(t *testing.T) {
	for _, driver := range []string{onSQLite, onPostgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			p := nowhere(t, driver)
			p.Memory, p.Strikes = 300<<20, plenty
			workers := newFleet(t, p, 1, nil)
			load := newWorkload(t, workers.gateway)
			load.open(t, "session")
			load.open(t, "beside")
			load.follow(t, "beside", plan{Turn: "innocent", Steps: [][]string{{look}, {put}}, Pace: 50 * time.Millisecond})
			load.follow(t, "session", plan{Turn: "greedy", Steps: [][]string{{pay}, {grow}}})
			load.follow(t, "session", plan{Turn: "next", Steps: [][]string{{put}}})
			workers.finish(t)

			kept, err := p.store(t.Context(), zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			greedy, outcome := result(t, kept, "greedy")
			if greedy.Status != store.Failed || outcome.Termination.Code != service.CodeMemory || greedy.Strikes != 0 {
				t.Errorf("the turn is %s with %d strikes: %+v", greedy.Status, greedy.Strikes, outcome)
			}
			for _, id := range []string{"innocent", "next"} {
				if other, outcome := result(t, kept, id); other.Status != store.Succeeded || other.Strikes != 0 {
					t.Errorf("turn %s is %s with %d strikes: %+v", id, other.Status, other.Strikes, outcome)
				}
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
