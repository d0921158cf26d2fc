package agents_test

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

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// ledger is the custom state of the agent of these tests.
type ledger struct {
	Turns   int            `json:"turns"`
	Entries map[string]int `json:"entries,omitempty"`
}

// gate stops a turn at a place, until its service is closed or the turn is aborted.
type gate struct {
	mu      sync.Mutex
	place   string
	reached chan struct{}
}

// set stops the next turn at a place.
func (g *gate) set(place string) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.place, g.reached = place, make(chan struct{})
	return g.reached
}

// pass stops the turn once if it is at the gate's place.
func (g *gate) pass(ctx context.Context, place string) error {
	g.mu.Lock()
	stop := g.place == place
	if stop {
		g.place = ""
		close(g.reached)
	}
	g.mu.Unlock()
	if !stop {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// clerk is a model that calls the tool named by its input and then says done.
type clerk struct{}

func (clerk) Vendor() string { return "openai" }

func (clerk) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	last := &req.Messages[len(req.Messages)-1]
	return func(yield func(model.Event, error) bool) {
		list := []model.Event{{Type: model.EventText, Delta: "Done."}, {Type: model.EventFinish, Reason: model.FinishStop}}
		tool, _, _ := strings.Cut(last.Text(), " ")
		if last.Role == model.RoleUser && (tool == "work" || tool == "ask" || tool == "pay") {
			list = []model.Event{
				{Type: model.EventToolCallStart, ID: "c1", Name: tool}, {Type: model.EventToolCallEnd, Delta: `{"n":1}`},
				{Type: model.EventToolCallStart, Index: 1, ID: "c2", Name: tool}, {Type: model.EventToolCallEnd, Index: 1, Delta: `{"n":2}`},
				{Type: model.EventFinish, Reason: model.FinishToolCalls},
			}
		}
		for _, ev := range list {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// act is a tool that changes the ledger, or waits for its result.
type act struct {
	gate *gate
	asks bool
}

func (act) Descriptor() tools.Descriptor {
	return tools.Descriptor{Effect: tools.Idempotent, Serial: true}
}

func (a act) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	if a.asks {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "Well?"}}, AnswerIsResult: true}}, nil
	}
	if err := a.gate.pass(ctx, "tool "+string(call.Arguments)); err != nil {
		return tools.Result{}, err
	}
	err := agents.UpdateState(call.Session, func(l *ledger) error { return l.enter("tool") })
	return tools.TextResult("worked"), err
}

func (l *ledger) enter(name string) error {
	if l.Entries == nil {
		l.Entries = make(map[string]int)
	}
	l.Entries[name]++
	return nil
}

// place is a store, and the service that works on it.
type place struct {
	t       testing.TB
	kept    store.Store
	queue   func() dispatch.Dispatcher
	gate    *gate
	agent   *agents.Agent[ledger]
	service *service.Service
	close   func()
}

// newPlace returns a place with a memory store.
func newPlace(t testing.TB) *place {
	kept := memory.New(store.Settings{})
	p := &place{t: t, kept: kept, queue: func() dispatch.Dispatcher { return newQueue() }, gate: new(gate)}
	p.start()
	t.Cleanup(func() {
		p.close()
		_ = kept.Close()
	})
	return p
}

// newPlaceOn returns a place with another store, which cannot restart.
func newPlaceOn(t testing.TB, open opener) *place {
	kept, queue := open(t)
	p := &place{t: t, kept: kept, queue: func() dispatch.Dispatcher { return queue }, gate: new(gate)}
	p.start()
	t.Cleanup(func() { p.close() })
	return p
}

// start starts a service with the agent, as another process would.
func (p *place) start() {
	var err error
	if p.agent, err = agents.Coded("book", p.code, agents.Options[ledger]{}); err != nil {
		p.t.Fatal(err)
	}
	b := builder.New().WithProvider("main", clerk{}).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).
		WithTool("work", act{gate: p.gate}).WithTool("ask", act{asks: true}).
		WithAgentSpec(spec.Agent{ID: "book", ModelID: "m", SystemPrompt: "You keep the book."})
	if err := agents.Install(b, p.agent); err != nil {
		p.t.Fatal(err)
	}
	rt, err := b.Build()
	if err != nil {
		p.t.Fatal(err)
	}
	p.service = service.New(service.Settings{Runtime: rt, Store: p.kept, Dispatcher: p.queue()})
	if err := p.service.Start(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	if _, err := agents.NewSet(agents.Settings{Service: p.service, Agents: []agents.Definition{p.agent}}); err != nil {
		p.t.Fatal(err)
	}
	p.close = func() {
		p.service.Close()
		_ = rt.Close()
	}
}

// restart stops the service in the middle of its work and starts another.
func (p *place) restart() {
	p.close()
	p.start()
}

// code keeps the book and stops at the gate's place.
func (p *place) code(ctx context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
	return keepBook(ctx, t, func(place string) error { return p.gate.pass(ctx, place) })
}

// keepBook counts the turn before and after calling the model twice, and keeps an artifact. It
// calls pass at each place.
func keepBook(ctx context.Context, t *agents.Turn[ledger], pass func(place string) error) (*agents.Result, error) {
	text := t.Input()[0].Text()
	err := t.Update(func(l *ledger) error { l.Turns++; return l.enter("before") })
	if err == nil {
		err = pass("before")
	}
	if err != nil {
		return nil, err
	}
	if err := t.SendArtifact(wire.Artifact{Name: "last", Parts: []wire.Part{wire.NewTextPart(text)}}); err != nil {
		return nil, err
	}
	if _, err := t.Generate(ctx, agents.Prompt{}); err != nil {
		return nil, err
	}
	if err := errors.Join(t.Update(func(l *ledger) error { return l.enter("between") }), pass("between")); err != nil {
		return nil, err
	}
	answer, err := t.Generate(ctx, agents.Prompt{Input: []model.Message{model.User("work more")}})
	if err != nil {
		return nil, err
	}
	err = errors.Join(t.Update(func(l *ledger) error { return l.enter("after") }), pass("after"))
	if strings.HasSuffix(text, "fail") {
		err = errors.Join(err, agents.Error(wire.StatusAborted, "as you wish"))
	}
	return answer, err
}

// book is the expected content of the session.
type book struct {
	Ledger   ledger
	Texts    []string
	Artifact string
}

// expect adds a successful turn with its input and the results of its pay calls.
func (b *book) expect(text string, paid ...string) {
	b.Ledger.Turns++
	tool, _, _ := strings.Cut(text, " ")
	counts := map[string]int{"before": 1, "between": 1, "after": 1, "tool": 2}
	b.Texts = append(b.Texts, text)
	switch tool {
	case "work":
		counts["tool"] += 2
		b.Texts = append(b.Texts, "worked", "worked")
	case "ask":
		b.Texts = append(b.Texts, "yes 1", "yes 2")
	case "pay":
		b.Texts = append(b.Texts, paid...)
		for _, result := range paid {
			if result == "paid" {
				counts["tool"]++
			}
		}
	}
	b.Texts = append(b.Texts, "Done.", "work more", "worked", "worked", "Done.")
	if b.Ledger.Entries == nil {
		b.Ledger.Entries = make(map[string]int)
	}
	for name, n := range counts {
		b.Ledger.Entries[name] += n
	}
	b.Artifact = text
}

// read returns the content of a snapshot.
func (p *place) read(id string) (*book, error) {
	kept, err := p.agent.GetSnapshot(context.Background(), id)
	if err != nil {
		return nil, err
	}
	if kept.State == nil {
		return nil, fmt.Errorf("snapshot %s is %s and has no state", id, kept.Status)
	}
	return readBook(kept.State), nil
}

// readBook returns the content of a state.
func readBook(state *agents.State[ledger]) *book {
	out := &book{Ledger: state.Custom}
	for i := range state.Messages {
		for _, part := range state.Messages[i].Content {
			switch {
			case part.Text != nil:
				out.Texts = append(out.Texts, *part.Text)
			case part.ToolResponse != nil:
				var text string
				if json.Unmarshal(part.ToolResponse.Output, &text) != nil {
					text = string(part.ToolResponse.Output)
				}
				out.Texts = append(out.Texts, text)
			}
		}
	}
	if len(state.Artifacts) == 1 {
		out.Artifact = *state.Artifacts[0].Parts[0].Text
	}
	return out
}

// TestPropertyASessionIsWhatItsTurnsMadeOfIt runs random turns, some of which fail, are aborted,
// are interrupted, or lose their worker at any place. The session contains the effects of each
// successful turn once.
func TestPropertyASessionIsWhatItsTurnsMadeOfIt(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	sessions := 0
	rapid.Check(t, func(t *rapid.T) {
		sessions++
		source := agents.FromSession(fmt.Sprintf("session %d", sessions))
		var want book
		last := ""
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			text := rapid.SampledFrom([]string{"hello", "work", "ask"}).Draw(t, "input") + rapid.SampledFrom([]string{" it", " to fail"}).Draw(t, "end")
			places := []string{"before", "between", "after"}
			how := rapid.SampledFrom([]string{"run", "run", "kill", "abort"}).Draw(t, "how")
			if how == "abort" { // the context's end is the tool result if its worker stops
				places = append(places, `tool {"n":1}`, `tool {"n":2}`)
			}
			var reached <-chan struct{}
			if how != "run" {
				reached = p.gate.set(rapid.SampledFrom(places).Draw(t, "place"))
			}
			begun, err := p.agent.Detach(ctx, source, agents.Text(text), agents.DetachOptions{})
			if err != nil {
				t.Fatal(err)
			}
			id, asks := begun.SnapshotID, strings.HasPrefix(text, "ask")
			answer := func() {
				if _, err := p.agent.Detach(ctx, source, agents.Respond(respond(p, id)...), agents.DetachOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			answered := false
			switch how {
			case "run":
			default:
				stopped := awaitGate(p, id, reached)
				if asks && stopped != nil && stopped.FinishReason == wire.FinishInterrupted {
					answer()
					answered = true
					stopped = awaitGate(p, id, reached)
				}
				if stopped != nil {
					t.Fatalf("%s %q: %+v, %v", how, text, stopped.Snapshot, stopped.Error)
				}
				if how == "kill" {
					p.restart()
				} else if status, err := p.agent.Abort(ctx, id); err != nil || status != wire.SnapshotAborted {
					t.Fatal(status, err)
				}
			}
			out, err := p.agent.WaitForSnapshot(ctx, id)
			if err == nil && out.FinishReason == wire.FinishInterrupted && !answered {
				answer()
				out, err = p.agent.WaitForSnapshot(ctx, id)
			}
			if err != nil {
				t.Fatal(err)
			}
			good := how != "abort" && !strings.HasSuffix(text, "fail")
			if good != (out.Status == wire.SnapshotCompleted) {
				t.Fatalf("%s %q comes to %s: %v", how, text, out.Status, out.Error)
			}
			if good {
				want.expect(text)
				last = id
			}
		}
		if last == "" {
			return
		}
		got, err := p.read(last)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// respond returns answers to a turn's requests, in reverse order.
func respond(p *place, id string) []wire.Part {
	kept, err := p.agent.GetSnapshot(context.Background(), id)
	if err != nil || kept.State == nil {
		p.t.Fatalf("%v %+v", err, kept)
	}
	list, err := answersTo(kept)
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// answersTo returns answers to the open requests of a snapshot, in reverse order.
func answersTo(kept *agents.Snapshot[ledger]) ([]wire.Part, error) {
	var list []wire.Part
	for _, message := range kept.State.Messages {
		for i := range message.Content {
			if part := &message.Content[i]; part.Metadata["interrupt"] != nil {
				answered, err := agents.Answer(part, "yes "+string(part.ToolRequest.Input[5:6]))
				if err != nil {
					return nil, err
				}
				list = append(list, answered)
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}

// awaitGate waits until the gate stops a turn. If the turn ends or asks earlier, awaitGate returns
// its snapshot.
func awaitGate(p *place, id string, reached <-chan struct{}) *agents.Snapshot[ledger] {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan *agents.Snapshot[ledger], 1)
	go func() {
		kept, _ := p.agent.WaitForSnapshot(ctx, id)
		done <- kept
	}()
	select {
	case <-reached:
		cancel()
		<-done
		return nil
	case kept := <-done:
		return kept
	}
}
