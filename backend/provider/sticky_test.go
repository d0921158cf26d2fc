//go:build unix

package provider_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
)

func TestSessionsStayWithTheirProcesses(t *testing.T) {
	const (
		sessions, processes = 200, 4
		turns, clients      = 3, 8
	)
	r, _, log := newProcessRig(t, providertest.Steady, map[string]any{"pool": map[string]any{"min_ready": processes}})
	r.StartProviders()
	log.await(processes, "provider ready", "process")
	var mu sync.Mutex
	at := map[string]string{}
	var asking sync.WaitGroup
	for c := range clients {
		asking.Go(func() {
			for range turns {
				for i := c; i < sessions; i += clients {
					session := fmt.Sprintf("s%d", i)
					result, err := r.Run(t.Context(), promptOf(session, "who"), nil)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if before := at[session]; before != "" && before != result.Response {
						t.Errorf("session %s was at process %s, and then at %s", session, before, result.Response)
					}
					at[session] = result.Response
					mu.Unlock()
				}
			}
		})
	}
	asking.Wait()
	counts := map[string]int{}
	for _, process := range at {
		counts[process]++
	}
	if len(at) != sessions || len(counts) != processes {
		t.Errorf("%d sessions are at the processes %v", len(at), counts)
	}
	for process, n := range counts {
		if n < sessions/processes/2 || n > sessions/processes*2 {
			t.Errorf("process %s has %d of %d sessions", process, n, sessions)
		}
	}
}
