package runtime_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// endlessModel answers until its context ends.
type endlessModel struct{ ended chan struct{} }

func (m endlessModel) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		defer close(m.ended)
		for ctx.Err() == nil {
			if !yield(model.Event{Type: model.EventText, Delta: "more "}, nil) {
				return
			}
		}
		yield(model.Event{}, ctx.Err())
	}
}

func newEndless(t *testing.T) (*runtime.AgentRuntime, endlessModel) {
	t.Helper()
	m := endlessModel{make(chan struct{})}
	rt, err := builder.New().
		WithProvider("demo", m).
		WithModel(spec.Model{ID: "m", ProviderID: "demo", UpstreamModel: "x"}).
		WithAgentSpec(spec.Agent{ID: "a", ModelID: "m", Description: "Talks."}).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	return rt, m
}

func TestEventsYieldsTheTurnAndWaitsForItsEnd(t *testing.T) {
	rt, m := newEndless(t)
	n := 0
	for ev, err := range rt.Events(t.Context(), runtime.Prompt("a", "Talk")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, isText := ev.Data.(*event.TextDelta); isText {
			if n++; n == 3 {
				break
			}
		}
	}
	select {
	case <-m.ended:
	default:
		t.Error("the model call still runs after the loop")
	}
}

func TestEventsYieldsTheErrorOfTheTurn(t *testing.T) {
	rt, _ := newEndless(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	finished := false
	for ev, err := range rt.Events(ctx, runtime.Prompt("a", "Talk")) {
		last, finished = err, finished || err == nil && ev.Terminal()
		if _, isText := ev.Data.(*event.TextDelta); isText {
			cancel()
		}
	}
	var failed *runtime.TurnError
	if !errors.As(last, &failed) || !finished {
		t.Errorf("the last error is %v, run_finish was yielded: %v", last, finished)
	}
	for ev, err := range rt.Events(t.Context(), runtime.Prompt("nobody", "Talk")) {
		if err == nil {
			t.Errorf("an unknown agent yields %v", ev.Data)
		}
	}
}
