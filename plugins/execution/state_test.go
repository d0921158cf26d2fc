package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	visits = plugins.NewKey[int]("test.visits", plugins.ScopeSession)
	tags   = plugins.NewKey("test.tags", plugins.ScopeSession, plugins.Merge(func(committed, own []string) []string {
		all := slices.Concat(committed, own)
		slices.Sort(all)
		return slices.Compact(all)
	}))
)

// exported returns an engine's state, as it comes back from where it is kept.
func exported(t *testing.T, e *execution.Engine) execution.State {
	t.Helper()
	s := e.Export()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var kept execution.State
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// restored returns an engine that goes on where another one is.
func restored(t *testing.T, from *execution.Engine, list ...plugin) *execution.Engine {
	t.Helper()
	e := engine(t, list...)
	if err := e.Restore(exported(t, from)); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPropertyARestoredEngineBehavesLikeTheOneBefore runs phases with random
// hooks, once on one engine and once on engines that each restore the one before.
func TestPropertyARestoredEngineBehavesLikeTheOneBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		phases := []plugins.Phase{plugins.StepStart, plugins.BeforeInference, plugins.StepEnd}
		script := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 30).Draw(rt, "script")
		at := 0
		does := func(_ context.Context, p *plugins.PhaseContext) error {
			switch n := script[at%len(script)]; n {
			case 0:
				count.Update(p, func(n int) int { return n + 1 })
			case 1:
				visits.Set(p, at)
			case 2:
				tags.Update(p, func(l []string) []string { return append(slices.Clone(l), fmt.Sprint(at)) })
			case 3, 4:
				p.Schedule("later", entry{At: at, Deep: []string{"x"}})
			case 5:
				p.Handoff(fmt.Sprint("agent", at))
			default:
				p.Request().Exclude = append(p.Request().Exclude, fmt.Sprint(at))
			}
			return nil
		}
		world := func(r *plugins.Registrar) {
			r.StateKey(count)
			r.StateKey(visits)
			r.StateKey(tags)
			for _, phase := range phases {
				r.Hook(phase, does)
			}
			plugins.HandleAction(r, "later", plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext, e entry) error {
				count.Set(p, count.Get(p)*7+e.At+len(e.Deep))
				return nil
			})
		}
		whole, parts := engine(t, world), engine(t, world)
		for i := range script {
			at = i
			run(t, whole, phases[i%len(phases)])
			run(t, parts, phases[i%len(phases)])
			parts = restored(t, parts, world)
			if diff := cmp.Diff(exported(t, whole), exported(t, parts)); diff != "" {
				rt.Fatalf("after %d phases (-whole +in parts):\n%s", i+1, diff)
			}
		}
		if a, b := whole.HandoffRequest(), parts.HandoffRequest(); a != b {
			rt.Fatalf("the whole hands off to %q, the parts to %q", a, b)
		}
	})
}

type entry struct {
	At   int      `json:"at"`
	Deep []string `json:"deep"`
}

func TestStateOfAMissingPluginIsKept(t *testing.T) {
	t.Parallel()
	kept := execution.State{
		Run:     map[string]json.RawMessage{"gone.run": json.RawMessage(`{"a":1}`), "test.count": json.RawMessage("4")},
		Session: map[string]json.RawMessage{"gone.session": json.RawMessage(`[1]`), "gone.old": json.RawMessage(`2`)},
		Written: []string{"gone.session"},
		Actions: []execution.ScheduledAction{{Key: "gone.act", Payload: json.RawMessage(`"x"`)}},
	}
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.Hook(plugins.StepStart, sets(5))
	})
	if err := e.Restore(kept); err != nil {
		t.Fatal(err)
	}
	for _, phase := range plugins.Phases() {
		run(t, e, phase)
	}
	kept.Run["test.count"] = json.RawMessage("5")
	if diff := cmp.Diff(kept, exported(t, e)); diff != "" {
		t.Error(diff)
	}
	if letters := e.DeadLetters(); letters != nil {
		t.Errorf("the dead letters are %v", letters)
	}
}

func TestStateThatDoesNotFitItsKeyIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.StateKey(visits)
		r.StateKey(tags)
	})
	err := e.Restore(execution.State{
		Run:     map[string]json.RawMessage{"test.count": json.RawMessage(`"many"`)},
		Session: map[string]json.RawMessage{"test.tags": json.RawMessage(`{`), "test.visits": json.RawMessage("3")},
	})
	failure, ok := errors.AsType[*execution.StateError](err)
	if !ok || failure.Key != "test.count" {
		t.Errorf("the error is %v", err)
	}
	want := `state key "test.count": json: cannot unmarshal string into Go value of type int` + "\n" +
		`state key "test.tags": unexpected end of JSON input`
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
	if got := exported(t, e); got.Session != nil || got.Run != nil {
		t.Errorf("it restored %+v", got)
	}
}

func TestANewTurnOfASessionHasOnlyWhatTheSessionKeeps(t *testing.T) {
	t.Parallel()
	world := func(r *plugins.Registrar) {
		r.StateKey(count)
		r.StateKey(visits)
		r.Hook(plugins.RunStart, func(_ context.Context, p *plugins.PhaseContext) error {
			count.Update(p, func(n int) int { return n + 1 })
			visits.Update(p, func(n int) int { return n + 1 })
			return nil
		})
	}
	first := engine(t, world)
	run(t, first, plugins.RunStart)
	second := engine(t, world)
	if err := second.Restore(execution.State{Session: exported(t, first).Session}); err != nil {
		t.Fatal(err)
	}
	if got := exported(t, second); got.Written != nil {
		t.Errorf("the new turn is said to have written %q", got.Written)
	}
	run(t, second, plugins.RunStart)
	want := execution.State{
		Run:     map[string]json.RawMessage{"test.count": json.RawMessage("1")},
		Session: map[string]json.RawMessage{"test.visits": json.RawMessage("2")},
		Written: []string{"test.visits"},
	}
	if diff := cmp.Diff(want, exported(t, second)); diff != "" {
		t.Error(diff)
	}
}

func TestSessionStateOfTurnsThatOverlapIsMerged(t *testing.T) {
	t.Parallel()
	world := func(r *plugins.Registrar) {
		r.StateKey(visits)
		r.StateKey(tags)
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			tags.Update(p, func(l []string) []string { return append(slices.Clone(l), "own") })
			return nil
		})
		r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error { visits.Set(p, 9); return nil })
	}
	begun := map[string]json.RawMessage{
		"test.visits": json.RawMessage("1"), "test.tags": json.RawMessage(`["old"]`), "gone": json.RawMessage("1"),
	}
	committed := map[string]json.RawMessage{
		"test.visits": json.RawMessage("2"), "test.tags": json.RawMessage(`["old","their"]`), "gone": json.RawMessage("2"),
	}
	for name, tt := range map[string]struct {
		phases []plugins.Phase
		want   map[string]string
	}{
		"what was not written is theirs":         {nil, map[string]string{"test.visits": "2", "test.tags": `["old","their"]`, "gone": "2"}},
		"a key that merges is both":              {[]plugins.Phase{plugins.StepStart}, map[string]string{"test.visits": "2", "test.tags": `["old","own","their"]`, "gone": "2"}},
		"an exclusive key is as it was set last": {[]plugins.Phase{plugins.StepEnd}, map[string]string{"test.visits": "9", "test.tags": `["old","their"]`, "gone": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine(t, world)
			if err := e.Restore(execution.State{Session: begun}); err != nil {
				t.Fatal(err)
			}
			for _, phase := range tt.phases {
				run(t, e, phase)
			}
			e = restored(t, e, world) // that a turn was suspended changes nothing
			for range 2 {             // nor that it is merged twice
				if err := e.MergeSession(committed); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]string{}
			for id, raw := range exported(t, e).Session {
				got[id] = string(raw)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	e := engine(t, world)
	if err := e.MergeSession(map[string]json.RawMessage{"test.visits": json.RawMessage(`"x"`)}); err == nil {
		t.Error("it merged what is no number")
	}
}

func TestAValueWithoutJSONFailsTheHookThatSetsIt(t *testing.T) {
	t.Parallel()
	ch := plugins.NewKey[chan int]("test.chan", plugins.ScopeRun)
	for name, bad := range map[string]plugins.Hook{
		"state": func(_ context.Context, p *plugins.PhaseContext) error { ch.Set(p, make(chan int)); return nil },
		"an action that waits": func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("later", make(chan int))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine(t, func(r *plugins.Registrar) { r.StateKey(count); r.Hook(plugins.StepStart, sets(1)) },
				func(r *plugins.Registrar) {
					r.StateKey(ch)
					r.Hook(plugins.StepStart, bad)
					r.ActionHandler("later", plugins.StepEnd, func(context.Context, *plugins.PhaseContext, any) error { return nil })
				})
			err := e.Run(t.Context(), plugins.StepStart)
			failure, ok := errors.AsType[*execution.HookError](err)
			if !ok || failure.Plugin != "p1" || failure.Phase != plugins.StepStart {
				t.Errorf("the error is %v", err)
			}
			if got := e.Snapshot(); got != nil {
				t.Errorf("it committed %s", got)
			}
		})
	}
}

func TestAnActionOfTheSamePhaseMayCarryAnything(t *testing.T) {
	t.Parallel()
	var got any
	ch := make(chan int)
	e := engine(t, func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error { p.Schedule("now", ch); return nil })
		r.ActionHandler("now", plugins.StepStart, func(_ context.Context, _ *plugins.PhaseContext, payload any) error {
			got = payload
			return nil
		})
	})
	run(t, e, plugins.StepStart)
	if got != ch {
		t.Errorf("the handler got %v", got)
	}
}

func TestPayloadsAreTyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		payload any
		fails   string
	}{
		"as it was scheduled": {payload: entry{At: 1, Deep: []string{"x"}}},
		"as it was restored":  {payload: json.RawMessage(`{"at":1,"deep":["x"]}`)},
		"another type":        {payload: "x", fails: "the payload is a string, want execution_test.entry"},
		"nothing":             {payload: nil, fails: "the payload is a <nil>, want execution_test.entry"},
		"other JSON":          {payload: json.RawMessage(`[]`), fails: "the payload is not a execution_test.entry: json: cannot unmarshal array into Go value of type execution_test.entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var acted, affected []entry
			e := engine(t, func(r *plugins.Registrar) {
				r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
					p.Schedule("act", tt.payload)
					p.Effect("affect", tt.payload)
					return nil
				})
				plugins.HandleAction(r, "act", plugins.StepStart, func(_ context.Context, _ *plugins.PhaseContext, e entry) error {
					acted = append(acted, e)
					return nil
				})
				plugins.HandleEffect(r, "affect", func(_ context.Context, e entry) error { affected = append(affected, e); return nil })
			})
			run(t, e, plugins.StepStart)
			want := []entry{{At: 1, Deep: []string{"x"}}}
			if tt.fails != "" {
				want = nil
			}
			if diff := cmp.Diff([][]entry{want, want}, [][]entry{acted, affected}); diff != "" {
				t.Error(diff)
			}
			for _, l := range e.DeadLetters() {
				if l.Err.Error() != tt.fails {
					t.Errorf("a dead letter says %q, want %q", l.Err, tt.fails)
				}
			}
			if n := len(e.DeadLetters()); n != 0 && tt.fails == "" || n != 2 && tt.fails != "" {
				t.Errorf("there are %d dead letters", n)
			}
		})
	}
}

func TestTheFirstHandoffCountsAndIsTakenOnce(t *testing.T) {
	t.Parallel()
	asks := func(agent string) plugins.Hook {
		return func(_ context.Context, p *plugins.PhaseContext) error { p.Handoff(agent); return nil }
	}
	world := func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, asks("first"))
		r.Hook(plugins.StepStart, asks("second"))
		r.Hook(plugins.StepEnd, asks("third"))
		r.Hook(plugins.RunEnd, asks("fourth"))
		r.Hook(plugins.RunEnd, fails)
	}
	e := engine(t, world)
	run(t, e, plugins.StepStart)
	run(t, e, plugins.StepEnd)
	e = restored(t, e, world)
	if a, b := e.HandoffRequest(), e.HandoffRequest(); a != "first" || b != "" {
		t.Errorf("the engine hands off to %q, then %q", a, b)
	}
	if err := e.Run(t.Context(), plugins.RunEnd); err == nil || e.HandoffRequest() != "" {
		t.Error("a phase that failed hands off")
	}
}

func TestPluginsEmitEventsAndCountWhatTheyUse(t *testing.T) {
	t.Parallel()
	e := engine(t, func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Emit(&event.ContextTrimmed{Dropped: 3})
			p.Emit(nil)
			p.AddUsage(model.Usage{Input: 7, Output: 2}, "small")
			return nil
		})
	})
	run(t, e, plugins.StepStart) // nobody listens
	var emitted []event.Data
	var spent []string
	e.Context.Stats = &plugins.Stats{Usage: model.Usage{Input: 1}}
	e.Emit = func(d event.Data) { emitted = append(emitted, d) }
	e.Spend = func(u model.Usage, id string) { spent = append(spent, fmt.Sprint(id, " ", u.Total())) }
	run(t, e, plugins.StepStart)
	if diff := cmp.Diff([]event.Data{&event.ContextTrimmed{Dropped: 3}}, emitted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"small 9"}, spent); diff != "" {
		t.Error(diff)
	}
	if got := e.Context.Stats.Usage; got != (model.Usage{Input: 8, Output: 2}) {
		t.Errorf("the usage is %+v", got)
	}
}

func TestAnIdlePhaseCostsNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	e := engine(t, func(r *plugins.Registrar) { r.Hook(plugins.StepEnd, sets(1)) })
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = e.Run(ctx, plugins.StepStart) }); n != 0 || !e.Idle(plugins.StepStart) || e.Idle(plugins.StepEnd) {
		t.Errorf("it costs %v allocations", n)
	}
}
