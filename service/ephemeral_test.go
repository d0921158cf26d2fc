package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// workshop makes one tool, under the id that its description has.
type workshop struct {
	tool  tools.Tool
	make  func(ctx context.Context) error
	check error
	// open counts what was made and not let go; made is how often it was made.
	open, made atomic.Int64
}

func (w *workshop) Check([]service.EphemeralTool) error { return w.check }

func (w *workshop) Make(ctx context.Context, list []service.EphemeralTool) ([]resolve.EphemeralTool, func(), error) {
	w.made.Add(1)
	if w.make != nil {
		if err := w.make(ctx); err != nil {
			return nil, nil, err
		}
	}
	out := make([]resolve.EphemeralTool, len(list))
	for i := range list {
		var id string
		if err := json.Unmarshal(list[i].Config, &id); err != nil {
			return nil, nil, err
		}
		out[i] = resolve.EphemeralTool{ID: id, Tool: w.tool}
	}
	w.open.Add(1)
	return out, func() { w.open.Add(-1) }, nil
}

// with makes a service whose turns bring along what the workshop makes.
func (w *workshop) with(v *service.Settings) { v.TurnTools = w }

// guest is an agent that a turn brings along, with a tool.
func guest() *service.Ephemeral {
	return &service.Ephemeral{
		Agent: spec.Agent{ID: "guest", ModelID: "clerk", SystemPrompt: "You are a guest."},
		Tools: []service.EphemeralTool{{Kind: "fake", Config: json.RawMessage(`"mine"`)}},
	}
}

// brings is a turn that brings its agent along.
func brings(sessionID string, e *service.Ephemeral) service.CreateTurn {
	req := says(sessionID, "x")
	req.Ephemeral = e
	return req
}

func TestATurnBringsItsAgentAlong(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "mine", "{}"), {Text: "done"}}})
	shop := &workshop{tool: turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("made"), nil })}
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})), shop.with)
	id := session(t, s, "")
	turn := ended(t, s, create(t, s, brings(id, guest())).ID)
	if turn.Status != store.Succeeded || turn.AgentID != "guest" || turn.Outcome.Agent != "guest" || turn.Outcome.Response != "done" {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if how, text := callOutcome(t, log(t, s, turn.ID), "c"); how != event.CallSucceeded || text != "made" {
		t.Errorf("the call %s: %s", how, text)
	}
	if asked := exec.Requests["clerk"][0]; system(asked) != "You are a guest." || len(asked.Tools) != 1 || asked.Tools[0].Name != "mine" {
		t.Errorf("the model was asked %+v", asked)
	}
	if got := conversation(t, s, id); !slices.Contains(got, "done") {
		t.Errorf("the session has %v", got)
	}
	eventually(t, func() string {
		if shop.open.Load() != 0 || shop.made.Load() != 1 {
			return "the tools are not let go"
		}
		return ""
	})
}

func TestWhatATurnCannotBringAlong(t *testing.T) {
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "clerk"}))
	far := guest()
	far.Agent.Endpoint = &spec.Endpoint{BaseURL: "https://x.example"}
	lost := guest()
	lost.Agent.ModelID = "clrek"
	for name, c := range map[string]struct {
		shop service.TurnTools
		e    *service.Ephemeral
		want func(error) bool
	}{
		"tools that nobody makes": {nil, guest(), invalidField("ephemeral.tools")},
		"invalid tools":           {&workshop{check: errors.New("bad")}, guest(), invalidField("ephemeral.tools")},
		"an agent elsewhere":      {&workshop{}, far, invalidField("ephemeral.agent.endpoint")},
		"an agent without id":     {&workshop{}, &service.Ephemeral{Agent: spec.Agent{ModelID: "clerk"}}, invalidField("ephemeral.agent.id")},
		"an unknown model": {&workshop{}, lost, func(err error) bool {
			missing, ok := errors.AsType[*resolve.ModelNotFoundError](err)
			return ok && missing.Nearest == "clerk"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, rt, func(v *service.Settings) { v.TurnTools = c.shop })
			id := session(t, s, "")
			if _, err := s.CreateTurn(t.Context(), alice, brings(id, c.e)); !c.want(err) {
				t.Errorf("the error is %v", err)
			}
			if list, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: id}); err != nil || len(list.Turns) != 0 {
				t.Errorf("there are turns: %+v, %v", list, err)
			}
		})
	}
}

func invalidField(field string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*service.InvalidError](err)
		return ok && e.Field == field
	}
}

func TestToolsThatCannotBeMadeFailTheTurn(t *testing.T) {
	for name, fails := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("no wood") },
		"panic": func(context.Context) error { panic("no wood") },
	} {
		t.Run(name, func(t *testing.T) {
			exec := turntest.Scripts(nil)
			s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})), (&workshop{make: fails}).with)
			turn := ended(t, s, create(t, s, brings(session(t, s, ""), guest())).ID)
			why := turn.Outcome.Termination
			if turn.Status != store.Failed || why.Code != service.CodeUnresolved || !strings.Contains(why.Detail, "no wood") {
				t.Errorf("the turn is %s: %+v", turn.Status, why)
			}
			if len(exec.Requests) != 0 {
				t.Error("a model was asked")
			}
			log(t, s, turn.ID)
		})
	}
}

func TestToolsOfTurnsAreEncryptedInTheStore(t *testing.T) {
	const secret = "s3cret-in-a-description"
	kept := newMemory(t)
	key := func(fill byte) []byte { return bytes.Repeat([]byte{fill}, 32) }
	guest := guest()
	guest.Tools[0].Config = json.RawMessage(`"` + secret + `"`)
	for name, tt := range map[string]struct {
		made, run []byte
		status    store.Status
	}{
		"one key":         {key(1), key(1), store.Succeeded},
		"another key":     {key(1), key(2), store.Failed},
		"no key any more": {key(1), nil, store.Failed},
		"a key since":     {nil, key(1), store.Succeeded},
		"never a key":     {nil, nil, store.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "done"}}}), spec.Agent{ID: "clerk"}))
			shop := &workshop{tool: turntest.ToolFunc(nil)}
			with := func(key []byte) setting {
				return func(v *service.Settings) { v.TurnTools, v.Store, v.EncryptionKey = shop, kept, key }
			}
			maker := idle(t, rt, with(tt.made))
			made := create(t, maker, brings(session(t, maker, ""), guest))
			stored, err := kept.Turn(t.Context(), store.Everything, made.ID)
			if err != nil || strings.Contains(string(stored.Request), secret) == (tt.made != nil) {
				t.Errorf("the store has %s, %v", stored.Request, err)
			}
			turn := ended(t, serve(t, rt, with(tt.run)), made.ID)
			if turn.Status != tt.status || strings.Contains(fmt.Sprintf("%+v", turn.Outcome), secret) {
				t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			if tt.status == store.Failed && !strings.Contains(turn.Outcome.Termination.Detail, "encrypted with another encryption key") {
				t.Errorf("it failed because %s", turn.Outcome.Termination.Detail)
			}
		})
	}
	bad := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "clerk"})), func(v *service.Settings) { v.TurnTools, v.EncryptionKey = &workshop{}, []byte("short") })
	if _, err := bad.CreateTurn(t.Context(), alice, brings(session(t, bad, ""), guest)); err == nil || !strings.Contains(err.Error(), "32 bytes") {
		t.Errorf("with an invalid key the error is %v", err)
	}
}

func TestACanceledTurnDoesNotWaitForItsTools(t *testing.T) {
	began := make(chan struct{})
	shop := &workshop{make: func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}
	s := serve(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "clerk"})), shop.with)
	made := create(t, s, brings(session(t, s, ""), guest()))
	<-began
	turn, err := s.CancelTurn(t.Context(), alice, made.ID, "enough")
	if err != nil || turn.Status != store.Canceled {
		t.Errorf("it is %+v, %v", turn, err)
	}
}

func TestToolsThatCannotBeLetGoHoldNothingUp(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "done"}, {Text: "done"}}})
	shop := clumsy{&workshop{}}
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})), func(v *service.Settings) { v.TurnTools = shop })
	id := session(t, s, "")
	for range 2 {
		if turn := ended(t, s, create(t, s, brings(id, guest())).ID); turn.Status != store.Succeeded {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
		}
	}
}

// clumsy panics when its tools are let go.
type clumsy struct{ *workshop }

func (c clumsy) Make(ctx context.Context, list []service.EphemeralTool) ([]resolve.EphemeralTool, func(), error) {
	c.tool = turntest.ToolFunc(nil)
	made, _, err := c.workshop.Make(ctx, list)
	return made, func() { panic("it slips") }, err
}

func TestATurnGoesOnWithItsAgentAfterATakeOver(t *testing.T) {
	kept := newMemory(t)
	grave := &mortal{Store: kept}
	called := make(chan struct{})
	tool := &effects{class: tools.Idempotent, call: func(ctx context.Context, n int) (tools.Result, error) {
		if n == 1 {
			grave.dead.Store(true)
			close(called)
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}
		return tools.TextResult("made"), nil
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "mine", "{}"), {Text: "finished"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}))
	victim := serve(t, rt, on(grave), (&workshop{tool: tool}).with)
	made := create(t, victim, brings(session(t, victim, ""), guest()))
	<-called
	go victim.Close()
	shop := &workshop{tool: tool}
	survivor := serve(t, rt, on(kept), shop.with)
	turn := ended(t, survivor, made.ID)
	if turn.Status != store.Succeeded || turn.Outcome.Agent != "guest" || turn.Outcome.Response != "finished" {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if how, text := callOutcome(t, log(t, survivor, turn.ID), "c"); how != event.CallSucceeded || text != "made" || shop.made.Load() != 1 {
		t.Errorf("the call %s: %s, its tool was made %d times", how, text, shop.made.Load())
	}
	if asked := exec.Requests["clerk"]; system(asked[len(asked)-1]) != "You are a guest." {
		t.Errorf("the model was asked as %q", system(asked[len(asked)-1]))
	}
}

func TestToolsAreLetGoWhileTheTurnWaits(t *testing.T) {
	kept := newMemory(t)
	shop := &workshop{tool: turntest.ToolFunc(func(_ context.Context, call *tools.Call) (tools.Result, error) {
		if call.Resumed == nil {
			return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Action: "ask"}}}}, nil
		}
		return tools.TextResult(string(call.Resumed.Answers[0].Result)), nil
	})}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "mine", "{}"), {Text: "done"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}))
	first := serve(t, rt, on(kept), shop.with)
	made := create(t, first, brings(session(t, first, ""), guest()))
	until(t, first, made.ID, store.Waiting)
	eventually(t, func() string {
		if n := shop.open.Load(); n != 0 {
			return "the tools are not let go"
		}
		return ""
	})
	first.Close()
	second := serve(t, rt, on(kept), shop.with)
	if _, err := second.AnswerInteraction(t.Context(), alice, made.ID, interaction.Answer{Target: "c", Result: json.RawMessage(`"42"`)}); err != nil {
		t.Fatal(err)
	}
	turn := ended(t, second, made.ID)
	if _, text := callOutcome(t, log(t, second, turn.ID), "c"); turn.Status != store.Succeeded || text != `"42"` || shop.made.Load() != 2 {
		t.Errorf("the turn is %s, the call came to %s, the tools were made %d times", turn.Status, text, shop.made.Load())
	}
}

func TestTheSameRequestForAnAgentComesToOneTurn(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "done"}}})
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})), (&workshop{tool: turntest.ToolFunc(nil)}).with)
	req := brings(session(t, s, ""), guest())
	req.IdempotencyKey = "k"
	first, again := create(t, s, req), create(t, s, req)
	if first.ID != again.ID {
		t.Errorf("there are %s and %s", first.ID, again.ID)
	}
	req.Ephemeral = guest()
	req.Ephemeral.Agent.SystemPrompt = "Somebody else."
	if _, err := s.CreateTurn(t.Context(), alice, req); !errors.As(err, new(*store.KeyConflictError)) {
		t.Errorf("another agent under the key gives %v", err)
	}
	ended(t, s, first.ID)
}

func TestAnAgentOfATurnMayHaveTheIDOfADeclaredOne(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "one"}, {Text: "two"}}})
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", SystemPrompt: "declared"})), (&workshop{tool: turntest.ToolFunc(nil)}).with)
	id := session(t, s, "clerk")
	e := guest()
	e.Agent.ID = "clerk"
	ended(t, s, create(t, s, brings(id, e)).ID)
	ended(t, s, create(t, s, says(id, "y")).ID)
	asked := exec.Requests["clerk"]
	if system(asked[0]) != "You are a guest." || system(asked[1]) != "declared" {
		t.Errorf("the model was asked as %q and %q", system(asked[0]), system(asked[1]))
	}
}

// system returns the instructions of a request.
func system(req *model.Request) string {
	if len(req.Messages) == 0 || req.Messages[0].Role != model.RoleSystem {
		return ""
	}
	return req.Messages[0].Text()
}
