package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fault is a plugin's action in a phase of some step.
type fault struct {
	plugin string
	phase  plugins.Phase
	step   int
	does   string // error, panic, stop, cancel, or the agent to hand off to
}

// course is the scenario of a turn of agents that share some of their plugins.
type course struct {
	// loads are the plugins of each agent.
	loads map[string][]string
	// answers are the model's answers: text, act, wait, fail or panic.
	answers []string
	faults  []fault
	// yields are the steps after which the worker stops.
	yields []int

	asked     int
	instances int
	log       []lived
}

// lived is a phase observed by a plugin.
type lived struct {
	agent, plugin string
	instance      int
	phase         plugins.Phase
}

func (l lived) String() string {
	return fmt.Sprintf("%s/%s#%d %s", l.agent, l.plugin, l.instance, l.phase)
}

// fataler is a test, or a check of a property.
type fataler interface{ Fatal(args ...any) }

var errFault = errors.New("fault")

// witness is a plugin that records its phases and injects the faults.
func (c *course) witness(agent, id string, cancel func()) plugin {
	return func(r *plugins.Registrar) {
		c.instances++
		instance := c.instances
		for _, phase := range plugins.Phases() {
			if phase == plugins.ToolGate {
				continue
			}
			r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error {
				c.log = append(c.log, lived{agent, id, instance, phase})
				if phase == plugins.RunEnd && p.Termination == nil {
					return errors.New("RunEnd does not know why")
				}
				for i, f := range c.faults {
					if f.plugin != id || f.phase != phase || f.step != p.Stats.Steps {
						continue
					}
					c.faults = slices.Delete(slices.Clone(c.faults), i, i+1)
					return commit(p, f.does, cancel)
				}
				return nil
			})
		}
	}
}

func commit(p *plugins.PhaseContext, what string, cancel func()) error {
	switch what {
	case "error":
		return errFault
	case "panic":
		panic("fault")
	case "stop":
		p.Stop(event.Termination{Type: event.BehaviorRequested})
	case "cancel":
		cancel()
	default:
		p.Handoff(what)
	}
	return nil
}

// Stream yields the model's next answer.
func (c *course) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	kind := "text"
	if c.asked < len(c.answers) {
		kind = c.answers[c.asked]
	}
	c.asked++
	return func(yield func(model.Event, error) bool) {
		switch kind {
		case "panic":
			panic("the model")
		case "fail":
			fails(&model.Error{Class: model.InvalidRequest, Message: "no"})(nil, yield)
		case "text":
			text("done")(nil, yield)
		default:
			asks("", callWith(fmt.Sprint("c", c.asked), kind, "{}"))(nil, yield)
		}
	}
}

// environment resolves an agent again.
func (c *course) environment(t fataler, agent string, cancel func()) (*spec.Agent, *backend.ExecutionEnv) {
	a := &spec.Agent{ID: agent, MaxHandoffs: new(4)}
	var loaded []execution.Loaded
	for _, id := range c.loads[agent] {
		loaded = append(loaded, execution.Loaded{ID: id, Plugin: c.witness(agent, id, cancel)})
	}
	loaded = append(loaded, execution.Loaded{ID: "gate", Plugin: asksFor("wait", "")},
		execution.Loaded{ID: core.MaxRoundsID, Plugin: core.MaxRounds{}, Core: true})
	env, errs := execution.Build(a, loaded, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	var entries []*toolset.Entry
	for _, id := range []string{"act", "wait"} {
		entry, _ := toolset.Compile(id, answers(id), toolset.Source{Kind: toolset.SourceGlobal})
		entries = append(entries, entry)
	}
	set := toolset.NewSet(entries)
	return a, &backend.ExecutionEnv{Model: c, Upstream: "m", Env: env, Tools: set, Offered: set.Declarations()}
}

// lifecycleHost resolves handoff targets.
type lifecycleHost struct {
	*host
	resolve func(agent string) (*spec.Agent, *backend.ExecutionEnv)
}

func (h lifecycleHost) Handoff(_ context.Context, agent string) (*spec.Agent, *backend.ExecutionEnv, error) {
	if agent == "gone" {
		return nil, nil, errors.New("there is no such agent")
	}
	a, env := h.resolve(agent)
	return a, env, nil
}

// run runs the turn to its end, including all continuations.
func (c *course) run(t fataler) {
	agent := "a"
	var state *backend.State
	for {
		ctx, cancel := context.WithCancel(context.Background())
		resolve := func(id string) (*spec.Agent, *backend.ExecutionEnv) { return c.environment(t, id, cancel) }
		a, env := resolve(agent)
		job := &backend.Job{
			TurnID: "turn", Agent: a, Input: []model.Message{model.User("go")}, Local: env, State: state,
			Limits: backend.Limits{Meter: backend.NewMeter(nil, nil, backend.Spent{})},
			Storage: backend.Storage{Checkpoint: func(_ context.Context, s *backend.State) error {
				if i := slices.Index(c.yields, s.Stats.Steps); i >= 0 {
					c.yields = slices.Delete(slices.Clone(c.yields), i, i+1)
					return backend.ErrYield
				}
				return nil
			}},
		}
		var events []event.Data
		h := lifecycleHost{&host{stage: &stage{}, events: &events}, resolve}
		result, err := local.Backend{}.Execute(ctx, job, h)
		cancel()
		if result.Termination.Type != event.Suspended && !errors.Is(err, backend.ErrYield) {
			return
		}
		data, err := json.Marshal(result.State)
		if err != nil {
			t.Fatal(err)
		}
		if state, err = backend.DecodeState(data); err != nil {
			t.Fatal(err)
		}
		agent = state.Agent
		for _, request := range state.Interactions() {
			if err := state.Answer(resume(request.ID, "true")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// broken describes a violation in the plugins' life cycles, or returns "".
func (c *course) broken() string {
	lives := map[int][]plugins.Phase{}
	begun := map[string]bool{}
	var order []int
	for _, l := range c.log {
		if lives[l.instance] == nil {
			order = append(order, l.instance)
		}
		lives[l.instance] = append(lives[l.instance], l.phase)
		switch {
		case l.phase == plugins.RunStart && begun[l.plugin]:
			return l.String() + ": it began twice"
		case l.phase == plugins.RunStart:
			begun[l.plugin] = true
		case l.phase == plugins.Activate, l.phase == plugins.Deactivate:
		case !begun[l.plugin]:
			return l.String() + ": it did not begin"
		case l.phase == plugins.RunEnd:
			begun[l.plugin] = false
		}
	}
	for id, still := range begun {
		if still {
			return id + " has not come to an end"
		}
	}
	for _, instance := range order {
		life := lives[instance]
		for _, phase := range []plugins.Phase{plugins.Activate, plugins.Deactivate} {
			if n := len(life) - len(slices.DeleteFunc(slices.Clone(life), func(p plugins.Phase) bool { return p == phase })); n != 1 {
				return fmt.Sprintf("instance %d saw %s %d times", instance, phase, n)
			}
		}
		if life[0] != plugins.Activate || life[len(life)-1] != plugins.Deactivate {
			return fmt.Sprintf("the life of instance %d is %v", instance, life)
		}
	}
	return ""
}

// TestPropertyThePhasesAtTheEndsArePaired runs turns with random handoffs, waits, worker stops,
// failures, panics and cancels in every phase.
func TestPropertyThePhasesAtTheEndsArePaired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"p", "q", "r"}
		c := &course{loads: map[string][]string{}}
		for _, agent := range []string{"a", "b", "c"} {
			c.loads[agent] = rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, 3, rapid.ID[string]).Draw(t, "plugins of "+agent)
		}
		c.answers = rapid.SliceOfN(rapid.SampledFrom([]string{"act", "act", "wait", "wait", "text", "fail", "panic"}), 0, 6).Draw(t, "answers")
		phases := slices.DeleteFunc(plugins.Phases(), func(p plugins.Phase) bool { return p == plugins.ToolGate })
		c.faults = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
			return fault{
				rapid.SampledFrom(ids).Draw(t, "plugin"), rapid.SampledFrom(phases).Draw(t, "phase"), rapid.IntRange(0, 5).Draw(t, "step"),
				rapid.SampledFrom([]string{"a", "b", "c", "b", "c", "gone", "error", "panic", "stop", "cancel"}).Draw(t, "does"),
			}
		}), 0, 6).Draw(t, "faults")
		c.yields = rapid.SliceOfN(rapid.IntRange(1, 5), 0, 3).Draw(t, "yields")
		c.run(t)
		if wrong := c.broken(); wrong != "" {
			t.Fatalf("%s\n%v", wrong, c.log)
		}
	})
}

// TestPhasesOfAHandoff has one plugin that both agents share and one for each agent alone.
func TestPhasesOfAHandoff(t *testing.T) {
	t.Parallel()
	c := &course{
		loads:   map[string][]string{"a": {"both", "old"}, "b": {"new", "both"}},
		answers: []string{"act"},
		faults:  []fault{{"old", plugins.StepStart, 1, "b"}},
	}
	c.run(t)
	var log []string
	for _, l := range c.log {
		switch l.phase {
		case plugins.Activate, plugins.RunStart, plugins.RunEnd, plugins.Deactivate:
			log = append(log, l.agent+"/"+l.plugin+" "+l.phase.String())
		default:
		}
	}
	want := []string{
		"a/both Activate", "a/old Activate", "a/both RunStart", "a/old RunStart",
		"a/old RunEnd", "a/both Deactivate", "a/old Deactivate",
		"b/new Activate", "b/both Activate", "b/new RunStart",
		"b/new RunEnd", "b/both RunEnd", "b/new Deactivate", "b/both Deactivate",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}
