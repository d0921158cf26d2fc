package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	stdruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// heapAfter returns the increase in memory use since before.
func heapAfter(before uint64) uint64 {
	stdruntime.GC()
	var now stdruntime.MemStats
	stdruntime.ReadMemStats(&now)
	return now.HeapAlloc - min(before, now.HeapAlloc)
}

func TestAFloodOfTextTakesNoMoreThanItsArtifact(t *testing.T) {
	const size = 50 << 20
	for name, flood := range map[string]tools.Tool{
		"content": does(func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.TextResult(strings.Repeat("x", size)), nil
		}),
		"data": does(func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.Result{Data: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}, nil
		}),
		"an error": does(func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.Result{}, fmt.Errorf("%s", strings.Repeat("x", size))
		}),
		"a panic": does(func(context.Context, *tools.Call) (tools.Result, error) { panic(strings.Repeat("x", size)) }),
	} {
		t.Run(name, func(t *testing.T) {
			before := heapAfter(0)
			s := stage{model: says(asks("", call("flood")), text("done")), tools: map[string]tools.Tool{"flood": flood}}
			var most uint64
			s.sees = func(d event.Data) {
				if d.Type() == event.TypeStepStart || d.Type() == event.TypeToolCallDone {
					most = max(most, heapAfter(before))
				}
			}
			got := s.play(t)
			got.ends(t, event.NaturalEnd, "")
			if result := got.results()[0]; len(result) > tools.MaxOutput+200 {
				t.Errorf("the model reads %d bytes", len(result))
			}
			if most > 3*size+size/4 {
				t.Errorf("at most %d MiB were used", most>>20)
			}
			// The call's goroutine, which is reused for the next call, may still refer to the
			// result.
			again, deadline := time.NewTicker(10*time.Millisecond), time.Now().Add(5*time.Second)
			defer again.Stop()
			for kept := heapAfter(before); kept > size+size/4; kept = heapAfter(before) {
				if time.Now().After(deadline) {
					t.Fatalf("%d MiB are kept", kept>>20)
				}
				<-again.C
			}
			stdruntime.KeepAlive(got)
		})
	}
}

func TestWhatAToolThatWaitsMayGetWrong(t *testing.T) {
	broken := json.RawMessage(`{"a":`)
	for _, tt := range []struct {
		name   string
		result tools.Result
		want   string // empty when the call waits
		open   []string
	}{
		{"no questions", tools.Result{Wait: &tools.Wait{}}, "x! the call cannot wait: it asks nothing", nil},
		{"no questions, but content", tools.Result{Wait: &tools.Wait{}, Content: []model.Part{model.Text("fine")}}, "x! the call cannot wait: it asks nothing", nil},
		{"content besides", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "q"}}}, Content: []model.Part{model.Text("fine")}, IsError: true}, "", []string{"q"}},
		{"the same question twice", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "q"}, {ID: "q"}, {ID: "q"}}}}, "", []string{"q", "q#2", "q#3"}},
		{"questions without ids", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}, {}}}}, "", []string{"x", "x#2"}},
		{"an id like that of another", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "q#2"}, {ID: "q"}, {ID: "q"}}}}, "", []string{"q#2", "q", "q#3"}},
		{"a state that is no JSON", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}}, State: broken}}, "x! the call cannot wait: its state is not JSON", nil},
		{"arguments that are no JSON", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Tool: "y", Arguments: broken}}}}, "x! the call cannot wait: the parameters or arguments of its question are not JSON", nil},
		{"parameters that are no JSON", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}, {Parameters: broken}}}}, "x! the call cannot wait: the parameters or arguments of its question are not JSON", nil},
		{"a schema that is no JSON", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ResponseSchema: broken}}}}, "x! the call cannot wait: its answer schema is not a valid JSON Schema: it is not JSON", nil},
		{"an invalid schema", tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ResponseSchema: json.RawMessage(`7`)}}}}, "x! the call cannot wait: its answer schema is not a valid JSON Schema: it must be", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stage{
				model: says(asks("", call("x")), text("done")),
				tools: map[string]tools.Tool{"x": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
					if c.Resumed != nil {
						return tools.TextResult(fmt.Sprint(len(c.Resumed.Answers))), nil
					}
					return tt.result, nil
				})},
			}
			got := s.play(t)
			if tt.want != "" {
				got.ends(t, event.NaturalEnd, "")
				if results := got.results(); !strings.HasPrefix(results[0], tt.want) || got.Journal[0].Outcome != event.CallFailed {
					t.Errorf("the results are %q, the journal says %s", results, got.Journal[0].Outcome)
				}
				return
			}
			got.ends(t, event.Suspended, "")
			var open []string
			var given []interaction.Answer
			for _, request := range got.Interactions {
				open = append(open, request.ID)
				given = append(given, resume(request.ID, `1`))
			}
			if !slices.Equal(open, tt.open) {
				t.Errorf("it waits for %q, want %q", open, tt.open)
			}
			second := s.goesOn(t, got.State, given...)
			second.ends(t, event.NaturalEnd, "")
			if want := fmt.Sprintf("x %d", len(open)); second.results()[0] != want {
				t.Errorf("the results are %q, want %q", second.results(), want)
			}
		})
	}
}

func TestAGateThatLetsACallWaitForNothingSensibleFailsTheCall(t *testing.T) {
	got := stage{
		model: says(asks("", call("x")), text("done")),
		tools: map[string]tools.Tool{"x": answers("ran")},
		plugins: []plugin{decides(plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{
			ResponseSchema: json.RawMessage(`{"type":"nothing"}`),
		}})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if results := got.results(); !strings.HasPrefix(results[0], "x! the call cannot wait: its answer schema") {
		t.Errorf("the results are %q", results)
	}
}

// A tool may still ask to wait after its timeout; it is then not abandoned, however long the other
// calls take.
func TestACallThatWaitsIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage{
			model: says(asks("", call("late"), call("slow")), text("done")),
			tools: map[string]tools.Tool{
				"late": like(tools.Descriptor{Timeout: time.Second}, func(ctx context.Context, c *tools.Call) (tools.Result, error) {
					if c.Resumed != nil {
						return tools.TextResult("told"), nil
					}
					<-ctx.Done()
					return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "q"}}}}, nil
				}),
				"slow": ignores(time.Minute, 20*time.Second),
			},
		}
		first := s.play(t)
		outlast()
		first.ends(t, event.Suspended, "")
		if got := first.done(); !slices.Equal(got, []string{"slow succeeded finished"}) {
			t.Errorf("what is done is %q", got)
		}
		second := s.goesOn(t, first.State, resume("q", `1`))
		second.ends(t, event.NaturalEnd, "")
		if got := second.results(); !slices.Equal(got, []string{"late told", "slow finished"}) {
			t.Errorf("the results are %q", got)
		}
	})
}

func TestWhatAToolAsksOfItsHostWhenItsCallIsOverIsRefused(t *testing.T) {
	var host tools.Host
	over, heard := make(chan struct{}), make(chan []string, 1)
	s := stage{
		model: says(asks("", call("x"), call("y")), text("done")),
		tools: map[string]tools.Tool{
			"x": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
				host = c.Host
				go func() {
					<-over
					var said []string
					c.Host.Progress("psst")
					_, err := c.Host.Delegate(context.Background(), tools.DelegateRequest{AgentID: "z"})
					said = append(said, fmt.Sprint(err), fmt.Sprint(c.Host.Handoff(context.Background(), "z")))
					heard <- said
				}()
				return tools.TextResult("ran"), nil
			}),
			"y": does(func(context.Context, *tools.Call) (tools.Result, error) {
				return tools.TextResult(strings.Join(<-heard, "; ")), nil
			}),
		},
		sees: func(d event.Data) {
			if done, ok := d.(*event.ToolCallDone); ok && done.ID == "x" {
				close(over)
			}
		},
		delegate: func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
			t.Error("a call that is over starts an agent")
			return nil, nil
		},
	}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	if want := "y call agent z: the tool call has ended; hand off to agent z: the tool call has ended"; got.results()[1] != want {
		t.Errorf("the results are %q", got.results())
	}
	host.Progress("psst")
	if err := host.Handoff(t.Context(), "z"); err == nil {
		t.Error("the turn is over and changes hands")
	}
	for _, d := range got.events {
		if d.Type() == event.TypeToolCallStreamDelta {
			t.Error("progress after the end is shown")
		}
	}
}

func TestAToolMayTalkFromManyGoroutines(t *testing.T) {
	got := stage{
		model: says(asks("", call("x"), call("y")), text("done")),
		tools: map[string]tools.Tool{
			"x": does(func(ctx context.Context, c *tools.Call) (tools.Result, error) {
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						for range 100 {
							c.Host.Progress("on")
						}
						if _, err := c.Host.Delegate(ctx, tools.DelegateRequest{AgentID: "z", Prompt: "p"}); err != nil {
							t.Error(err)
						}
						_ = c.Host.Handoff(ctx, "tester")
					})
				}
				all.Wait()
				return tools.TextResult("ran"), nil
			}),
			"y": does(func(context.Context, *tools.Call) (tools.Result, error) {
				stdruntime.Goexit()
				return tools.Result{}, nil
			}),
		},
		delegate: func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
			return &tools.DelegateResult{Outcome: event.Outcome{Usage: model.Usage{Input: 1}}, Status: event.StatusSucceeded}, nil
		},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if results := got.results(); !slices.Equal(results, []string{"x ran", "y! tool y ended without a result"}) {
		t.Errorf("the results are %q", results)
	}
	progress := 0
	for _, d := range got.events {
		if d.Type() == event.TypeToolCallStreamDelta {
			progress++
		}
	}
	if progress != 1000 || got.Usage.Input != 10+2*usage.Input {
		t.Errorf("%d pieces of progress, usage %+v", progress, got.Usage)
	}
}

// A person's answer or text has the same size limit as a tool's output.
func TestAFloodOfAnAnswerIsCut(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	for name, tt := range map[string]struct {
		mode   interaction.Mode
		answer interaction.Answer
	}{
		"a text":   {interaction.UseDecisionAsToolResult, resume("x", `"`+long+`"`)},
		"a list":   {interaction.UseDecisionAsToolResult, resume("x", `["`+long+`"]`)},
		"a reason": {interaction.ReplayToolCall, interaction.Answer{Target: "x", Action: interaction.Cancel, Reason: long}},
	} {
		s := stage{
			model:   says(asks("", call("x")), text("done")),
			tools:   map[string]tools.Tool{"x": answers("ran")},
			plugins: []plugin{asksFor("x", tt.mode)},
		}
		first := s.play(t)
		second := s.goesOn(t, first.State, tt.answer)
		second.ends(t, event.NaturalEnd, "")
		if got := second.results()[0]; len(got) > tools.MaxOutput+200 {
			t.Errorf("%s: the model reads %d bytes", name, len(got))
		}
	}
}
