package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// turnPatience is how long a turn may outlive its context: ten seconds, and one
// more for its tasks at peers.
const turnPatience = 11 * time.Second

// mostWork bounds how often a turn asks a model, runs a tool or enters a backend
// in all. A turn that waits does none of that again and again.
const mostWork = 8

// world is where one of the turns runs that wait.
type world struct {
	t *testing.T
	// work counts what was done for the turn.
	work atomic.Int64
	// release lets go what ignores its context.
	release chan struct{}
	// began lists the tasks at the peer, and ended those that were ended.
	mu           sync.Mutex
	began, ended []string
}

// did counts a piece of work. A turn that spins would never let the test's clock
// go on, so it is stopped here.
func (w *world) did() {
	if w.work.Add(1) > 1000 {
		w.t.Error("the turn spins")
		<-w.release
	}
}

func (w *world) note(list *[]string, task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, task)
}

// model is a model whose agents answer as scripted, one answer after another;
// those without a script wait as waits says.
func (w *world) model(lists map[string][]turntest.Answer, waits func(ctx context.Context) error) model.Executor {
	known := turntest.Scripts(lists)
	return executorFunc(func(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
		w.did()
		if lists[req.Model] != nil {
			return known.Stream(ctx, req)
		}
		return func(yield func(model.Event, error) bool) { yield(model.Event{}, waits(ctx)) }
	})
}

type executorFunc func(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error]

func (f executorFunc) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return f(ctx, req)
}

// patiently waits until ctx ends, and stubbornly until it is let go.
func patiently(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func (w *world) stubbornly(context.Context) error { <-w.release; return errors.New("let go") }

// tool is a tool that waits.
func (w *world) tool(waits func(ctx context.Context) error) tools.Tool {
	return turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		w.did()
		return tools.Result{}, waits(ctx)
	})
}

// peer is a backend whose turns are tasks, and which ends them when it is told to.
func (w *world) peer(execute func(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error)) backend.Backend {
	return &endingPeer{world: w, Remote: turntest.Remote{ExecuteFunc: func(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
		w.did()
		if job.State == nil {
			w.note(&w.began, "t1")
		}
		return execute(ctx, job, host)
	}}}
}

type endingPeer struct {
	*world
	turntest.Remote
}

func (p *endingPeer) Abort(_ context.Context, state *backend.State) error {
	p.note(&p.ended, "t"+string(state.Remote.Resume))
	return nil
}

// asks is the turn at a peer that asks something. It ends its task when it is
// entered again after the end of its context.
func (w *world) asks(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	if ctx.Err() != nil {
		w.note(&w.ended, "t1")
		return &backend.Result{}, ctx.Err()
	}
	return w.asksForEver(ctx, job, host)
}

// asksForEver is one that does not look at its context.
func (*world) asksForEver(_ context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	state := turntest.AsksAt(`1`)
	state.Agent = job.Agent.ID
	q := state.Remote.Interactions[0]
	host.Emit(&event.InteractionRequest{Request: interaction.Request{ID: q.ID, Action: q.Action, Message: q.Message}})
	return &backend.Result{Outcome: event.Outcome{Termination: event.Termination{Type: event.Suspended}}, Interactions: state.Interactions(), State: state}, nil
}

// silent is the turn at a peer that never answers.
func (w *world) silent(ctx context.Context, _ *backend.Job, _ backend.Host) (*backend.Result, error) {
	<-ctx.Done()
	time.Sleep(4 * time.Second) // it takes a while to end a task
	w.note(&w.ended, "t1")
	return &backend.Result{}, ctx.Err()
}

// hook returns a plugin that waits in a phase.
func (w *world) hook(phase plugins.Phase, waits func(ctx context.Context) error) plugins.Plugin {
	return turntest.Plugin(func(r *plugins.Registrar) {
		r.Hook(phase, func(ctx context.Context, _ *plugins.PhaseContext) error { w.did(); return waits(ctx) })
	})
}

// gate returns one that waits while it judges a call.
func (w *world) gate(waits func(ctx context.Context) error) plugins.Plugin {
	return turntest.Plugin(func(r *plugins.Registrar) {
		r.ToolGate(plugins.GateFunc(func(ctx context.Context, _ *plugins.PhaseContext) (plugins.Decision, error) {
			w.did()
			return plugins.Decision{}, waits(ctx)
		}))
	})
}

// callsRisky is the script of an agent that calls one tool.
var callsRisky = map[string][]turntest.Answer{"a": {turntest.Calls("r", "risky", "{}")}}

// busy is the error of a model that asks for a long wait.
func busy(context.Context) error {
	return &model.Error{Class: model.RateLimited, Message: "busy", RetryAfter: 50 * time.Second}
}

// waitings are all things that a turn can wait for. The agent that runs is a.
var waitings = map[string]func(w *world) *builder.AgentRuntimeBuilder{
	"a model": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(nil, patiently), spec.Agent{ID: "a"})
	},
	"a model that ignores its context": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(nil, w.stubbornly), spec.Agent{ID: "a"})
	},
	"the next attempt of a model call": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(nil, busy), retrying("a"))
	},
	"a tool":                          func(w *world) *builder.AgentRuntimeBuilder { return w.withTool(w.tool(patiently)) },
	"a tool that ignores its context": func(w *world) *builder.AgentRuntimeBuilder { return w.withTool(w.tool(w.stubbornly)) },
	"a hook":                          func(w *world) *builder.AgentRuntimeBuilder { return w.withPlugin(w.hook(plugins.StepStart, patiently)) },
	"a hook that ignores its context": func(w *world) *builder.AgentRuntimeBuilder {
		return w.withPlugin(w.hook(plugins.StepStart, w.stubbornly))
	},
	"the last hook": func(w *world) *builder.AgentRuntimeBuilder { return w.withPlugin(w.hook(plugins.RunEnd, w.stubbornly)) },
	"a hook before a tool": func(w *world) *builder.AgentRuntimeBuilder {
		return w.withPlugin(w.hook(plugins.BeforeToolExecute, w.stubbornly))
	},
	"a gate":                          func(w *world) *builder.AgentRuntimeBuilder { return w.withPlugin(w.gate(patiently)) },
	"a gate that ignores its context": func(w *world) *builder.AgentRuntimeBuilder { return w.withPlugin(w.gate(w.stubbornly)) },
	"a person":                        func(w *world) *builder.AgentRuntimeBuilder { return w.withPlugin(turntest.Cautious) },
	"a tool of the client":            func(w *world) *builder.AgentRuntimeBuilder { return w.withTool(clientTool) },
	"a person, asked by a delegate": func(w *world) *builder.AgentRuntimeBuilder {
		return w.withDelegate(spec.Agent{ID: "b", PluginIDs: []string{"p"}}).WithPlugin("p", turntest.Cautious)
	},
	"a delegate": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.AsksAgent("b")}}, patiently), boss("b"), spec.Agent{ID: "b"})
	},
	"a delegate that ignores its context": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.AsksAgent("b")}}, w.stubbornly), boss("b"), spec.Agent{ID: "b"})
	},
	"a pool": func(w *world) *builder.AgentRuntimeBuilder {
		b := turntest.WithAgents(w.model(nil, patiently), spec.Agent{ID: "x"}, spec.Agent{ID: "y"})
		agent := spec.Agent{ID: "a", ModelID: "pool"}
		return b.WithModelPool(spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "x"}, {ModelID: "y"}}}).WithAgentSpec(agent)
	},
	"a peer":                         func(w *world) *builder.AgentRuntimeBuilder { return w.withPeer("a", w.silent) },
	"a peer that asks":               func(w *world) *builder.AgentRuntimeBuilder { return w.withPeer("a", w.asks) },
	"a peer that asks for ever":      func(w *world) *builder.AgentRuntimeBuilder { return w.withPeer("a", w.asksForEver) },
	"a delegate at a peer":           func(w *world) *builder.AgentRuntimeBuilder { return w.withPeer("far", w.silent) },
	"a delegate at a peer that asks": func(w *world) *builder.AgentRuntimeBuilder { return w.withPeer("far", w.asks) },
	"a delegate of a delegate that asks": func(w *world) *builder.AgentRuntimeBuilder {
		return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.AsksAgent("b")}, "b": {turntest.AsksAgent("far")}}, patiently), boss("b"), spec.Agent{ID: "b", Delegates: []string{"far"}}, turntest.Far).
			WithBackend(turntest.Factory{Backend: w.peer(w.asks)})
	},
	"a tool beside a delegate that asks": func(w *world) *builder.AgentRuntimeBuilder {
		both := turntest.AsksAgent("far")
		both.Calls = append(both.Calls, turntest.Calls("r", "risky", "{}").Calls...)
		return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {both}}, patiently), boss("far"), turntest.Far).
			WithTool("risky", w.tool(w.stubbornly)).WithBackend(turntest.Factory{Backend: w.peer(w.asks)})
	},
}

func boss(delegate string) spec.Agent { return spec.Agent{ID: "a", Delegates: []string{delegate}} }

func retrying(id string) spec.Agent {
	return spec.Agent{ID: id, Sections: map[string]json.RawMessage{"retry": json.RawMessage(`{"max_retries":5}`)}}
}

// clientTool is a tool that somebody else executes.
var clientTool = turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "r", Action: "client:execute"}}, AnswerIsResult: true}}, nil
})

func (w *world) withTool(tool tools.Tool) *builder.AgentRuntimeBuilder {
	return turntest.WithAgents(w.model(callsRisky, patiently), spec.Agent{ID: "a"}).WithTool("risky", tool)
}

func (w *world) withPlugin(p plugins.Plugin) *builder.AgentRuntimeBuilder {
	return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.Calls("r", "risky", "{}"), {Text: "done"}}}, patiently), spec.Agent{ID: "a", PluginIDs: []string{"p"}}).
		WithTool("risky", turntest.Risky).WithPlugin("p", p)
}

func (w *world) withDelegate(b spec.Agent) *builder.AgentRuntimeBuilder {
	return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.AsksAgent("b")}, "b": {turntest.Calls("r", "risky", "{}")}}, patiently), boss("b"), b).WithTool("risky", turntest.Risky)
}

// withPeer has an agent at a peer: a itself, or its delegate.
func (w *world) withPeer(id string, execute func(context.Context, *backend.Job, backend.Host) (*backend.Result, error)) *builder.AgentRuntimeBuilder {
	there := turntest.Far
	there.ID = id
	agents := []spec.Agent{there}
	if id != "a" {
		agents = append(agents, boss(id))
	}
	return turntest.WithAgents(w.model(map[string][]turntest.Answer{"a": {turntest.AsksAgent("far")}}, patiently), agents...).WithBackend(turntest.Factory{Backend: w.peer(execute)})
}

// Whatever a turn waits for, and however its context ends, it ends soon after,
// with one terminal event, without doing anything in the meantime, and leaves no
// task at a peer.
func TestNoTurnOutlivesItsContextByMoreThanItsPatience(t *testing.T) {
	ends := map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"cancel": context.WithCancel,
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Second)
		},
	}
	for name, prepare := range waitings {
		for how, with := range ends {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &world{t: t, release: make(chan struct{})}
					rt := turntest.Build(t, prepare(w))
					ctx, end := with(t.Context())
					defer end()
					var log turntest.Events
					turn, err := rt.Start(ctx, runtime.Prompt("a", "go"), &log)
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // now it waits
					select {
					case <-turn.Done():
						t.Fatal("it does not wait")
					default:
					}
					if how == "cancel" {
						end()
					}
					<-ctx.Done()
					ended := time.Now()
					got, err := turn.Wait(context.WithoutCancel(ctx))
					if took := time.Since(ended); took > turnPatience {
						t.Errorf("it ended %s after its context", took)
					}
					if err == nil || got == nil || got.Status == event.StatusWaiting || got.State != nil {
						t.Errorf("it came to %+v, %v", got, err)
					}
					close(w.release)
					synctest.Wait()
					if errors.As(err, new(*runtime.AbandonedError)) { // nobody was left to close the step
						checkEnd(t, log.List)
					} else {
						turntest.CheckLog(t, log.List)
					}
					if n := w.work.Load(); n > mostWork {
						t.Errorf("it did %d things", n)
					}
					if diff := cmp.Diff(w.began, w.ended); diff != "" {
						t.Errorf("the tasks that began, and those that were ended: %s", diff)
					}
				})
			})
		}
	}
}

// checkEnd fails the test unless the last event, and no other, ends the turn.
func checkEnd(t *testing.T, list []event.Event) {
	t.Helper()
	for i := range list {
		if last := i == len(list)-1; list[i].Terminal() != last {
			t.Errorf("event %d of %d is %s", i+1, len(list), list[i].Data.Type())
		}
	}
}
