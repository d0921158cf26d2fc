package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// stepwise returns a runtime whose agent "walker" makes n calls, one in each
// step, of a tool that waits until it may go on.
func stepwise(t testing.TB, n int) (rt *runtime.AgentRuntime, goOn chan<- struct{}) {
	t.Helper()
	may := make(chan struct{})
	step := turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		select {
		case <-may:
		case <-ctx.Done():
		}
		return tools.TextResult("step"), ctx.Err()
	})
	var list []turntest.Answer
	for i := range n {
		list = append(list, turntest.Calls(fmt.Sprint("c", i), "step", "{}"))
	}
	rounds := n + 1
	exec := turntest.Scripts(map[string][]turntest.Answer{"walker": append(list, turntest.Answer{Text: "arrived"})})
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "walker", MaxRounds: &rounds}).WithTool("step", step)), may
}

// follow reads all events of a turn after a seq, as JSON.
func follow(ctx context.Context, s *service.Service, id string, after uint64) ([][]byte, error) {
	var seen [][]byte
	for r, err := range s.Events(ctx, alice, id, after) {
		if err != nil {
			return seen, err
		}
		data, err := json.Marshal(r)
		if err != nil {
			return seen, err
		}
		seen = append(seen, data)
	}
	return seen, nil
}

func TestAllReadersSeeTheSameWhereverTheyAre(t *testing.T) {
	kept := newMemory(t)
	rt, goOn := stepwise(t, 4)
	s := serve(t, rt, on(kept))
	elsewhere := service.New(service.Settings{Store: kept})
	t.Cleanup(elsewhere.Close)
	turn := create(t, s, says(session(t, s, "walker"), "x"))
	var readers sync.WaitGroup
	seen := make([][][]byte, 8)
	for i := range seen {
		from := s
		if i%2 == 1 {
			from = elsewhere
		}
		readers.Go(func() {
			var err error
			if seen[i], err = follow(t.Context(), from, turn.ID, 0); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	for range 4 {
		goOn <- struct{}{}
	}
	readers.Wait()
	for i := range seen {
		if got, want := bytes.Join(seen[i], []byte("\n")), bytes.Join(seen[0], []byte("\n")); !bytes.Equal(got, want) {
			t.Errorf("reader %d sees\n%s\nnot\n%s", i, got, want)
		}
	}
	for i := range seen[0] { // and from every place on
		rest, err := follow(t.Context(), s, turn.ID, uint64(i+1))
		if err != nil || len(rest) != len(seen[0])-i-1 {
			t.Errorf("after %d there are %d events, %v", i+1, len(rest), err)
		}
	}
	if rest, err := follow(t.Context(), s, turn.ID, 1<<40); err != nil || len(rest) != 0 {
		t.Errorf("after the end there are %d events, %v", len(rest), err)
	}
}

func TestAReaderLeavesWhenItWants(t *testing.T) {
	rt, _ := stepwise(t, 1)
	s := serve(t, rt)
	turn := create(t, s, says(session(t, s, "walker"), "x"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range s.Events(ctx, alice, turn.ID, 0) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			break
		}
		cancel()
	}
	for range s.Events(t.Context(), alice, turn.ID, 0) {
		break
	}
	for _, err := range s.Events(t.Context(), alice, "unknown", 0) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the error is %v", err)
		}
	}
	go s.Close()
	if _, err := follow(t.Context(), s, turn.ID, 0); err == nil {
		t.Error("a closed service goes on")
	}
}

func TestAnEventStreamIsNotAnEventForEachToken(t *testing.T) {
	text := strings.Repeat("word ", 2000)
	exec := &turntest.Answerer{Answer: func(context.Context, string, int) turntest.Answer { return turntest.Answer{Text: text} }}
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})))
	turn := ended(t, s, create(t, s, says(session(t, s, "clerk"), "x")).ID)
	var got strings.Builder
	for _, r := range log(t, s, turn.ID) {
		ev, err := r.Event()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Data.(*event.TextDelta); ok {
			got.WriteString(d.Delta)
		}
	}
	if got.String() != text {
		t.Errorf("the deltas come to %d bytes, not %d", got.Len(), len(text))
	}
}

func TestARequestIsKeptAsItWasMade(t *testing.T) {
	exec := &turntest.Answerer{Answer: func(context.Context, string, int) turntest.Answer { return turntest.Answer{Text: `{"n": 1}`} }}
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})))
	warm, rounds := 0.5, 3
	req := says(session(t, s, "clerk"), "x")
	req.Params.Temperature, req.Overrides.MaxRounds = &warm, &rounds
	req.Overrides.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	turn := ended(t, s, create(t, s, req).ID)
	if turn.Status != store.Succeeded {
		t.Fatalf("the turn is %+v", turn.Outcome)
	}
	asked := exec.Requests["clerk"][0]
	if asked.Temperature == nil || *asked.Temperature != warm || asked.Output == nil {
		t.Errorf("the model was asked with %+v", asked)
	}
	if got := asked.Messages[len(asked.Messages)-1]; got.Role != model.RoleUser {
		t.Errorf("the last message is %+v", got)
	}
}
