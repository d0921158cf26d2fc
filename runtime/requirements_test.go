package runtime_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// needs has, for each dimension of a profile, what a request for the agent far is
// to ask for, and the level that it takes.
var needs = map[string][]struct {
	name     string
	change   func(*runtime.Request)
	required backend.Level
}{
	"continuation": {
		{"a turn that was stopped", func(r *runtime.Request) {
			r.State = &backend.State{Version: backend.StateVersion, Agent: "far"}
		}, backend.ContinueInProcess},
		{"a turn at a peer", func(r *runtime.Request) {
			r.State = &backend.State{Version: backend.StateVersion, Agent: "far", Remote: &backend.CallState{ID: "t"}}
		}, backend.ContinueRemote},
	},
	"decisions": {
		{"an answer", func(r *runtime.Request) {
			request := &interaction.Request{ID: "q", CallID: "t"}
			r.State = &backend.State{Version: backend.StateVersion, Agent: "far", Remote: &backend.CallState{
				ID: "t", Outcome: event.CallSuspended, Interactions: []*backend.Interaction{{Request: *request}},
			}}
			r.Answers = []interaction.Answer{{Target: "q", Action: interaction.Resume}}
		}, backend.DecisionsDurable},
	},
	"overrides": {
		{"parameters", func(r *runtime.Request) { r.Params.Temperature = new(0.0) }, backend.OverrideParams},
		{"a limit", func(r *runtime.Request) { r.Overrides.MaxRounds = new(1) }, backend.OverrideLimits},
		{"the form of the answer", func(r *runtime.Request) {
			r.Overrides.Output = &spec.OutputSchema{Schema: []byte(`{"type": "object"}`)}
		}, backend.OverrideLimits},
	},
	"budgets": {
		{"budgets", func(r *runtime.Request) { r.Overrides.Budgets = &spec.Budgets{MaxTokens: new(1)} }, backend.BudgetsEnforced},
		{"budgets that the turn began with", func(r *runtime.Request) {
			r.State = &backend.State{Version: backend.StateVersion, Agent: "far", Budgets: &spec.Budgets{MaxTokens: new(1)}}
		}, backend.BudgetsEnforced},
	},
	"persistence": {
		{"checkpoints", func(r *runtime.Request) {
			r.Checkpoint = func(context.Context, *backend.State) error { return nil }
		}, backend.PersistCheckpoint},
	},
	"transcript": {
		{"a history", func(r *runtime.Request) { r.History = []model.Message{model.User("before")} }, backend.TranscriptFull},
	},
}

// For each dimension of a profile there is something that only a backend can do
// which has it: a request that asks for it is refused, and no backend is asked. A
// dimension that this test does not know fails it.
func TestWhatABackendCannotDoIsRefused(t *testing.T) {
	all := backend.LocalProfile()
	all.Continuation = backend.ContinueRemote
	for i := range reflect.TypeFor[backend.Profile]().NumField() {
		dimension, _, _ := strings.Cut(reflect.TypeFor[backend.Profile]().Field(i).Tag.Get("json"), ",")
		if len(needs[dimension]) == 0 {
			t.Errorf("what asks for the dimension %s?", dimension)
		}
		for _, tt := range needs[dimension] {
			t.Run(dimension+"/"+tt.name, func(t *testing.T) {
				weaker := all
				lowest := backend.WeakestProfile()
				reflect.ValueOf(&weaker).Elem().Field(i).Set(reflect.ValueOf(lowest).Field(i))
				asked := 0
				p := &turntest.Remote{
					ProfileFunc: func() backend.Profile { return weaker },
					ExecuteFunc: func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
						asked++
						return &backend.Result{}, nil
					},
				}
				rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), turntest.Far).WithBackend(turntest.Factory{Backend: p}))
				req := runtime.Prompt("far", "hello")
				tt.change(&req)
				var log turntest.Events
				_, err := rt.Run(t.Context(), req, &log)
				e, ok := errors.AsType[*backend.MismatchError](err)
				want := []backend.Mismatch{{Dimension: dimension, Required: tt.required, Actual: backend.Level(reflect.ValueOf(lowest).Field(i).String())}}
				if !ok || !cmp.Equal(want, e.Mismatches) || asked != 0 || len(log.List) != 0 {
					t.Errorf("Run = %v after %d events, the backend was asked %d times", err, len(log.List), asked)
				}
				weaker = all
				if _, err := rt.Run(t.Context(), req, nil); errors.As(err, new(*backend.MismatchError)) || asked != 1 {
					t.Errorf("a backend that can: %v, asked %d times", err, asked)
				}
			})
		}
	}
}

// Each override but budgets is one that a backend has to take.
func TestEveryOverrideIsAskedFor(t *testing.T) {
	weak := backend.LocalProfile()
	weak.Overrides = backend.OverrideParams
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), turntest.Far).WithBackend(turntest.Factory{Backend: &turntest.Remote{
		ProfileFunc: func() backend.Profile { return weak },
		ExecuteFunc: func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			return &backend.Result{}, nil
		},
	}}))
	every := reflect.ValueOf(resolve.Overrides{
		ModelID: "m", MaxRounds: new(1), OnMaxRounds: spec.MaxRoundsFails, OnTruncation: spec.TruncationFails, Budgets: &spec.Budgets{MaxTokens: new(1)},
		LoopDetection: &spec.LoopDetection{}, ToolBudgets: map[string]spec.ToolBudget{}, Output: &spec.OutputSchema{Schema: []byte(`{}`)}, Tools: spec.Names{"t"},
		ToolChoice: &model.ToolChoice{Mode: model.ToolsNone}, MaxCalls: 1,
	})
	for i := range every.NumField() {
		name := every.Type().Field(i).Name
		if every.Field(i).IsZero() {
			t.Errorf("the test does not set %s", name)
		}
		req := runtime.Prompt("far", "hello")
		reflect.ValueOf(&req.Overrides).Elem().Field(i).Set(every.Field(i))
		_, err := rt.Run(t.Context(), req, nil)
		if refused := errors.As(err, new(*backend.MismatchError)); refused != (name != "Budgets") {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// A turn that waits at a backend which takes no answers fails: it would wait for
// ever.
func TestATurnThatNobodyCanAnswerDoesNotWait(t *testing.T) {
	request := &interaction.Request{ID: "q", CallID: "t"}
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), turntest.Far).WithBackend(turntest.Factory{Backend: &turntest.Remote{
		ProfileFunc: backend.WeakestProfile,
		ExecuteFunc: func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			state := &backend.State{Version: backend.StateVersion, Agent: "far", Remote: &backend.CallState{
				ID: "t", Outcome: event.CallSuspended, Interactions: []*backend.Interaction{{Request: *request}},
			}}
			return &backend.Result{Outcome: event.Outcome{Termination: event.Termination{Type: event.Suspended}}, State: state, Interactions: state.Interactions()}, nil
		},
	}}))
	turn, err := rt.Start(t.Context(), runtime.Prompt("far", "hello"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = turn.Wait(t.Context())
	e, ok := errors.AsType[*backend.MismatchError](err)
	if want := []backend.Mismatch{
		{Dimension: "continuation", Required: backend.ContinueRemote, Actual: backend.LevelNone},
		{Dimension: "decisions", Required: backend.DecisionsDurable, Actual: backend.LevelNone},
	}; !ok || !cmp.Equal(want, e.Mismatches) {
		t.Errorf("the turn ends with %v", err)
	}
}
