package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// life is a turn with everything in it: two agents that hand the conversation
// to each other, delegates that wait, tools that wait, fail and panic.
type life struct {
	// script are the answers of the models of both agents, in the order in which
	// they are asked.
	script []turntest.Answer
	mode   spec.ToolExecution
	rounds int
	// refuses chooses which calls are refused.
	refuses uint32

	mu    sync.Mutex
	asked int
}

// drawLife draws the script of a turn.
func drawLife(t *rapid.T) *life {
	names := rapid.SampledFrom([]string{
		"good", "bad", "panics", "risky", "risky", "waits", "survey", "agent_run_sub", "agent_run_sub", "hand_off_to_a", "hand_off_to_b", "unknown",
	})
	l := &life{
		mode:    rapid.SampledFrom([]spec.ToolExecution{spec.Parallel, spec.Sequential}).Draw(t, "mode"),
		rounds:  rapid.IntRange(0, 6).Draw(t, "rounds"),
		refuses: rapid.Uint32Range(0, 7).Draw(t, "refuses"),
	}
	ids := 0
	for range rapid.IntRange(1, 6).Draw(t, "answers") {
		a := turntest.Answer{Text: rapid.SampledFrom([]string{"", "hm"}).Draw(t, "text")}
		for range rapid.IntRange(0, 4).Draw(t, "calls") {
			c := model.ToolCall{Name: names.Draw(t, "tool"), Arguments: []byte(`{}`)}
			if c.Name == "agent_run_sub" {
				c.Arguments = []byte(`{"prompt":"help"}`)
			}
			if rapid.Bool().Draw(t, "id") {
				ids++
				c.ID = fmt.Sprintf("id%d", ids)
			}
			a.Calls = append(a.Calls, c)
		}
		l.script = append(l.script, a)
	}
	if rapid.IntRange(0, 3).Draw(t, "breaks") == 0 {
		l.script = append(l.script, turntest.Answer{Text: "half", Err: &model.Error{Class: model.Unauthorized}})
	}
	return l
}

// Stream answers from the script. The delegate makes two calls that wait, and
// answers with what they came to, whenever it is asked.
func (l *life) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		out := l.next(req)
		for _, ev := range out.Events() {
			if !yield(ev, nil) {
				return
			}
		}
		if out.Err != nil {
			yield(model.Event{}, out.Err)
		}
	}
}

func (l *life) next(req *model.Request) turntest.Answer {
	if req.Model == "sub" {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != model.RoleTool {
			return turntest.Answer{Calls: slices.Concat(turntest.Calls("r1", "risky", "{}").Calls, turntest.Calls("r2", "risky", "{}").Calls)}
		}
		return turntest.Answer{Text: fmt.Sprintf("sub: %s, %s", last.Parts[0].ToolResult.Content[0].Text, last.Parts[1].ToolResult.Content[0].Text)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.asked > len(l.script) {
		return turntest.Answer{Text: "done"}
	}
	return l.script[l.asked-1]
}

// runtime returns a runtime for one playing of the turn.
func (l *life) runtime(t fataler) *runtime.AgentRuntime {
	t.Helper()
	l.asked = 0
	agent := spec.Agent{PluginIDs: []string{"cautious", "counting"}, ToolExecution: l.mode, MaxRounds: &l.rounds, Delegates: []string{"sub"}, MaxHandoffs: new(3)}
	a, b := agent, agent
	a.ID, a.Handoffs = "a", []string{"b"}
	b.ID, b.Handoffs = "b", []string{"a"}
	fails := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, errors.New("bad") })
	rt, err := turntest.WithAgents(l, a, b, spec.Agent{ID: "sub", PluginIDs: []string{"cautious"}}).
		WithPlugin("cautious", turntest.Cautious).WithPlugin("counting", counting).
		WithTool("good", turntest.Risky).WithTool("bad", fails).WithTool("risky", turntest.Risky).WithTool("waits", waits).WithTool("survey", survey).
		WithTool("panics", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { panic("oops") })).Build()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// reply is the answer to an interaction, always the same for the same call.
func (l *life) reply(id, callID string) interaction.Answer {
	h := fnv.New32a()
	_, _ = h.Write([]byte(callID))
	if h.Sum32()%8 < l.refuses/2 {
		return interaction.Answer{Target: id, Action: interaction.Cancel, Reason: "no"}
	}
	return turntest.Yes(id)
}

// course is what happens to a turn from outside.
type course struct {
	// stops are the boundaries between steps at which it stops, and goes on.
	stops []bool
	// answers say, for each time that the turn waits, how many of the open
	// interactions are answered, from which one on; nil answers all.
	answers []int
	// cancelAt is the event at which it is canceled; 0 never.
	cancelAt int
}

func drawCourse(t *rapid.T) course {
	return course{
		stops:   rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "stops"),
		answers: rapid.SliceOfN(rapid.IntRange(0, 9), 1, 24).Draw(t, "answers"),
	}
}

// some returns answers to some of the open interactions, in some order.
func (c *course) some(l *life, open []*interaction.Request, turn int) []interaction.Answer {
	var given []interaction.Answer
	for _, request := range open {
		given = append(given, l.reply(request.ID, request.CallID))
	}
	if len(given) == 0 || turn >= len(c.answers) {
		return given
	}
	n := c.answers[turn]
	first := n % len(given)
	given = slices.Concat(given[first:], given[:first])
	if n%2 == 0 {
		slices.Reverse(given)
	}
	return given[:n%(len(given)+1)]
}

// activations plays the turn with Run, from one stop or wait to the next.
func (l *life) activations(t *rapid.T, c course) (*runtime.Result, []event.Event, error) {
	rt := l.runtime(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log turntest.Events
	sink := event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if len(log.List) == c.cancelAt {
			cancel()
		}
	})
	req, boundary := runtime.Prompt("a", "go"), 0
	req.TurnID = "turn"
	req.Checkpoint = func(context.Context, *backend.State) error {
		boundary++
		if boundary <= len(c.stops) && c.stops[boundary-1] {
			return backend.ErrYield
		}
		return nil
	}
	for turn := range 60 {
		got, err := rt.Run(ctx, req, sink)
		if got == nil && ctx.Err() != nil {
			ctx = context.Background() // canceled while it waits, it waits on
			got, err = rt.Run(ctx, req, sink)
		}
		if got == nil {
			t.Fatal(err)
		}
		if got.State == nil {
			return got, log.List, err
		}
		req.State = kept(t, got.State)
		req.Answers = c.some(l, req.State.Interactions(), turn)
	}
	t.Fatal("the turn does not end")
	return nil, nil, nil
}

// background plays the turn with Start, answering from other goroutines.
func (l *life) background(t *rapid.T, c course) (*runtime.Result, []event.Event, error) {
	rt := l.runtime(t)
	var log turntest.Events
	var turn *runtime.Turn
	var all sync.WaitGroup
	ready := make(chan struct{})
	sink := event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if len(log.List) == c.cancelAt {
			all.Go(func() { <-ready; turn.Cancel(nil) })
		}
		if q, ok := ev.Data.(*event.InteractionRequest); ok {
			all.Go(func() { <-ready; _ = turn.Answer(l.reply(q.ID, q.CallID)) })
		}
	})
	req := runtime.Prompt("a", "go")
	req.TurnID = "turn"
	turn, err := rt.Start(context.Background(), req, sink)
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	got, err := turn.Wait(context.Background())
	all.Wait()
	if open := turn.Interactions(); len(open) != 0 {
		t.Errorf("a turn that is over waits for %d answers", len(open))
	}
	return got, log.List, err
}

// checkLife fails the test when events, of all activations, are not those of one
// whole turn.
func checkLife(t turntest.Tester, list []event.Event) {
	t.Helper()
	ready, done, open := map[string]int{}, map[string]int{}, 0
	for i := range list {
		if list[i].Seq != uint64(i+1) {
			t.Errorf("event %d has the number %d", i+1, list[i].Seq)
		}
		switch d := list[i].Data.(type) {
		case *event.ToolCallReady:
			ready[d.ID]++
		case *event.ToolCallDone:
			done[d.ID]++
		case *event.StepStart:
			open++
		case *event.StepEnd:
			open--
		case *event.RunFinish:
			if last := i == len(list)-1; last == (d.Status == event.StatusWaiting) {
				t.Errorf("event %d of %d ends the turn as %s", i+1, len(list), d.Status)
			}
		}
	}
	if open != 0 {
		t.Errorf("%d steps were never closed", open)
	}
	for id, n := range ready {
		if n != 1 || done[id] != 1 {
			t.Errorf("call %s was ready %d times and done %d times", id, n, done[id])
		}
	}
	if len(done) != len(ready) {
		t.Errorf("%d calls were ready, %d are done", len(ready), len(done))
	}
	if len(list) == 0 || !list[len(list)-1].Terminal() {
		t.Errorf("the turn has no end")
	}
}

// came returns what a turn came to, whatever the order in which its calls were
// answered.
func came(t *rapid.T, r *runtime.Result, err error) string {
	slices.SortStableFunc(r.Journal, func(x, y backend.JournalEntry) int {
		return cmp.Or(x.Step-y.Step, strings.Compare(x.CallID, y.CallID))
	})
	return outcome(t, r, err)
}

func TestATurnComesToTheSameHoweverItIsAnsweredAndStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t)
		whole, log, err := l.activations(t, course{})
		checkLife(t, log)
		turntest.CheckMessages(t, whole.Messages)
		want := came(t, whole, err)

		pieces, log, err := l.activations(t, drawCourse(t))
		checkLife(t, log)
		if diff := gocmp.Diff(want, came(t, pieces, err)); diff != "" {
			t.Errorf("in pieces it comes to something else (-whole +pieces):\n%s", diff)
		}

		answered, log, err := l.background(t, course{})
		checkLife(t, log)
		if diff := gocmp.Diff(want, came(t, answered, err)); diff != "" {
			t.Errorf("in the background it comes to something else (-whole +background):\n%s", diff)
		}
	})
}

func TestATurnThatIsCanceledAnywhereEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, c := drawLife(t), drawCourse(t)
		c.cancelAt = rapid.IntRange(1, 60).Draw(t, "canceled at")
		got, log, err := l.activations(t, c)
		checkLife(t, log)
		turntest.CheckMessages(t, got.Messages)
		if bad := got.Status == event.StatusFailed || got.Status == event.StatusCanceled; bad != (err != nil) {
			t.Errorf("the turn ended %s with %v", got.Status, err)
		}
		got, log, _ = l.background(t, c)
		checkLife(t, log)
		turntest.CheckMessages(t, got.Messages)
	})
}
