package provider_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// caller is a provider that calls a tool before it handles its first request of a method.
type caller struct {
	method string
	// alone makes the provider handle one request at a time, as many providers do.
	alone bool
	fake  *providertest.Provider

	handling sync.Mutex
	grant    atomic.Pointer[providerproto.CreateAgentProviderTurnRequest]
	called   atomic.Bool
	outcome  atomic.Pointer[string]
}

// newCaller returns a provider whose turns ask one question.
func newCaller(method string, alone bool) *caller {
	c := &caller{method: method, alone: alone}
	c.fake = &providertest.Provider{Capabilities: able(), Intercept: c.intercept, Work: func(ctx context.Context, turn *providertest.Turn) {
		turn.Say("Well. ")
		if turn.Ask(ctx, turn.Request.GetTurnId(), providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_CLARIFICATION, "Which?") != nil {
			turn.Succeed("Well. Done.")
		}
	}}
	return c
}

func (c *caller) intercept(ctx context.Context, in any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if strings.Contains(info.FullMethod, "Lifecycle") {
		return handle(ctx, in)
	}
	if c.alone {
		c.handling.Lock()
		defer c.handling.Unlock()
	}
	if create, ok := in.(*providerproto.CreateAgentProviderTurnRequest); ok {
		c.grant.Store(create)
	}
	if create := c.grant.Load(); create != nil && path.Base(info.FullMethod) == c.method && !c.called.Swap(true) {
		outcome := c.fake.CallFor(ctx, create, "before", "double", map[string]any{"n": 21})
		c.outcome.Store(&outcome)
	}
	return handle(ctx, in)
}

// TestAProviderCallsToolsWhileItIsAsked has a provider call a tool before it answers: the turn must
// run the tool while it waits for the answer.
func TestAProviderCallsToolsWhileItIsAsked(t *testing.T) {
	for method, want := range map[string]string{
		"CreateSession": "42", // again, after it was forgotten
		"CreateTurn":    "42", "GetTurn": "42", "ListTurnEvents": "42", "ListInteractions": "42", "GetInteraction": "42", "ResolveInteraction": "42",
		"CancelTurn": "PermissionDenied",
	} {
		for _, alone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s alone=%t", method, alone), func(t *testing.T) {
				t.Parallel()
				c := newCaller(method, alone)
				r := newRigAt(t, c.fake, func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) { b.WithTool("double", double(nil)) })
				r.askTwice(t, method == "CancelTurn")
				if got := c.outcome.Load(); got == nil {
					t.Error("the tool was not called")
				} else if *got != want {
					t.Errorf("the tool returned %q, not %q", *got, want)
				}
			})
		}
	}
}

// askTwice runs two turns of a session that the provider forgets between them. It cancels or
// answers the question of the second turn.
func (r *rig) askTwice(t *testing.T, cancel bool) {
	t.Helper()
	first := r.startAndAnswer(t, runtime.Request{AgentID: "coder", SessionID: "s", Input: []model.Message{model.User("one")}}, false)
	r.fake.ForgetSessions()
	r.sink = newSink()
	r.startAndAnswer(t, runtime.Request{
		AgentID: "coder", SessionID: "s", History: append([]model.Message{model.User("one")}, first.Messages...), Session: first.Session, Input: []model.Message{model.User("two")},
	}, cancel)
}

// startAndAnswer runs a turn that asks one question.
func (r *rig) startAndAnswer(t *testing.T, req runtime.Request, cancel bool) *runtime.Result {
	t.Helper()
	turn, err := r.Start(t.Context(), req, r.sink)
	if err != nil {
		t.Fatal(err)
	}
	if cancel {
		replyFirst(t, r, turn, interaction.Answer{Action: interaction.Cancel})
	} else {
		answerFirst(t, r, turn, `"blue"`)
	}
	result, err := turn.Wait(t.Context())
	if !cancel && (err != nil || result.Response != "Well. Done.") {
		t.Fatalf("the turn came to %+v, %v", result, err)
	}
	return result
}

// TestAProviderWorksWhileItCreatesTheTurn has a provider whose CreateTurn returns when the turn has
// ended: it emits text, calls tools and asks questions before that.
func TestAProviderWorksWhileItCreatesTheTurn(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	fake := &providertest.Provider{Capabilities: able()}
	fake.Work = func(ctx context.Context, turn *providertest.Turn) {
		defer close(ended)
		turn.Say("Let me see. ")
		got, err := turn.Call(ctx, "double", map[string]any{"n": 21})
		if err != nil {
			turn.Fail(err.Error())
			return
		}
		answer := turn.Ask(ctx, "i1", providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_CLARIFICATION, "Which?")
		turn.Succeed("Let me see. " + got.GetBody() + " " + answer.GetFields()["response"].GetStringValue())
	}
	fake.Intercept = func(ctx context.Context, in any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		out, err := handle(ctx, in)
		if path.Base(info.FullMethod) == "CreateTurn" {
			<-ended
		}
		return out, err
	}
	r := newRigAt(t, fake, func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) { b.WithTool("double", double(nil)) })
	turn, err := r.Start(t.Context(), runtime.Prompt("coder", "Go."), r.sink)
	if err != nil {
		t.Fatal(err)
	}
	answerFirst(t, r, turn, `"blue"`)
	result, err := turn.Wait(t.Context())
	if err != nil || result.Response != "Let me see. 42 blue" || result.Steps != 3 {
		t.Errorf("the turn came to %+v, %v", result, err)
	}
}

// TestAProviderThatDoesNotCreateTheTurn blocks CreateTurn, whether or not the provider heeds the
// end of the request, and returns from it when the turn has ended.
func TestAProviderThatDoesNotCreateTheTurn(t *testing.T) {
	for name, heeds := range map[string]bool{"heeds": true, "ignores": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			fake := &providertest.Provider{Capabilities: able(), Work: func(ctx context.Context, _ *providertest.Turn) { <-ctx.Done() }}
			creating := make(chan struct{})
			fake.Intercept = func(ctx context.Context, in any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				if path.Base(info.FullMethod) == "CreateTurn" {
					close(creating)
					ended := ctx.Done()
					if !heeds {
						ended = nil
					}
					select {
					case <-ended:
						return nil, status.FromContextError(ctx.Err()).Err()
					case <-release:
					}
				}
				return handle(ctx, in)
			}
			r := newRigAt(t, fake)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-creating; cancel() }()
			if _, err := r.Run(ctx, runtime.Prompt("coder", "Go."), r.sink); err == nil {
				t.Error("the turn succeeded")
			}
			close(release)
		})
	}
}

// TestATurnThatIsCreatedLateIsCanceled returns from CreateTurn when the turn's calls have ended.
func TestATurnThatIsCreatedLateIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newCaller("CreateTurn", false)
	r := newRigAt(t, c.fake, func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) {
		b.WithTool("double", double(func(*tools.Call) { cancel() }))
	})
	if _, err := r.Run(ctx, runtime.Prompt("coder", "Go."), r.sink); err == nil {
		t.Error("the turn succeeded")
	}
	turns := r.fake.Turns()
	for _, turn := range turns {
		if s := turn.Status(); s != providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED {
			t.Errorf("the provider's turn is %s", s)
		}
	}
	if len(turns) != 1 || *c.outcome.Load() != codes.PermissionDenied.String() {
		t.Errorf("there are %d turns, and the tool returned %q", len(turns), *c.outcome.Load())
	}
}

// TestAProviderCallsManyToolsWhileItCreatesTheTurn runs 1,000 concurrent waiting calls.
func TestAProviderCallsManyToolsWhileItCreatesTheTurn(t *testing.T) {
	t.Parallel()
	const calls = 1000
	fake := &providertest.Provider{Capabilities: able(), Work: func(_ context.Context, turn *providertest.Turn) { turn.Succeed("Done.") }}
	var right atomic.Int64
	fake.Intercept = func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if create, ok := in.(*providerproto.CreateAgentProviderTurnRequest); ok {
			var calling sync.WaitGroup
			for i := range calls {
				calling.Go(func() {
					if fake.CallFor(ctx, create, fmt.Sprintf("c%d", i), "double", map[string]any{"n": i}) == fmt.Sprint(2*i) {
						right.Add(1)
					}
				})
			}
			calling.Wait()
		}
		return handle(ctx, in)
	}
	r := newRigAt(t, fake, func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) { b.WithTool("double", double(nil)) })
	result, err := r.run(t, "Go.")
	if err != nil || result.Response != "Done." || right.Load() != calls {
		t.Errorf("%d calls were right, and the turn came to %v", right.Load(), err)
	}
}

// TestAProviderThatDiesWhileItCreatesTheTurn recreates the turn if the provider keeps its turns.
func TestAProviderThatDiesWhileItCreatesTheTurn(t *testing.T) {
	for mode, survives := range map[string]bool{providertest.Mortal: false, providertest.MortalKeeper: true} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r, _, _ := newProcessRig(t, mode, map[string]any{"dir": t.TempDir()})
			got, err := r.ask(t.Context(), "s", "Go.")
			failed, ok := errors.AsType[*runtime.TurnError](err)
			switch {
			case survives && err != nil, !survives && (!ok || failed.Termination.Code != "provider_lost"):
				t.Errorf("the turn came to %+v, %v", got, err)
			}
			if got, err := r.ask(t.Context(), "s", "Go on."); err != nil || got.Response != "Go on." {
				t.Errorf("the next turn came to %+v, %v", got, err)
			}
		})
	}
}

// TestAProviderThatNeverAnswers blocks turn creation, which has a time limit.
func TestAProviderThatNeverAnswers(t *testing.T) {
	for _, method := range []string{"CreateSession", "CreateTurn"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			fake := &providertest.Provider{Capabilities: able()}
			fake.Intercept = func(ctx context.Context, in any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				if path.Base(info.FullMethod) != method {
					return handle(ctx, in)
				}
				<-ctx.Done()
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			r := newRigAt(t, fake)
			provider.LimitAnswers(r.hosted, 200*time.Millisecond)
			_, err := r.run(t, "Go.")
			if failed, ok := errors.AsType[*runtime.TurnError](err); !ok || failed.Termination.Code != "provider_refused" || !strings.Contains(err.Error(), "DeadlineExceeded") {
				t.Errorf("the turn came to %v", err)
			}
		})
	}
}
