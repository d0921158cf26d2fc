// Package turntest provides models, tools, plugins and backends for building turns in tests, and
// checks the outcome of the turns.
package turntest

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
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Answerer is a model implemented by a function, which receives the model's upstream name and the
// number of the request among those with that name.
type Answerer struct {
	Answer func(ctx context.Context, upstream string, n int) Answer

	mu    sync.Mutex
	asked map[string]int
	// Requests are the requests made, by upstream name. Read it only when no turn is running.
	Requests map[string][]*model.Request
}

// Answer is one answer of a model.
type Answer struct {
	Text  string
	Calls []model.ToolCall
	Err   error
}

// Stream streams the next answer.
func (a *Answerer) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	a.mu.Lock()
	if a.asked == nil {
		a.asked, a.Requests = make(map[string]int), make(map[string][]*model.Request)
	}
	n := a.asked[req.Model]
	a.asked[req.Model]++
	a.Requests[req.Model] = append(a.Requests[req.Model], req)
	a.mu.Unlock()
	return func(yield func(model.Event, error) bool) {
		out := a.Answer(ctx, req.Model, n)
		if err := ctx.Err(); err != nil {
			out.Err = model.AsError(err)
		}
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

// Asked returns the number of requests to a model.
func (a *Answerer) Asked(upstream string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[upstream]
}

// LastMessages returns the messages of the latest request to a model.
func (a *Answerer) LastMessages(upstream string) []model.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.Requests[upstream]
	return list[len(list)-1].Messages
}

// Events streams an answer; an answer with an error breaks off after its text.
func (a Answer) Events() []model.Event {
	var events []model.Event
	if a.Text != "" {
		events = append(events, model.Event{Type: model.EventText, Delta: a.Text})
	}
	if a.Err != nil {
		return events
	}
	reason := model.FinishStop
	for i, c := range a.Calls {
		reason = model.FinishToolCalls
		events = append(events,
			model.Event{Type: model.EventToolCallStart, Index: i, ID: c.ID, Name: c.Name},
			model.Event{Type: model.EventToolCallEnd, Index: i, Delta: string(c.Arguments)},
		)
	}
	return append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, Output: 1}})
}

// Scripts is a model whose answers are listed by upstream name.
func Scripts(lists map[string][]Answer) *Answerer {
	return &Answerer{Answer: func(_ context.Context, upstream string, n int) Answer {
		if n >= len(lists[upstream]) {
			return Answer{Err: &model.Error{Class: model.InvalidRequest, Message: "the script has ended"}}
		}
		return lists[upstream][n]
	}}
}

// Calls is an answer that requests one call.
func Calls(id, name, args string) Answer {
	return Answer{Calls: []model.ToolCall{{ID: id, Name: name, Arguments: json.RawMessage(args)}}}
}

// AsksAgent is an answer that calls an agent.
func AsksAgent(id string) Answer {
	return Calls("to-"+id, agenttool.DelegateID(id), `{"prompt":"help"}`)
}

// WithAgents returns a builder with a model for each agent, whose upstream name
// is the agent's id.
func WithAgents(exec model.Executor, agents ...spec.Agent) *builder.AgentRuntimeBuilder {
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

// Build builds the runtime, or fails the test.
func Build(t testing.TB, b *builder.AgentRuntimeBuilder) *runtime.AgentRuntime {
	t.Helper()
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() }) // a synctest bubble waits for its goroutines
	return rt
}

// Events collects the Events of a turn.
type Events struct{ List []event.Event }

// Emit adds an event to the list.
func (e *Events) Emit(ev event.Event) { e.List = append(e.List, ev) }

// Types returns the types of the events.
func (e *Events) Types() []event.Type {
	var out []event.Type
	for i := range e.List {
		out = append(out, e.List[i].Data.Type())
	}
	return out
}

// Done lists how calls ended: "id outcome text".
func (e *Events) Done() []string {
	var out []string
	for i := range e.List {
		if d, ok := e.List[i].Data.(*event.ToolCallDone); ok {
			out = append(out, fmt.Sprintf("%s %s %s", d.ID, d.Outcome, d.Result.Text()))
		}
	}
	return out
}

// Patches returns the patches of the application's state.
func (e *Events) Patches() []*event.CustomPatch {
	var list []*event.CustomPatch
	for i := range e.List {
		if d, ok := e.List[i].Data.(*event.CustomPatch); ok {
			list = append(list, d)
		}
	}
	return list
}

// Tester is the common part of testing.T and rapid.T.
type Tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckLog fails the test if events are not the log of one complete turn.
func CheckLog(t Tester, list []event.Event) {
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

// CheckMessages fails the test if a call has no result or several.
func CheckMessages(t Tester, messages []model.Message) {
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

// ToolFunc is a tool without arguments.
type ToolFunc func(ctx context.Context, call *tools.Call) (tools.Result, error)

// Descriptor describes the tool.
func (ToolFunc) Descriptor() tools.Descriptor { return tools.Descriptor{Description: "for tests"} }

// Call calls the function.
func (f ToolFunc) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return f(ctx, call)
}

// Plugin is a plugin consisting only of its registration.
type Plugin func(r *plugins.Registrar)

// Descriptor describes the plugin.
func (p Plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "for tests"} }

// Register calls the function.
func (p Plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// Remote is a backend implemented by functions.
type Remote struct {
	ProfileFunc func() backend.Profile
	ExecuteFunc func(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error)
}

// Profile calls ProfileFunc, or reports that everything is supported if that is nil.
func (r *Remote) Profile() backend.Profile {
	if r.ProfileFunc == nil {
		p := backend.LocalProfile()
		p.Continuation = backend.ContinueRemote
		return p
	}
	return r.ProfileFunc()
}

// Execute calls ExecuteFunc.
func (r *Remote) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	return r.ExecuteFunc(ctx, job, host)
}

// Factory returns the one backend it holds.
type Factory struct{ Backend backend.Backend }

// Kind returns "fake".
func (Factory) Kind() string { return "fake" }

// Validate finds nothing.
func (Factory) Validate(*spec.Endpoint) diag.List { return nil }

// New returns the backend.
func (f Factory) New(*spec.Endpoint) (backend.Backend, error) { return f.Backend, nil }

// Far is an agent that lives on the fake backend.
var Far = spec.Agent{ID: "far", Endpoint: &spec.Endpoint{Backend: "fake", BaseURL: "https://peer.example"}}
