package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestATurnStreamsAndCallsTools(t *testing.T) {
	var keys []string
	r := newRig(t, able(), func(ctx context.Context, turn *providertest.Turn) {
		turn.Say("Let me ")
		turn.Say("see. ")
		listed, err := turn.Tools(ctx, "")
		if err != nil || len(listed) != 1 || listed[0].GetId() != "double" {
			turn.Fail("the tools are wrong")
			return
		}
		got, err := turn.Call(ctx, "double", map[string]any{"n": 21})
		if err != nil {
			turn.Fail(err.Error())
			return
		}
		turn.Say("It is " + got.GetBody() + ".")
		turn.Succeed("It is " + got.GetBody() + ".")
	}, func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) {
		b.WithTool("double", double(func(c *tools.Call) { keys = append(keys, c.IdempotencyKey) }))
	})
	result, err := r.run(t, "What is twice 21?")
	if err != nil {
		t.Fatal(err)
	}
	if result.Response != "It is 42." || result.Steps != 2 || len(keys) != 1 || !strings.HasSuffix(keys[0], "/1/c1") {
		t.Errorf("the turn came to %q in %d steps, with the keys %q", result.Response, result.Steps, keys)
	}
	if got := r.sink.text(); got != "Let me see. It is 42." {
		t.Errorf("it showed %q", got)
	}
}

func TestTheSecondTurnSendsWhatIsNew(t *testing.T) {
	var got [][]string
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
		var texts []string
		for _, m := range turn.Request.GetMessages() {
			texts = append(texts, m.GetRole()+": "+m.GetText())
		}
		got = append(got, texts)
		turn.Succeed("ok")
	})
	first, err := r.Run(t.Context(), runtime.Request{AgentID: "coder", SessionID: "s", Input: []model.Message{model.User("one")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	history := append([]model.Message{model.User("one")}, first.Messages...)
	next := runtime.Request{AgentID: "coder", SessionID: "s", History: history, Session: first.Session, Input: []model.Message{model.User("two")}}
	if _, err := r.Run(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	r.fake.ForgetSessions()
	if _, err := r.Run(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"system: Be brief.", "user: one"},
		{"user: two"},
		{"system: Be brief.", "user: one", "assistant: ok", "user: two"}, // the provider had lost the session
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAnswerInAForm(t *testing.T) {
	form := &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	turns := 0
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
		turns++
		if turn.Request.GetResponseSchema() == nil {
			turn.Fail("there is no form")
			return
		}
		if turns == 1 {
			turn.SucceedWith(map[string]any{"wrong": true})
			return
		}
		turn.SucceedWith(map[string]any{"n": 7})
	}, func(_ *builder.AgentRuntimeBuilder, a *spec.Agent) { a.OutputSchema = form })
	result, err := r.run(t, "A number, please.")
	if err != nil || turns != 2 || strings.ReplaceAll(result.Response, " ", "") != `{"n":7}` {
		t.Errorf("%d turns came to %+v, %v", turns, result, err)
	}
}

func TestWhatAProviderCannotDoIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*builder.AgentRuntimeBuilder, *spec.Agent)
		want   string
	}{
		"a form": {func(_ *builder.AgentRuntimeBuilder, a *spec.Agent) {
			a.OutputSchema = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
		}, "structured_output"},
		"tools": {func(b *builder.AgentRuntimeBuilder, a *spec.Agent) {
			b.WithTool("double", double(nil))
			a.AllowedTools = spec.Names{"double"}
		}, "tool_calls"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil, func(_ context.Context, turn *providertest.Turn) { turn.Succeed("") }, tt.change)
			_, err := r.run(t, "Go.")
			if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_capability" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the turn came to %v", err)
			}
			if _, creates := r.fake.Counts(); creates != 0 {
				t.Error("a turn was created")
			}
		})
	}
}

func TestATurnThatFailsAtTheProvider(t *testing.T) {
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
		turn.Say("I was about to")
		turn.Fail("the vendor is down")
	})
	result, err := r.run(t, "Go.")
	if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_failed" || failed.Termination.Detail != "the vendor is down" {
		t.Errorf("the turn came to %v", err)
	}
	if result == nil || result.Response != "I was about to" {
		t.Errorf("its text is lost: %+v", result)
	}
}

func TestACanceledTurnEndsAtTheProvider(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, able(), func(life context.Context, turn *providertest.Turn) {
		turn.Say("working")
		cancel()
		<-life.Done()
	})
	if _, err := r.Run(ctx, runtime.Prompt("coder", "Go."), r.sink); err == nil {
		t.Error("the turn succeeded")
	}
	for _, turn := range r.fake.Turns() {
		if s := turn.Status(); s != providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED {
			t.Errorf("the provider's turn is %s", s)
		}
	}
}

func TestAToolThatTheRulesDenyIsNotRun(t *testing.T) {
	ran := false
	var got *providerproto.ExecuteAgentToolResponse
	r := newRig(t, able(), func(ctx context.Context, turn *providertest.Turn) {
		got, _ = turn.Call(ctx, "double", map[string]any{"n": 666})
		turn.Succeed("done")
	}, func(b *builder.AgentRuntimeBuilder, a *spec.Agent) {
		b.WithTool("double", double(func(*tools.Call) { ran = true }))
		a.PluginIDs = []string{"permission"}
		a.Sections = spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"double(n == 666)","behavior":"deny"}]}`)}
	})
	if _, err := r.run(t, "Go."); err != nil {
		t.Fatal(err)
	}
	if ran || got.GetStatus() != 400 {
		t.Errorf("the tool ran: %t; the provider got %v", ran, got)
	}
}

func TestAToolThatAPersonAllows(t *testing.T) {
	r := newRig(t, able(), func(ctx context.Context, turn *providertest.Turn) {
		got, err := turn.Call(ctx, "double", map[string]any{"n": 4})
		if err != nil {
			turn.Fail(err.Error())
			return
		}
		turn.Succeed("It is " + got.GetBody())
	}, func(b *builder.AgentRuntimeBuilder, a *spec.Agent) {
		b.WithTool("double", double(nil))
		a.PluginIDs = []string{"permission"}
		a.Sections = spec.Sections{"permission": json.RawMessage(`{"default_behavior":"ask"}`)}
	})
	turn, err := r.Start(t.Context(), runtime.Prompt("coder", "Go."), r.sink)
	if err != nil {
		t.Fatal(err)
	}
	answerFirst(t, r, turn, `{"approved":true}`)
	result, err := turn.Wait(t.Context())
	if err != nil || result.Response != "It is 8" {
		t.Errorf("the turn came to %+v, %v", result, err)
	}
}

func TestAProviderAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		typ          providerproto.AgentInteractionType
		answer, want string
	}{
		"for approval":      {providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_APPROVAL, `{"approved":true}`, `approved:true`},
		"for clarification": {providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_CLARIFICATION, `"blue"`, `response:blue`},
		"for input":         {providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_INPUT, `{"city":"Oslo"}`, `city:Oslo`},
		"for input as text": {providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_INPUT, `"Oslo"`, `response:Oslo`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, able(), func(ctx context.Context, turn *providertest.Turn) {
				turn.Say("One question. ")
				answer := turn.Ask(ctx, "i1", tt.typ, "Which?")
				turn.Succeed(strings.TrimPrefix(strings.TrimSuffix(fmt.Sprint(answer.AsMap()), "]"), "map["))
			}, func(_ *builder.AgentRuntimeBuilder, a *spec.Agent) { // rules do not apply to questions
				a.PluginIDs = []string{"permission"}
				a.Sections = spec.Sections{"permission": json.RawMessage(`{"default_behavior":"deny"}`)}
			})
			turn, err := r.Start(t.Context(), runtime.Prompt("coder", "Go."), r.sink)
			if err != nil {
				t.Fatal(err)
			}
			answerFirst(t, r, turn, tt.answer)
			result, err := turn.Wait(t.Context())
			if err != nil || result.Response != tt.want {
				t.Errorf("the turn came to %+v, %v", result, err)
			}
		})
	}
}

// answerFirst answers the turn's first question.
func answerFirst(t *testing.T, r *rig, turn *runtime.Turn, answer string) {
	t.Helper()
	replyFirst(t, r, turn, interaction.Answer{Action: interaction.Resume, Result: json.RawMessage(answer)})
}

// replyFirst answers or cancels the turn's first question.
func replyFirst(t *testing.T, r *rig, turn *runtime.Turn, answer interaction.Answer) {
	t.Helper()
	asked := r.sink.await(func(e *event.Event) bool { _, ok := e.Data.(*event.RunWaiting); return ok })
	answer.Target = asked.Data.(*event.RunWaiting).Interactions[0]
	if err := turn.Answer(answer); err != nil {
		t.Fatal(err)
	}
}

func TestEventsOfTheProviderAreShown(t *testing.T) {
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
		turn.Emit("turn.started", nil, nil)
		turn.Emit("shell.ran", map[string]any{"exit": 0}, &providerproto.AgentTurnDisplay{Kind: "tool", Phase: "completed", Label: "bash", Ref: "own"})
		turn.Emit("secret.thing", map[string]any{"token": "s3cret"}, nil)
		turn.Emit("tool.started", map[string]any{"tool_call_id": "c1"}, nil)
		turn.Emit("thinking", nil, &providerproto.AgentTurnDisplay{Kind: "reasoning", Phase: "delta", Text: "Hm."})
		turn.Emit("assistant.completed", map[string]any{"text": "All done."}, nil)
		turn.Succeed("All done.")
	})
	result, err := r.run(t, "Go.")
	if err != nil || result.Response != "All done." || r.sink.text() != "All done." {
		t.Fatalf("the turn came to %+v, %v", result, err)
	}
	var shown []string
	var reader display.Reader // as clients of sessions see it
	for _, e := range r.sink.events {
		record, err := event.NewRecord(e)
		if err != nil {
			t.Fatal(err)
		}
		events, err := reader.Read(&record)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if d := events[i].Display; d != nil && d.Kind == display.KindTool {
				shown = append(shown, fmt.Sprintf("%s %s %s %s %s", events[i].Type, events[i].Data, d.Label, d.Ref, d.Action))
			}
		}
	}
	if want := []string{`shell.ran {"exit":0} bash own Ran`}; len(shown) == 0 || !slices.Equal(shown[:1], want) {
		t.Errorf("the events are %q, not %q", shown, want)
	}
}

// TestRawEventsStayReadable emits events that become events of the turn, with a type or data that
// only the provider knows.
func TestRawEventsStayReadable(t *testing.T) {
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
		turn.Emit("turn.started", nil, nil)
		turn.Emit("claude.message", map[string]any{"uuid": "m1"}, &providerproto.AgentTurnDisplay{Kind: "text", Phase: "delta", Text: "All "})
		turn.Emit("assistant.delta", map[string]any{"text": "do", "logprob": -1}, nil)
		turn.Emit("assistant.delta", map[string]any{"text": "ne."}, nil)
		turn.Emit("codex.thought", map[string]any{"hash": "h"}, &providerproto.AgentTurnDisplay{Kind: "reasoning", Phase: "delta", Text: "Hm."})
		turn.Emit("turn.checkpoint", map[string]any{"at": 1}, nil)
		turn.Succeed("All done.")
	})
	result, err := r.run(t, "Go.")
	if err != nil || result.Response != "All done." || r.sink.text() != "All done." {
		t.Fatalf("the turn came to %+v, %v", result, err)
	}
	var raw []string
	for _, e := range r.sink.events {
		a, ok := e.Data.(*event.ActivitySnapshot)
		if !ok {
			continue
		}
		var shown display.ForeignEvent
		if err := json.Unmarshal(a.Content, &shown); err != nil {
			t.Fatal(err)
		}
		raw = append(raw, fmt.Sprintf("%d %s %s %s %s", shown.Seq, shown.Visibility, shown.Type, strings.ReplaceAll(string(shown.Data), " ", ""), shown.Display))
	}
	want := []string{
		`2 private claude.message {"uuid":"m1"} `, `3 private assistant.delta {"logprob":-1,"text":"do"} `, `5 private codex.thought {"hash":"h"} `, `6 private turn.checkpoint {"at":1} `,
	}
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Error(diff)
	}
}

func TestAProviderTakesBackWhatItSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		since  int
		answer string
	}{
		"a part":     {2, "once upon a time"},
		"everything": {1, "upon a time"},
		"nothing":    {9, "once up on upon a time"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) {
				turn.Say("once ")
				turn.Say("up on ")
				turn.Emit("assistant.reset", map[string]any{"from_seq": tt.since}, &providerproto.AgentTurnDisplay{Kind: "status", Phase: "progress"})
				turn.Say("upon a time")
				turn.Succeed(tt.answer)
			})
			result, err := r.run(t, "Go.")
			if err != nil || result.Response != tt.answer {
				t.Errorf("the turn came to %+v, %v", result, err)
			}
		})
	}
}

func TestADelegateRunsAtTheProvider(t *testing.T) {
	said, err := scripted.Parse("script", []byte("replies:\n- tool_calls: [{id: c, name: agent_run_coder, arguments: {prompt: Do it.}}]\n- text: It said so.\n"))
	if err != nil {
		t.Fatal(err)
	}
	script := scripted.NewForTest(t, said)
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) { turn.Succeed("Did it.") },
		func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) {
			b.WithProvider("p", script).WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "x"})
			b.WithAgentSpec(spec.Agent{ID: "boss", ModelID: "m", Delegates: []string{"coder"}})
		})
	result, err := r.Run(t.Context(), runtime.Prompt("boss", "Go."), r.sink)
	if err != nil || result.Response != "It said so." {
		t.Fatalf("the turn came to %+v, %v", result, err)
	}
	if _, creates := r.fake.Counts(); creates != 1 {
		t.Errorf("%d turns were created", creates)
	}
}

func TestAProviderWorksInTheWorkspaceOfTheSession(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	answer := func(_ context.Context, turn *providertest.Turn) { turn.Succeed("Done.") }
	run := func(can *providerproto.AgentProviderCapabilities) (*rig, error) {
		r := newRig(t, can, answer)
		req := runtime.Prompt("coder", "hi")
		req.Workspace = &tools.Workspace{Root: root, Cwd: "app"}
		_, err := r.Run(t.Context(), req, r.sink)
		return r, err
	}
	can := able()
	can.SupportsPreparedWorkspace = true
	r, err := run(can)
	if got := r.fake.Prepared(); err != nil || got.GetRoot() != root || got.GetCwd() != filepath.Join(root, "app") {
		t.Errorf("the provider works in %v, %v", got, err)
	}
	r, err = run(able())
	if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_capability" || !strings.Contains(err.Error(), "supports_prepared_workspace") {
		t.Errorf("a provider without the capability: %v", err)
	}
	if sessions, creates := r.fake.Counts(); sessions+creates != 0 {
		t.Errorf("%d sessions and %d turns were made", sessions, creates)
	}
}

func TestATurnChoosesTheModelOfItsProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t, able(), func(_ context.Context, turn *providertest.Turn) { turn.Succeed(turn.Request.GetModel()) }, func(_ *builder.AgentRuntimeBuilder, a *spec.Agent) {
		a.Endpoint.Options = map[string]json.RawMessage{"model": json.RawMessage(`"usual"`)}
	})
	for _, tt := range []struct{ model, want string }{{"", "usual"}, {"vendor/other", "vendor/other"}, {"", "usual"}} {
		req := runtime.Prompt("coder", "hi")
		req.Overrides.ModelID = tt.model
		got, err := r.Run(t.Context(), req, r.sink)
		if err != nil || got.Response != tt.want {
			t.Errorf("with the model %q it answers %+v, %v", tt.model, got, err)
		}
	}
}
