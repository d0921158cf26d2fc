package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// answerer is a model made from a function, which is given the upstream name of
// the model and the number of the request among those with that name.
type answerer struct {
	answer func(ctx context.Context, upstream string, n int) answer

	mu    sync.Mutex
	asked map[string]int
	// requests are those that were made, by upstream name.
	requests map[string][]*model.Request
}

// answer is one answer of a model.
type answer struct {
	text  string
	calls []model.ToolCall
	err   error
}

func (a *answerer) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	a.mu.Lock()
	if a.asked == nil {
		a.asked, a.requests = make(map[string]int), make(map[string][]*model.Request)
	}
	n := a.asked[req.Model]
	a.asked[req.Model]++
	a.requests[req.Model] = append(a.requests[req.Model], req)
	a.mu.Unlock()
	return func(yield func(model.Event, error) bool) {
		out := a.answer(ctx, req.Model, n)
		if err := ctx.Err(); err != nil {
			out.err = model.AsError(err)
		}
		for _, ev := range out.events() {
			if !yield(ev, nil) {
				return
			}
		}
		if out.err != nil {
			yield(model.Event{}, out.err)
		}
	}
}

// events streams an answer; one with an error breaks off behind its text.
func (a answer) events() []model.Event {
	var events []model.Event
	if a.text != "" {
		events = append(events, model.Event{Type: model.EventText, Delta: a.text})
	}
	if a.err != nil {
		return events
	}
	reason := model.FinishStop
	for i, c := range a.calls {
		reason = model.FinishToolCalls
		events = append(events,
			model.Event{Type: model.EventToolCallStart, Index: i, ID: c.ID, Name: c.Name},
			model.Event{Type: model.EventToolCallEnd, Index: i, Delta: string(c.Arguments)},
		)
	}
	return append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, Output: 1}})
}

// scripts is a model whose answers are listed by upstream name.
func scripts(lists map[string][]answer) *answerer {
	return &answerer{answer: func(_ context.Context, upstream string, n int) answer {
		if n >= len(lists[upstream]) {
			return answer{err: &model.Error{Class: model.InvalidRequest, Message: "the script has ended"}}
		}
		return lists[upstream][n]
	}}
}

// calls is an answer that asks for one call.
func calls(id, name, args string) answer {
	return answer{calls: []model.ToolCall{{ID: id, Name: name, Arguments: json.RawMessage(args)}}}
}

// asksAgent is an answer that calls an agent.
func asksAgent(id string) answer {
	return calls("to-"+id, tools.DelegateID(id), `{"prompt":"help"}`)
}

// withAgents returns a builder with a model for each agent, whose upstream name
// is the agent's id.
func withAgents(exec model.Executor, agents ...spec.Agent) *builder.AgentRuntimeBuilder {
	b := builder.New().WithProvider("fake", exec)
	for _, a := range agents {
		if a.Endpoint == nil {
			a.ModelID = a.ID
			b.WithModel(spec.Model{ID: a.ID, ProviderID: "fake", UpstreamModel: a.ID})
		}
		b.WithAgentSpec(a)
	}
	return b
}

func build(t testing.TB, b *builder.AgentRuntimeBuilder) *runtime.AgentRuntime {
	t.Helper()
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// events collects the events of a turn.
type events struct{ list []event.Event }

func (e *events) Emit(ev event.Event) { e.list = append(e.list, ev) }

func (e *events) types() []event.Type {
	var out []event.Type
	for i := range e.list {
		out = append(out, e.list[i].Data.Type())
	}
	return out
}

// done lists how calls ended: "id outcome text".
func (e *events) done() []string {
	var out []string
	for i := range e.list {
		if d, ok := e.list[i].Data.(*event.ToolCallDone); ok {
			out = append(out, fmt.Sprintf("%s %s %s", d.ID, d.Outcome, d.Result.Text()))
		}
	}
	return out
}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkLog fails the test when events are not those of one whole turn.
func checkLog(t tester, list []event.Event) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("there are no events")
		return
	}
	if first := list[0].Data.Type(); first != event.TypeRunStart {
		t.Errorf("the first event is %s", first)
	}
	finishes, open := 0, 0
	ready, waiting := map[string]int{}, map[string]bool{}
	for i := range list {
		ev := &list[i]
		if ev.Seq != uint64(i+1) || ev.TurnID == "" || ev.TurnID != list[0].TurnID || ev.SessionID != list[0].SessionID || ev.Time.IsZero() {
			t.Errorf("event %d is %+v", i+1, ev)
		}
		switch d := ev.Data.(type) {
		case *event.RunFinish:
			finishes++
		case *event.StepStart:
			open++
		case *event.StepEnd:
			open--
		case *event.ToolCallReady:
			ready[d.ID]++
		case *event.ToolCallDone:
			ready[d.ID]--
		case *event.InteractionRequest:
			waiting[d.CallID] = true
		case *event.ToolCallResumed:
			clear(waiting)
		}
	}
	if last := &list[len(list)-1]; finishes != 1 || !last.Terminal() {
		t.Errorf("%d events end the turn, and the last is %s", finishes, last.Data.Type())
	}
	if open != 0 {
		t.Errorf("%d steps were never closed", open)
	}
	for id, n := range ready {
		if n != 0 && !waiting[id] {
			t.Errorf("call %s became ready %d times more often than it was done", id, n)
		}
	}
}

// checkMessages fails the test when a call has no result, or several.
func checkMessages(t tester, messages []model.Message) {
	t.Helper()
	for i := range messages {
		asked := messages[i].ToolCalls()
		if len(asked) == 0 {
			continue
		}
		if i+1 == len(messages) || len(messages[i+1].Parts) != len(asked) {
			t.Errorf("the %d calls of message %d are not answered one by one", len(asked), i)
			continue
		}
		for k, c := range asked {
			if r := messages[i+1].Parts[k].ToolResult; r == nil || r.CallID != c.ID {
				t.Errorf("the result at the place of call %s is %+v", c.ID, r)
			}
		}
	}
}

// toolFunc is a tool without arguments.
type toolFunc func(ctx context.Context, call *tools.Call) (tools.Result, error)

func (toolFunc) Descriptor() tools.Descriptor { return tools.Descriptor{Description: "for tests"} }

func (f toolFunc) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return f(ctx, call)
}

// plugin is a plugin that is only its registration.
type plugin func(r *plugins.Registrar)

func (p plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "for tests"} }

func (p plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// remote is a backend made from functions.
type remote struct {
	profile func() backend.Profile
	execute func(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error)
}

func (r *remote) Profile() backend.Profile {
	if r.profile == nil {
		p := backend.LocalProfile()
		p.Continuation = backend.ContinueRemote
		return p
	}
	return r.profile()
}

func (r *remote) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	return r.execute(ctx, job, host)
}

// factory makes the one backend it holds.
type factory struct{ backend backend.Backend }

func (factory) Kind() string { return "fake" }

func (factory) Validate(*spec.Endpoint) diag.List { return nil }

func (f factory) New(*spec.Endpoint) (backend.Backend, error) { return f.backend, nil }

// far is an agent that lives on the fake backend.
var far = spec.Agent{ID: "far", Endpoint: &spec.Endpoint{Backend: "fake", BaseURL: "https://peer.example"}}
