package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// doomed is a turn whose process dies now and then. The script has what the
// models answer, by the number of answers that the conversation has.
type doomed struct {
	script []turntest.Answer
	agent  spec.Agent
	policy backend.Indeterminate

	mu sync.Mutex
	// ran counts how often each call was executed, by its key.
	ran map[string]int
}

func drawDoomed(t *rapid.T) *doomed {
	names := rapid.SampledFrom([]string{"look", "put", "pay", "pay", "alone", "waits", "agent_run_sub", "hand_off_to_b", "hand_off_to_a", "unknown"})
	m := &doomed{
		policy: rapid.SampledFrom([]backend.Indeterminate{"", backend.IndeterminateError, backend.IndeterminateAsk}).Draw(t, "policy"),
		agent: spec.Agent{
			PluginIDs: []string{"cautious", "witness"}, Delegates: []string{"sub"}, MaxHandoffs: new(2), MaxRounds: new(8),
			ToolExecution: rapid.SampledFrom([]spec.ToolExecution{spec.Parallel, spec.Sequential}).Draw(t, "mode"),
			ToolBudgets:   map[string]spec.ToolBudget{"put": {MaxCalls: rapid.IntRange(1, 3).Draw(t, "tool budget")}},
			LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(2), HardCutoffThreshold: new(3)},
		},
	}
	if rapid.IntRange(0, 3).Draw(t, "budgets") == 0 {
		m.agent.Budgets = &spec.Budgets{MaxToolCalls: new(rapid.IntRange(0, 6).Draw(t, "tool calls"))}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "answers") {
		var a turntest.Answer
		for k := range rapid.IntRange(1, 4).Draw(t, "calls") {
			c := model.ToolCall{ID: fmt.Sprintf("c%d.%d", i, k), Name: names.Draw(t, "tool"), Arguments: []byte(`{}`)}
			if c.Name == "agent_run_sub" {
				c.Arguments = []byte(`{"prompt":"help"}`)
			}
			a.Calls = append(a.Calls, c)
		}
		m.script = append(m.script, a)
	}
	return m
}

func (m *doomed) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		given := 0
		for i := range req.Messages {
			if req.Messages[i].Role == model.RoleAssistant {
				given++
			}
		}
		out := turntest.Answer{Text: "done"}
		if req.Model != "sub" && given < len(m.script) && req.ToolChoice.Mode != model.ToolsNone {
			out = m.script[given]
		}
		for _, ev := range out.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// seen counts how often the hooks of each phase ran.
var seen = plugins.NewKey[map[string]int]("test.seen", plugins.ScopeSession)

var witness = turntest.Plugin(func(r *plugins.Registrar) {
	r.StateKey(seen)
	for _, phase := range plugins.Phases() {
		switch phase {
		case plugins.ToolGate, plugins.RunEnd: // a turn that waits ends each time
			continue
		case plugins.Activate, plugins.Deactivate: // of the process, not of the turn
			continue
		default:
		}
		r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error {
			counts := maps.Clone(seen.Get(p))
			if counts == nil {
				counts = make(map[string]int)
			}
			counts[phase.String()]++
			seen.Set(p, counts)
			return p.Session.UpdateCustom(mark("phase " + phase.String() + strconv.Itoa(p.Stats.Steps)))
		})
	}
})

// mark sets a member of a JSON object.
func mark(name string) func(json.RawMessage) (json.RawMessage, error) {
	return func(custom json.RawMessage) (json.RawMessage, error) {
		object := make(map[string]bool)
		if len(custom) > 0 {
			if err := json.Unmarshal(custom, &object); err != nil {
				return nil, err
			}
		}
		object[name] = true
		return json.Marshal(object)
	}
}

// acts is a tool with a class of effect, which counts how often each call of it
// ran.
type acts struct {
	world *doomed
	about tools.Descriptor
	wait  bool
}

func (a acts) Descriptor() tools.Descriptor { return a.about }

func (a acts) Call(_ context.Context, c *tools.Call) (tools.Result, error) {
	key := c.IdempotencyKey
	if c.Resumed != nil {
		key += " resumed"
	}
	a.world.mu.Lock()
	a.world.ran[key]++
	a.world.mu.Unlock()
	if err := c.Session.UpdateCustom(mark(c.ID)); err != nil {
		return tools.Result{}, err
	}
	if _, err := c.Session.KeepArtifact(tools.Artifact{ID: "of " + c.ID, Name: c.ID, Data: []byte(c.ID)}); err != nil {
		return tools.Result{}, err
	}
	if a.wait && c.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}}, State: json.RawMessage(`7`)}}, nil
	}
	return tools.TextResult("did " + c.ID), nil
}

func (m *doomed) runtime(t *rapid.T) *runtime.AgentRuntime {
	m.ran = make(map[string]int)
	a, b := m.agent, m.agent
	a.ID, a.Handoffs = "a", []string{"b"}
	b.ID, b.Handoffs = "b", []string{"a"}
	class := func(effect tools.Effect) tools.Descriptor {
		return tools.Descriptor{Description: "for tests", Effect: effect}
	}
	rt, err := turntest.WithAgents(m, a, b, spec.Agent{ID: "sub"}).WithPlugin("cautious", turntest.Cautious).WithPlugin("witness", witness).
		WithTool("look", acts{world: m, about: class(tools.Read)}).WithTool("put", acts{world: m, about: class(tools.Idempotent)}).
		WithTool("pay", acts{world: m, about: class(tools.Once)}).WithTool("waits", acts{world: m, about: class(""), wait: true}).
		WithTool("alone", acts{world: m, about: tools.Descriptor{Description: "for tests", Serial: true}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

var errDied = errors.New("the process died")

// disk is what outlives a process: the latest state, and the calls that were
// settled. The process dies when it has something to keep for the lives-th time;
// keeps reports whether that is still kept.
type disk struct {
	state []byte
	rows  [][2][]byte
	// log has the kept events, and pending the next ones.
	log, pending []event.Event
	lives        int
	keeps        bool
	dead         bool
}

// write reports whether something is to be kept.
func (d *disk) write() bool {
	if d.dead {
		return false
	}
	d.lives--
	if d.lives == 0 {
		d.dead = true
		if !d.keeps {
			return false
		}
	}
	d.log, d.pending = append(d.log, d.pending...), nil
	return true
}

// Emit adds an event, which is kept with the next commit.
func (d *disk) Emit(ev event.Event) { d.pending = append(d.pending, ev) }

func (d *disk) Begin(_ context.Context, s *backend.State) (err error) {
	if d.write() {
		if d.state, err = json.Marshal(s); err != nil {
			return err
		}
	}
	if d.dead {
		return errDied
	}
	return nil
}

func (d *disk) Keep(_ context.Context, entry *backend.JournalEntry) error {
	d.Settle(entry, nil)
	if d.dead {
		return errDied
	}
	return nil
}

func (d *disk) Settle(entry *backend.JournalEntry, result *model.ToolResult) {
	if !d.write() {
		return
	}
	row, err := json.Marshal(entry)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	d.rows = append(d.rows, [2][]byte{row, text})
}

// recovered returns the state to go on from.
func (d *disk) recovered(t *rapid.T) *backend.State {
	if d.state == nil {
		return nil
	}
	s, err := backend.DecodeState(d.state)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range d.rows {
		var entry backend.JournalEntry
		var result *model.ToolResult
		if err := errors.Join(json.Unmarshal(row[0], &entry), json.Unmarshal(row[1], &result)); err != nil {
			t.Fatal(err)
		}
		s.Record(entry, result)
	}
	return s
}

// lived is what a turn came to.
type lived struct {
	*runtime.Result
	err error
	log []event.Event
}

// lives runs the turn to its end, through a number of deaths.
func (m *doomed) lives(t *rapid.T, deaths []int, keeps bool) lived {
	rt, d := m.runtime(t), &disk{keeps: keeps}
	var out lived
	for range 200 {
		req := runtime.Prompt("a", "go")
		req.TurnID, req.Indeterminate, req.Journal, req.Checkpoint = "turn", m.policy, d, d.Begin
		req.Custom = json.RawMessage(`{"found":true}`)
		if req.State = d.recovered(t); req.State != nil && !req.State.InStep {
			for _, request := range req.State.Interactions() {
				req.Answers = append(req.Answers, turntest.Yes(request.ID))
			}
		}
		d.lives, d.dead, d.pending = 0, false, nil
		if len(deaths) > 0 {
			d.lives, deaths = deaths[0], deaths[1:]
		}
		out.Result, out.err = rt.Run(context.Background(), req, d)
		switch {
		case out.Result == nil:
			t.Fatal(out.err)
		case d.dead:
		case out.State != nil:
			d.state, d.rows = nil, nil
			if err := d.Begin(context.Background(), out.State); err != nil && !d.dead {
				t.Fatal(err)
			}
			if d.dead { // what was not kept is done again
				d.dead = false
				if err := d.Begin(context.Background(), out.State); err != nil {
					t.Fatal(err)
				}
			}
		default:
			out.log = append(d.log, d.pending...)
			return out
		}
	}
	t.Fatal("the turn does not end")
	return out
}

// unknown are the calls that were under way when the process died.
func (l *lived) unknown() map[string]bool {
	calls := make(map[string]bool)
	for i := range l.Journal {
		if l.Journal[i].Outcome == event.CallIndeterminate {
			calls[l.Journal[i].CallID] = true
		}
	}
	return calls
}

// comparable returns what a death must not change; what nobody can know of the
// calls that were under way is left out.
func (l *lived) comparable(t *rapid.T, unknown map[string]bool) string {
	messages := slices.Clone(l.Messages)
	for i := range messages {
		messages[i].Parts = slices.Clone(messages[i].Parts)
		for k, p := range messages[i].Parts {
			if p.ToolResult != nil && unknown[p.ToolResult.CallID] {
				messages[i].Parts[k] = model.Text("unknown")
			}
		}
	}
	for i := range l.Journal {
		e := &l.Journal[i]
		e.Began, e.Duration = time.Time{}, 0
		if unknown[e.CallID] {
			e.Outcome = ""
		}
	}
	custom := make(map[string]bool)
	if err := json.Unmarshal(l.Custom, &custom); err != nil {
		t.Fatal(err)
	}
	var counts struct{ AfterInference, StepEnd, BeforeToolExecute, AfterToolExecute int }
	if err := json.Unmarshal(l.Session["test.seen"], &counts); err != nil {
		t.Fatal(err)
	}
	usage := l.Usage
	if len(unknown) > 0 {
		counts.BeforeToolExecute, counts.AfterToolExecute, usage = 0, 0, model.Usage{}
		maps.DeleteFunc(custom, func(name string, _ bool) bool {
			return unknown[name] || strings.Contains(name, "ToolExecute") || l.err != nil && strings.Contains(name, "StepEnd")
		})
	}
	text := ""
	if l.err != nil {
		if len(unknown) > 0 {
			counts.StepEnd = 0 // a step that is suspended has ended, even if it fails later
		}
		text = l.err.Error()
	}
	data, err := json.MarshalIndent(map[string]any{
		"termination": l.Termination, "messages": messages, "steps": l.Steps, "journal": l.Journal, "custom": custom, "counts": counts,
		"usage": usage, "error": text, "agent": l.Agent,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestATurnComesToTheSameWhereverItsProcessDies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawDoomed(t)
		whole := m.lives(t, nil, true)
		keeps := rapid.Bool().Draw(t, "keeps")
		died := m.lives(t, rapid.SliceOfN(rapid.IntRange(1, 12), 1, 4).Draw(t, "deaths"), keeps)
		turntest.CheckMessages(t, died.Messages)
		for key, n := range m.ran {
			id, _, _ := strings.Cut(key, " ")
			if n > 1 && slices.ContainsFunc(died.Journal, func(e backend.JournalEntry) bool {
				return e.IdempotencyKey == id && e.Effect == tools.Once
			}) {
				t.Errorf("call %s was executed %d times", key, n)
			}
		}
		checkKept(t, &died)
		unknown := died.unknown()
		if diff := cmp.Diff(whole.comparable(t, unknown), died.comparable(t, unknown)); diff != "" {
			t.Errorf("after a death it comes to something else (-whole +died):\n%s", diff)
		}
	})
}

// checkKept looks whether each step and each call is in the log once, but for
// what was done again, and whether the patches lead to the custom state.
func checkKept(t *rapid.T, l *lived) {
	ended, ready, done := make(map[int]int), make(map[string]int), make(map[string]int)
	document := `{"found":true}`
	for i := range l.log {
		switch d := l.log[i].Data.(type) {
		case *event.RunStart:
			document = `{"found":true}`
			clear(done) // what was not kept is shown again
		case *event.StepStart:
			ended[d.Step] = 0 // it may be run again
		case *event.StepEnd:
			ended[d.Step]++
		case *event.ToolCallReady:
			ready[d.ID], done[d.ID] = 1, 0
		case *event.ToolCallDone:
			done[d.ID]++
		case *event.CustomPatch:
			document = patched(t, document, d)
		}
	}
	for step, n := range ended {
		if n != 1 {
			t.Errorf("step %d ended %d times", step, n)
		}
	}
	for id, n := range done {
		if n != 1 || ready[id] != 1 {
			t.Errorf("call %s was done %d times", id, n)
		}
	}
	if l.Status == event.StatusSucceeded && !sameDocument(t, document, string(l.Custom)) {
		t.Errorf("the patches lead to %s, the state is %s", document, l.Custom)
	}
}

// patched applies a patch as a reader of the events does.
func patched(t fataler, document string, d *event.CustomPatch) string {
	t.Helper()
	text, err := json.Marshal(d.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(document))
	if err != nil {
		t.Fatal("apply", string(text), "to", document, err)
	}
	return string(out)
}

func sameDocument(t fataler, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}
