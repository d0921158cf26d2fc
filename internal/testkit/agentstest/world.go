package agentstest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/tools"
)

// World has the agents used by the cases.
type World struct {
	Model   *Model
	Service *service.Service
	Set     *agents.Set
}

// New returns a world whose service keeps turns in a store and works on them until the test ends.
// The caller closes the store.
func New(t testing.TB, kept store.Store, queue dispatch.Dispatcher) *World {
	t.Helper()
	return NewOn(t, kept, queue, nil)
}

// NewOn is New for agents with a separate snapshot store; nil uses the service's store.
func NewOn(t testing.TB, kept store.Store, queue dispatch.Dispatcher, snapshots agents.SnapshotStore) *World {
	t.Helper()
	w := &World{Model: new(Model)}
	list, err := define(snapshots)
	if err != nil {
		t.Fatal(err)
	}
	b := builder.New().WithProvider("main", w.Model).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).
		WithTool("testTool", testTool{}).WithTool("interruptTool", interruptTool{}).WithTool("restartTool", restartTool{})
	for name, tool := range map[string]string{
		"promptAgent": "", "promptAgentWithStore": "", "promptAgentWithTools": "testTool", "promptAgentWithInterrupt": "interruptTool", "promptAgentWithRestartTool": "restartTool",
	} {
		allowed := spec.Names{}
		if tool != "" {
			allowed = append(allowed, tool)
		}
		b.WithAgentSpec(spec.Agent{ID: name, ModelID: "m", AllowedTools: allowed})
	}
	if err := agents.Install(b, list...); err != nil {
		t.Fatal(err)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	w.Service = service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: queue})
	if err := w.Service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Service.Close()
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.Set, err = agents.NewSet(agents.Settings{Service: w.Service, Agents: list}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Set.Close)
	return w
}

// counters is the custom state of agents.
type counters struct {
	Counter int    `json:"counter"`
	Status  string `json:"status,omitempty"`
}

// define returns the agents.
func define(snapshots agents.SnapshotStore) ([]agents.Definition, error) {
	type code = func(context.Context, *agents.Turn[counters]) (*agents.Result, error)
	var list []agents.Definition
	var errs []error
	add := func(a agents.Definition, err error) {
		list, errs = append(list, a), append(errs, err)
	}
	onClient := agents.Options[counters]{ClientManaged: true}
	onServer := agents.Options[counters]{Snapshots: snapshots}
	for _, name := range []string{"promptAgent", "promptAgentWithTools"} {
		add(agents.Declared(name, onClient))
	}
	for _, name := range []string{"promptAgentWithStore", "promptAgentWithInterrupt", "promptAgentWithRestartTool"} {
		add(agents.Declared(name, onServer))
	}
	for name, do := range map[string]code{
		"customAgentWithArtifacts": sendArtifacts, "customAgentWithCustomState": count, "customAgentWithMultiCustomState": countTwice,
	} {
		add(agents.Custom(name, do, onClient))
	}
	for name, do := range map[string]code{
		"customAgentBlocking": block, "customAgentFailing": fail, "customAgentWithArtifactsStore": addArtifact, "customAgentWithCustomStateStore": count,
	} {
		add(agents.Custom(name, do, onServer))
	}
	return list, errors.Join(errs...)
}

func block(ctx context.Context, _ *agents.Turn[counters]) (*agents.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func fail(context.Context, *agents.Turn[counters]) (*agents.Result, error) {
	return nil, agents.Error(wire.StatusInternal, "intentional failure")
}

func sendArtifacts(_ context.Context, t *agents.Turn[counters]) (*agents.Result, error) {
	return &agents.Result{Text: "done"}, errors.Join(send(t, "doc1", "v1"), send(t, "doc1", "v2"), send(t, "doc2", "other"))
}

func addArtifact(_ context.Context, t *agents.Turn[counters]) (*agents.Result, error) {
	if len(t.History()) == 0 {
		return &agents.Result{Text: "done"}, send(t, "doc1", "content1")
	}
	return &agents.Result{Text: "done"}, send(t, "doc2", "content2")
}

func send(t *agents.Turn[counters], name, text string) error {
	return t.SendArtifact(wire.Artifact{Name: name, Parts: []wire.Part{wire.NewTextPart(text)}})
}

func count(_ context.Context, t *agents.Turn[counters]) (*agents.Result, error) {
	return &agents.Result{Text: "done"}, t.Update(func(c *counters) error {
		c.Counter++
		return nil
	})
}

func countTwice(_ context.Context, t *agents.Turn[counters]) (*agents.Result, error) {
	for _, change := range []func(c *counters){
		func(c *counters) { c.Counter, c.Status = 1, "working" }, func(c *counters) { c.Counter = 2 }, func(c *counters) { c.Status = "done" },
	} {
		if err := t.Update(func(c *counters) error { change(c); return nil }); err != nil {
			return nil, err
		}
	}
	return &agents.Result{Text: "done"}, nil
}

// testTool answers at once.
type testTool struct{}

// Descriptor describes the tool.
func (testTool) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

// Call answers.
func (testTool) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult("tool called"), nil
}

// interruptTool waits for its result.
type interruptTool struct{}

// Descriptor describes the tool.
func (interruptTool) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

// Call asks.
func (interruptTool) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "What is the result?"}}, AnswerIsResult: true}}, nil
}

// restartTool waits until it is run again.
type restartTool struct{}

// Descriptor describes the tool.
func (restartTool) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

// Call asks unless it has an answer.
func (restartTool) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	if call.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "Is that right?"}}}}, nil
	}
	var in struct{ Action string }
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.Result{}, err
	}
	return tools.TextResult("confirmed: " + in.Action), nil
}
