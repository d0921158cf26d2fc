package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// stage is the setup of a turn in these tests.
type stage struct {
	agent   spec.Agent
	history []model.Message
	params  model.Params
	model   *script
	tools   map[string]tools.Tool
	plugins []plugin
	ceiling []plugins.CeilingGate
	pool    bool
	// delegate answers Host.Delegate.
	delegate func(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error)
	// handOff answers Host.Handoff.
	handOff func(ctx context.Context, agentID string) (*spec.Agent, *backend.ExecutionEnv, error)
	// sees receives every event as it is emitted; unheard records none.
	sees    func(event.Data)
	unheard bool
	// journal, when set, keeps the turn's journal, and policy decides about calls
	// in doubt.
	journal backend.Journaler
	policy  backend.Indeterminate
	// job changes the job before it runs.
	job func(*backend.Job)
}

// scene is the outcome of a stage.
type scene struct {
	*backend.Result
	err       error
	resumed   bool
	inStep    bool
	events    []event.Data
	artifacts []tools.Artifact
}

// play runs the turn.
func (s stage) play(t *testing.T) scene {
	t.Helper()
	return s.playIn(t.Context(), t)
}

func (s stage) playIn(ctx context.Context, t *testing.T) scene {
	t.Helper()
	s.agent.ID = "tester"
	loaded := make([]execution.Loaded, 0, len(s.plugins)+3)
	for i, p := range s.plugins {
		loaded = append(loaded, execution.Loaded{ID: fmt.Sprintf("p%d", i), Plugin: p})
	}
	loaded = append(loaded,
		execution.Loaded{ID: core.LoopActionsID, Plugin: core.LoopActions{}, Core: true},
		execution.Loaded{ID: core.MaxRoundsID, Plugin: core.MaxRounds{}, Core: true},
		execution.Loaded{ID: core.StopConditionsID, Plugin: core.NewStopConditions(s.agent.StopConditions), Core: true},
	)
	env, errs := execution.Build(&s.agent, loaded, nil)
	if errs != nil {
		t.Fatal(errors.Join(errs...))
	}
	var entries []*toolset.Entry
	for id, tool := range s.tools {
		entry, list := toolset.Compile(id, tool, toolset.Source{Kind: toolset.SourceGlobal})
		if list.HasErrors() {
			t.Fatal(list)
		}
		entries = append(entries, entry)
	}
	set := toolset.NewSet(entries)
	var out scene
	h := &host{stage: &s, events: &out.events}
	job := &backend.Job{
		TurnID: "turn", SessionID: "session", Agent: &s.agent, History: s.history,
		Input: []model.Message{model.User("go")}, Params: s.params, Limits: backend.Limits{Ceiling: s.ceiling},
		Local: &backend.ExecutionEnv{
			Model: s.model, Upstream: "upstream", Pool: s.pool, Env: env, Tools: set, Offered: set.Declarations(),
		},
	}
	job.Meter = backend.NewMeter(nil, s.agent.Budgets, backend.Spent{})
	if s.job != nil {
		s.job(job)
	}
	job.Indeterminate = s.policy
	var serves backend.Host = h
	if s.journal != nil {
		serves = journaling{h, s.journal}
	}
	out.Result, out.err = local.Backend{}.Execute(ctx, job, serves)
	out.artifacts, out.resumed, out.inStep = h.artifacts, job.State != nil, job.State != nil && job.State.InStep
	return out
}

// host collects what a turn emits.
type host struct {
	stage     *stage
	events    *[]event.Data
	artifacts []tools.Artifact
}

func (h *host) Emit(data event.Data) {
	if !h.stage.unheard {
		*h.events = append(*h.events, data)
	}
	if h.stage.sees != nil {
		h.stage.sees(data)
	}
}

func (h *host) Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	return h.stage.delegate(ctx, req)
}

func (h *host) Handoff(ctx context.Context, agentID string) (*spec.Agent, *backend.ExecutionEnv, error) {
	return h.stage.handOff(ctx, agentID)
}

func (h *host) Session() tools.Session { return session{tools.NoSession, h} }

func (h *host) FlushSession() {}

func (h *host) EmitDelegated(*event.Event) {}

// journaling is a host that keeps a journal.
type journaling struct {
	*host
	backend.Journaler
}

// session holds only artifacts.
type session struct {
	tools.Session
	host *host
}

func (s session) KeepArtifact(a tools.Artifact) (string, error) {
	s.host.artifacts = append(s.host.artifacts, a)
	return a.ID, nil
}

// script is a model that gives one reply to each request.
type script struct {
	replies []reply

	mu       sync.Mutex
	requests []model.Request
}

// reply is how a model answers one request.
type reply func(ctx context.Context, yield func(model.Event, error) bool)

func says(replies ...reply) *script { return &script{replies: replies} }

func (s *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *req
	kept.Messages = slices.Clone(req.Messages)
	s.requests = append(s.requests, kept)
	n := len(s.requests)
	return func(yield func(model.Event, error) bool) {
		if n > len(s.replies) {
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the script has ended"})
			return
		}
		s.replies[n-1](ctx, yield)
	}
}

// each script answer counts as this many tokens.
var usage = model.Usage{Input: 10, Output: 5}

// streams replies with events.
func streams(events ...model.Event) reply {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// text replies with a final text.
func text(s string) reply { return asks(s) }

// asks replies with an optional text and calls.
func asks(s string, calls ...model.ToolCall) reply {
	var events []model.Event
	if s != "" {
		events = append(events, model.Event{Type: model.EventText, Delta: s})
	}
	reason := model.FinishStop
	for i, c := range calls {
		reason = model.FinishToolCalls
		events = append(events,
			model.Event{Type: model.EventToolCallStart, Index: i, ID: c.ID, Name: c.Name},
			model.Event{Type: model.EventToolCallDelta, Index: i, Delta: string(c.Arguments)},
			model.Event{Type: model.EventToolCallEnd, Index: i},
		)
	}
	return streams(append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &usage})...)
}

// call is a call without arguments, whose id is its name.
func call(name string) model.ToolCall { return callWith(name, name, `{}`) }

func callWith(id, name, args string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

// fails replies with an error.
func fails(err error) reply {
	return func(_ context.Context, yield func(model.Event, error) bool) { yield(model.Event{}, err) }
}

// fn is a tool made from a function.
type fn struct {
	about tools.Descriptor
	run   func(ctx context.Context, call *tools.Call) (tools.Result, error)
}

func (f fn) Descriptor() tools.Descriptor { return f.about }

func (f fn) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return f.run(ctx, call)
}

// does returns a tool that runs a function.
func does(run func(ctx context.Context, call *tools.Call) (tools.Result, error)) tools.Tool {
	return fn{run: run}
}

// like returns a tool that runs a function and has the given description.
func like(d tools.Descriptor, run func(ctx context.Context, call *tools.Call) (tools.Result, error)) tools.Tool {
	return fn{about: d, run: run}
}

// answers returns a tool that answers with a text.
func answers(s string) tools.Tool {
	return does(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult(s), nil })
}

// plugin is a plugin that consists of its registration.
type plugin func(r *plugins.Registrar)

func (p plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "for tests"} }

func (p plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// on returns a plugin with one hook.
func on(phase plugins.Phase, hook func(ctx context.Context, p *plugins.PhaseContext) error) plugin {
	return func(r *plugins.Registrar) { r.Hook(phase, hook) }
}

// gate returns a plugin with one gate.
func gate(check plugins.GateFunc) plugin { return func(r *plugins.Registrar) { r.ToolGate(check) } }

// decides returns a gate that makes the same decision about every call.
func decides(d plugins.Decision) plugin {
	return gate(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) { return d, nil })
}

// types lists the types of the emitted events.
func (s *scene) types() []event.Type {
	var out []event.Type
	for _, d := range s.events {
		out = append(out, d.Type())
	}
	return out
}

// done lists the results of the calls in completion order: "id outcome text".
func (s *scene) done() []string {
	var out []string
	for _, d := range s.events {
		if d, ok := d.(*event.ToolCallDone); ok {
			out = append(out, fmt.Sprintf("%s %s %s", d.ID, d.Outcome, d.Result.Text()))
		}
	}
	return out
}

// results lists the results in the conversation: "id text", with "!" for errors.
func (s *scene) results() []string {
	var out []string
	for i := range s.Messages {
		for _, p := range s.Messages[i].Parts {
			if r := p.ToolResult; r != nil {
				bad := ""
				if r.IsError {
					bad = "!"
				}
				out = append(out, r.CallID+bad+" "+model.PartsText(r.Content))
			}
		}
	}
	return out
}

// checkWhole fails the test if the scene violates an invariant of every turn.
func (s *scene) checkWhole(t *testing.T) {
	t.Helper()
	open, ready := 0, map[string]int{}
	if s.inStep {
		open = 1 // it began before
	}
	for _, d := range s.events {
		switch d := d.(type) {
		case *event.StepStart:
			open++
		case *event.StepEnd:
			open--
		case *event.ToolCallReady:
			ready[d.ID]++
		case *event.ToolCallDone:
			ready[d.ID]--
		}
		if open < 0 || open > 1 {
			t.Errorf("%d steps are open at the same time", open)
		}
	}
	if open != 0 {
		t.Errorf("%d steps never ended", open)
	}
	suspended := s.Termination.Type == event.Suspended
	for id, n := range ready {
		if n != 0 && !suspended && !s.resumed {
			t.Errorf("call %s became ready %d times more often than it was done", id, n)
		}
	}
	for i := range s.Messages {
		if suspended && i+1 == len(s.Messages) {
			break // its calls wait
		}
		for k, c := range s.Messages[i].ToolCalls() {
			if i+1 == len(s.Messages) || len(s.Messages[i+1].Parts) <= k {
				t.Errorf("call %s has no result", c.ID)
				continue
			}
			if r := s.Messages[i+1].Parts[k].ToolResult; r == nil || r.CallID != c.ID {
				t.Errorf("the result at the place of call %s is %v", c.ID, r)
			}
		}
	}
}

// ends fails the test unless the turn ended with the given termination.
func (s *scene) ends(t *testing.T, reason event.Reason, code string) {
	t.Helper()
	s.checkWhole(t)
	if s.Termination.Type != reason || s.Termination.Code != code {
		t.Errorf("the turn ended by %+v (error %v), want %s %s", s.Termination, s.err, reason, code)
	}
	if failed := reason == event.Failed || reason == event.Canceled; failed != (s.err != nil) {
		t.Errorf("the turn ended by %s with the error %v", reason, s.err)
	}
}

// has reports whether any of the texts contains sub.
func has(texts []string, sub string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, sub) })
}
