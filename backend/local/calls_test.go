package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestCallsRunAtTheSameTimeAndKeepTheirOrder(t *testing.T) {
	// Each call waits for the next: run sequentially, they would wait forever.
	var turns [4]chan struct{}
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	waits := like(tools.Descriptor{Parameters: json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`)},
		func(_ context.Context, c *tools.Call) (tools.Result, error) {
			var in struct{ N int }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return tools.Result{}, err
			}
			if in.N+1 < len(turns) {
				<-turns[in.N+1]
			}
			close(turns[in.N])
			return tools.TextResult(fmt.Sprint(in.N)), nil
		})
	var calls []model.ToolCall
	for i := range turns {
		calls = append(calls, callWith(fmt.Sprintf("c%d", i), "wait", fmt.Sprintf(`{"n":%d}`, i)))
	}
	got := stage{model: says(asks("", calls...), text("done")), tools: map[string]tools.Tool{"wait": waits}}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{"c0 0", "c1 1", "c2 2", "c3 3"}, got.results()); diff != "" {
		t.Error(diff)
	}
}

// overlap counts concurrent calls.
type overlap struct {
	now, most atomic.Int32
	order     []string
	mu        sync.Mutex
}

func (o *overlap) tool(d tools.Descriptor) tools.Tool {
	return like(d, func(_ context.Context, c *tools.Call) (tools.Result, error) {
		n := o.now.Add(1)
		defer o.now.Add(-1)
		for {
			most := o.most.Load()
			if n <= most || o.most.CompareAndSwap(most, n) {
				break
			}
		}
		o.mu.Lock()
		o.order = append(o.order, c.ID)
		o.mu.Unlock()
		runtime.Gosched()
		return tools.TextResult("ok"), nil
	})
}

func TestSequentialCallsRunOneAfterAnother(t *testing.T) {
	var o overlap
	got := stage{
		agent: spec.Agent{ToolExecution: spec.Sequential},
		model: says(asks("", callWith("a", "x", "{}"), callWith("b", "x", "{}"), callWith("c", "x", "{}")), text("done")),
		tools: map[string]tools.Tool{"x": o.tool(tools.Descriptor{})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{"a", "b", "c"}, o.order); diff != "" || o.most.Load() != 1 {
		t.Errorf("%d calls ran at the same time, in the order %q", o.most.Load(), o.order)
	}
}

func TestSerialToolsRunByThemselves(t *testing.T) {
	var o overlap
	got := stage{
		model: says(asks("", callWith("a", "alone", "{}"), callWith("b", "alone", "{}"), callWith("c", "nothing", "{}"), callWith("d", "alone", "{}")), text("done")),
		tools: map[string]tools.Tool{"alone": o.tool(tools.Descriptor{Serial: true})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if o.most.Load() != 1 || !slices.Equal(o.order, []string{"a", "b", "d"}) {
		t.Errorf("%d serial calls ran at the same time, in the order %q", o.most.Load(), o.order)
	}
}

func TestASequentialCallIsJudgedAfterTheOneBeforeIt(t *testing.T) {
	unlocked := plugins.NewKey[bool]("test.unlocked", plugins.ScopeRun)
	lock := plugin(func(r *plugins.Registrar) {
		r.StateKey(unlocked)
		r.Hook(plugins.AfterToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			unlocked.Set(p, unlocked.Get(p) || p.Call.Name == "key")
			return nil
		})
		r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			if p.Call.Name == "door" && !unlocked.Get(p) {
				return plugins.Decision{Kind: plugins.Block, Reason: "locked"}, nil
			}
			return plugins.Decision{}, nil
		}))
	})
	for mode, want := range map[spec.ToolExecution]string{
		spec.Sequential: "door open",
		spec.Parallel:   "door! locked",
	} {
		got := stage{
			agent:   spec.Agent{ToolExecution: mode},
			model:   says(asks("", call("key"), call("door")), text("done")),
			tools:   map[string]tools.Tool{"key": answers("turned"), "door": answers("open")},
			plugins: []plugin{lock},
		}.play(t)
		got.ends(t, event.NaturalEnd, "")
		if results := got.results(); len(results) != 2 || results[1] != want {
			t.Errorf("%s: the results are %q, want %q", mode, results, want)
		}
	}
}

func TestACallThatGoesWrongIsAResultAndTheTurnGoesOn(t *testing.T) {
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	tool := func(run func(context.Context, *tools.Call) (tools.Result, error)) tools.Tool {
		return like(tools.Descriptor{Parameters: city}, run)
	}
	set := map[string]tools.Tool{
		"weather": tool(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("sunny"), nil }),
		"error": tool(func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.TextResult("lost"), errors.New("no such city")
		}),
		"panic":  tool(func(context.Context, *tools.Call) (tools.Result, error) { panic("oops") }),
		"goexit": tool(func(context.Context, *tools.Call) (tools.Result, error) { runtime.Goexit(); return tools.Result{}, nil }),
		"silly":  tool(func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, (*sillyError)(nil) }),
		"refuse": tool(func(context.Context, *tools.Call) (tools.Result, error) { return tools.ErrorResult("no"), nil }),
	}
	for _, tt := range []struct {
		name string
		call model.ToolCall
		want string // part of the result
	}{
		{"unknown tool", callWith("c", "wether", `{"city":"Rome"}`), `c! there is no tool "wether"; did you mean "weather"?`},
		{"nothing like it", callWith("c", "quux", `{}`), `c! there is no tool "quux"`},
		{"no JSON", callWith("c", "weather", `city: Rome`), "c! tool_input_invalid: the arguments are not a JSON object"},
		{"two values", callWith("c", "weather", `{"city":"Rome"}{}`), "c! tool_input_invalid"},
		{"a list", callWith("c", "weather", `["Rome"]`), "c! tool_input_invalid: it is an array, but must be an object"},
		{"missing", callWith("c", "weather", `{}`), `c! tool_input_invalid: "city" is required`},
		{"nothing at all", callWith("c", "weather", ``), `c! tool_input_invalid: "city" is required`},
		{"null", callWith("c", "weather", ` null `), `c! tool_input_invalid: "city" is required`},
		{"type", callWith("c", "weather", `{"city":7}`), "c! tool_input_invalid: city: it is a number, but must be a string"},
		{"extra", callWith("c", "weather", `{"city":"Rome","day":1}`), `c! tool_input_invalid: day: "day" is not a known key`},
		{"error", callWith("c", "error", `{"city":"Rome"}`), "c! no such city"},
		{"panic", callWith("c", "panic", `{"city":"Rome"}`), "c! tool panic panicked: oops"},
		{"Goexit", callWith("c", "goexit", `{"city":"Rome"}`), "c! tool goexit ended without a result"},
		{"error that panics", callWith("c", "silly", `{"city":"Rome"}`), "c! tool silly panicked"},
		{"error result", callWith("c", "refuse", `{"city":"Rome"}`), "c! no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{model: says(asks("", tt.call), text("done")), tools: set}.play(t)
			got.ends(t, event.NaturalEnd, "")
			if results := got.results(); len(results) != 1 || !strings.HasPrefix(results[0], tt.want) {
				t.Errorf("the results are %q, want %q", results, tt.want)
			}
			if got.Response != "done" {
				t.Errorf("the turn came to %q", got.Response)
			}
		})
	}
}

// sillyError panics when its methods are called.
type sillyError struct{ text string }

func (e *sillyError) Error() string { return e.text }

func TestArgumentsCutOffAnywhereAreToldToTheModel(t *testing.T) {
	const args = `{"city":"Köln","days":[1,2.5e1],"ok":true}`
	ran := 0
	set := map[string]tools.Tool{"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
		ran++
		return tools.TextResult("ran"), nil
	})}
	for n := 1; n < len(args); n++ {
		got := stage{model: says(asks("", callWith("c", "x", args[:n])), text("done")), tools: set}.play(t)
		got.ends(t, event.NaturalEnd, "")
		if results := got.results(); len(results) != 1 || !strings.HasPrefix(results[0], "c! tool_input_invalid") {
			t.Errorf("%q: the results are %q", args[:n], results)
		}
		if sent := got.Messages[0].ToolCalls()[0].Arguments; string(sent) != args[:n] {
			t.Errorf("the conversation keeps the arguments %q, want %q", sent, args[:n])
		}
		if _, err := json.Marshal(got.Messages); err != nil {
			t.Errorf("%q: the messages cannot be stored: %v", args[:n], err)
		}
	}
	if ran != 0 {
		t.Errorf("the tool ran %d times", ran)
	}
}

func TestCallIDsThatAreMissingOrRepeatedAreMadeUnique(t *testing.T) {
	got := stage{
		model: says(
			asks("", callWith("", "x", "{}"), callWith("same", "x", "{}"), callWith("same", "x", "{}"), callWith("", "x", "{}")),
			asks("", callWith("", "x", "{}")),
			text("done"),
		),
		tools: map[string]tools.Tool{"x": answers("ok")},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{"call_1_0 ok", "same ok", "call_1_2 ok", "call_1_3 ok", "call_2_0 ok"}, got.results()); diff != "" {
		t.Error(diff)
	}
}

func TestAResultThatIsTooLongIsCut(t *testing.T) {
	const size = 50 << 20
	got := stage{
		model: says(asks("", call("flood")), text("done")),
		tools: map[string]tools.Tool{"flood": answers(strings.Repeat("é", size/2))},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	result := got.results()[0]
	if len(result) > tools.MaxOutput+200 || !strings.Contains(result, "\n[cut: the output has 52428800 bytes in all]") {
		t.Errorf("the model reads %d bytes ending in %q", len(result), result[len(result)-60:])
	}
}

func TestACallKnowsForWhomItIsMade(t *testing.T) {
	var seen []string
	got := stage{
		agent: spec.Agent{ToolExecution: spec.Sequential},
		model: says(asks("", callWith("a", "x", `{"n":1}`)), asks("", callWith("b", "x", `{"n":2}`)), text("done")),
		tools: map[string]tools.Tool{"x": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			seen = append(seen, strings.Join([]string{c.ID, c.Tool, string(c.Arguments), c.TurnID, c.SessionID, c.AgentID, fmt.Sprint(c.Step), c.IdempotencyKey}, " "))
			return tools.Result{}, nil
		})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	want := []string{
		`a x {"n":1} turn session tester 1 turn/1/a`,
		`b x {"n":2} turn session tester 2 turn/2/b`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestTheCallsOfATurnHaveDifferentIDs(t *testing.T) {
	got := stage{
		model: says(asks("", callWith("call_0", "x", "{}")), asks("", callWith("call_0", "x", "{}"), callWith("call_1", "x", "{}")), asks("", callWith("call_0", "x", "{}")), text("done")),
		tools: map[string]tools.Tool{"x": answers("ran")},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{"call_0 ran", "call_2_0 ran", "call_1 ran", "call_3_0 ran"}, got.results()); diff != "" {
		t.Error(diff)
	}
	checkKept(t, got.Messages)
}

func TestProgressIsShownBeforeTheResultAndNeverBehindIt(t *testing.T) {
	var late tools.Host
	got := stage{
		agent: spec.Agent{ToolExecution: spec.Sequential},
		model: says(asks("", call("works"), call("meddles")), text("done")),
		tools: map[string]tools.Tool{
			"works": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
				late = c.Host
				c.Host.Progress("half")
				return tools.TextResult("whole"), nil
			}),
			"meddles": does(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
				late.Progress("too late")
				if _, err := late.Delegate(ctx, tools.DelegateRequest{AgentID: "other"}); err == nil {
					t.Error("a call that is over may still call an agent")
				}
				return tools.TextResult("done"), nil
			}),
		},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	var shown []string
	for _, d := range got.events {
		if d, ok := d.(*event.ToolCallStreamDelta); ok {
			shown = append(shown, d.ID+" "+d.Delta)
		}
	}
	if diff := cmp.Diff([]string{"works half"}, shown); diff != "" {
		t.Error(diff)
	}
}

func TestADelegateShowsWhatItDoesAndCountsItsTokens(t *testing.T) {
	set := map[string]tools.Tool{"agent_run_other": &agenttool.Delegate{AgentID: "other"}}
	for _, tt := range []struct {
		name   string
		answer func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error)
		states []string
		result string
		tokens int
	}{
		{"succeeds", func(_ context.Context, r tools.DelegateRequest) (*tools.DelegateResult, error) {
			if r.CallID != "c" || r.Prompt != "help" {
				t.Errorf("the request is %+v", r)
			}
			return &tools.DelegateResult{Outcome: event.Outcome{Response: "helped", Steps: 3, Usage: model.Usage{Input: 100}}, TurnID: "t2", Status: event.StatusSucceeded}, nil
		}, []string{
			`c delegate {"agent":"other","state":"running"}`,
			`c delegate {"agent":"other","state":"succeeded","steps":3,"usage":{"input_tokens":100,"output_tokens":0}}`,
		}, "c helped", 130},
		{"fails", func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
			return &tools.DelegateResult{
				Outcome: event.Outcome{Usage: model.Usage{Output: 7}, Termination: event.Termination{Type: event.Failed, Code: "provider", Detail: "down"}}, TurnID: "t2", Status: event.StatusFailed,
			}, nil
		}, []string{
			`c delegate {"agent":"other","state":"running"}`,
			`c delegate {"agent":"other","state":"failed","usage":{"input_tokens":0,"output_tokens":7}}`,
		}, "c! agent other did not finish: error provider: down", 37},
		{"cannot start", func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
			return nil, errors.New("too deep")
		}, []string{
			`c delegate {"agent":"other","state":"running"}`,
			`c delegate {"agent":"other","state":"failed","detail":"too deep"}`,
		}, "c! too deep", 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{
				model: says(asks("", callWith("c", "agent_run_other", `{"prompt":"help"}`)), text("done")),
				tools: set, delegate: tt.answer,
			}.play(t)
			got.ends(t, event.NaturalEnd, "")
			var states []string
			for _, d := range got.events {
				if d, ok := d.(*event.ActivitySnapshot); ok {
					states = append(states, d.MessageID+" "+d.ActivityType+" "+string(d.Content))
				}
			}
			if diff := cmp.Diff(tt.states, states); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{tt.result}, got.results()); diff != "" {
				t.Error(diff)
			}
			if got.Usage.Total() != tt.tokens {
				t.Errorf("the turn used %d tokens, want %d", got.Usage.Total(), tt.tokens)
			}
		})
	}
}
