package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// The first death that a turn causes hits all turns of the process. The second one hits only
// turns that the first one hit, and the third one only the turn itself.
func TestATurnThatKillsItsWorkersHitsNoNewTurns(t *testing.T) {
	for _, driver := range []string{onSQLite, onPostgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			p := nowhere(t, driver)
			p.Lease, p.Strikes = 600*time.Millisecond, 0 // the default
			workers := newFleet(t, p, 1, nil)
			load := newWorkload(t, workers.gateway)
			release := filepath.Join(t.TempDir(), "release")
			for _, id := range []string{"beside-0", "beside-1", "beside-2"} {
				load.open(t, id)
				load.make(t.Context(), id, plan{Turn: id, Steps: [][]string{{wait}, {put}}, File: release}, true)
				atTool(t, p, id, callID(0, 0), 1)
			}
			victim, err := workers.worker(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			load.open(t, "session")
			load.make(t.Context(), "session", plan{Turn: "poison", Steps: [][]string{{die}}}, true)
			<-victim.gone
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var over atomic.Bool
			var later sync.WaitGroup
			for n := range 4 {
				session := fmt.Sprintf("later-%d", n)
				load.open(t, session)
				later.Go(func() {
					for i := 0; !over.Load(); i++ {
						id := fmt.Sprintf("%s.%d", session, i)
						if !load.make(t.Context(), session, plan{Turn: id, Steps: [][]string{{put}}, Pace: 5 * time.Millisecond}, true) {
							return
						}
						load.watch(t.Context(), id, 0, rand.New(rand.NewPCG(0, 0)))
					}
				})
			}
			load.end(t, "poison")
			over.Store(true)
			later.Wait()
			for id := range load.turns {
				load.end(t, id)
			}
			workers.finish(t)

			kept, err := p.store(t.Context(), zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			if poison, outcome := result(t, kept, "poison"); poison.Status != store.Failed || outcome.Termination.Code != service.CodePoison {
				t.Errorf("the turn is %s: %+v", poison.Status, outcome)
			}
			for id := range load.turns {
				other, outcome := result(t, kept, id)
				if id != "poison" && other.Status != store.Succeeded {
					t.Errorf("turn %s is %s: %+v", id, other.Status, outcome)
				}
				if strings.HasPrefix(id, "later") && other.Fence != 1 {
					t.Errorf("turn %s was claimed %d times", id, other.Fence)
				}
			}
			hit := cutShort(readWitness(t, p.Witness), "poison")
			t.Logf("%d later turns; the deaths hit %v", len(load.turns)-4, hit)
			if len(hit) != service.DefaultStrikes || len(hit[0]) != 3 || len(hit[2]) != 0 {
				t.Errorf("the deaths hit %v", hit)
			}
		})
	}
}

// cutShort returns the other turns with a call under way at each death that a turn caused.
func cutShort(marks []mark, turn string) [][]string {
	var killed []int
	running := map[int]map[string]int{}
	for _, m := range marks {
		if running[m.PID] == nil {
			running[m.PID] = map[string]int{}
		}
		switch {
		case m.Turn == turn:
			killed = append(killed, m.PID)
		case m.What == begins:
			running[m.PID][m.Turn]++
		default:
			running[m.PID][m.Turn]--
		}
	}
	hit := make([][]string, len(killed))
	for i, pid := range killed {
		for id, n := range running[pid] {
			if n > 0 {
				hit[i] = append(hit[i], id)
			}
		}
		slices.Sort(hit[i])
	}
	return hit
}

// result returns a turn and its outcome.
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
