package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// token is the token that the peers require.
const token = "s3cret-t0ken"

// alice is the user of the durable service.
var alice = service.Caller{Tenant: "acme", Subject: "alice"}

// peer is an agent of an SDK and its address.
type peer struct {
	*a2asdk.Server
	version   a2asdk.Version
	transport string
	endpoint  spec.Endpoint
}

// forEachPeer runs a test with the servers of both SDKs, over both transports.
func forEachPeer(t *testing.T, o a2asdk.ServerOptions, test func(t *testing.T, p peer)) {
	t.Helper()
	if !o.Signed { // the SDK loses the security schemes of a card that it signs
		o.Token = token
	}
	a2asdk.ForEach(t, func(t *testing.T, version a2asdk.Version, transport string) {
		s := a2asdk.NewServer(t, version, o)
		name := map[string]string{a2asdk.JSONRPC: "jsonrpc", a2asdk.REST: "rest"}[transport]
		test(t, peer{s, version, transport, spec.Endpoint{
			BaseURL: s.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: token},
			Options: map[string]json.RawMessage{
				"transports":    json.RawMessage(`["` + name + `"]`),
				"allow_v0_3":    json.RawMessage(fmt.Sprint(version == a2asdk.V03)),
				"poll_interval": json.RawMessage(`"100ms"`),
			},
		}})
	})
}

// runtime returns a runtime that knows the peer as the agent "remote" and has no state from other
// runtimes.
func (p peer) runtime(t *testing.T) *runtime.AgentRuntime {
	t.Helper()
	rt, err := builder.New().WithBackend(a2abackend.NewFactory(a2abackend.Settings{})).
		WithAgentSpec(spec.Agent{ID: "remote", Endpoint: &p.endpoint}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	return rt
}

// ask sends the peer a message outside of any service.
func (p peer) ask(ctx context.Context, t *testing.T, text string) (*runtime.Result, error) {
	t.Helper()
	return p.runtime(t).Run(ctx, runtime.Prompt("remote", text), nil)
}

// serve returns a service that knows the peer.
func (p peer) serve(t *testing.T, kept store.Store) *service.Service {
	t.Helper()
	return serve(t, p.runtime(t), kept)
}

// serve returns a service that works on the turns of a store until it is closed,
// or the test ends.
func serve(t *testing.T, rt *runtime.AgentRuntime, kept store.Store) *service.Service {
	t.Helper()
	t.Cleanup(func() { _ = rt.Close() })
	s := service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 4})})
	t.Cleanup(s.Close)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// keep returns a store that outlives services.
func keep(t *testing.T) store.Store {
	t.Helper()
	kept := memory.New(store.Settings{})
	t.Cleanup(func() { _ = kept.Close() })
	return kept
}

// says begins a turn of a new session.
func says(t *testing.T, s *service.Service, text string) *service.Turn {
	t.Helper()
	session, err := s.CreateSession(t.Context(), alice, service.CreateSession{AgentID: "remote"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.CreateTurn(t.Context(), alice, service.CreateTurn{SessionID: session.ID, Background: true, Input: []model.Message{model.User(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// until waits for a turn to be in a state.
func until(t *testing.T, s *service.Service, id string, status store.Status) *service.Turn {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		turn, err := s.GetTurn(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		if turn.Status == status {
			return turn
		}
		if turn.Outcome != nil {
			t.Fatalf("turn %s ended: %+v", id, turn.Outcome.Termination)
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("turn %s is %s, not %s", id, turn.Status, status)
		}
	}
}

// taskOf waits until a turn shows its task at the peer, whose id is then kept,
// and returns the id.
func (p peer) taskOf(t *testing.T, s *service.Service, id string) string {
	t.Helper()
	for r, err := range s.Events(t.Context(), alice, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var shown struct {
			Content struct {
				TaskID string `json:"task_id"`
			} `json:"content"`
		}
		if r.Type == event.TypeActivitySnapshot && json.Unmarshal(r.Data, &shown) == nil && shown.Content.TaskID != "" {
			return shown.Content.TaskID
		}
	}
	t.Fatalf("turn %s ended without a task", id)
	return ""
}

// ended waits for the end of a turn.
func ended(t *testing.T, s *service.Service, id string) *event.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	turn, err := s.WaitTurn(ctx, alice, id)
	if err != nil {
		t.Fatalf("turn %s does not end: %v", id, err)
	}
	return turn.Outcome
}

// answers answers the interaction that a turn waits for.
func answers(t *testing.T, s *service.Service, id, want, result string) {
	t.Helper()
	open, err := s.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: id, State: store.InteractionPending})
	if err != nil || len(open) != 1 || open[0].Request.Message != want {
		t.Fatalf("the turn waits for %+v, %v", open, err)
	}
	answer := interaction.Answer{Target: open[0].ID, Action: interaction.Resume, Result: json.RawMessage(result)}
	if _, err := s.AnswerInteraction(t.Context(), alice, id, answer); err != nil {
		t.Fatal(err)
	}
}

// boss is a model that calls the peer once and repeats its answer.
type boss struct{}

// Stream calls the delegate, or shows its answer.
func (boss) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	last := &req.Messages[len(req.Messages)-1]
	events := []model.Event{
		{Type: model.EventToolCallStart, ID: "call", Name: agenttool.DelegateID("remote")},
		{Type: model.EventToolCallEnd, Delta: `{"prompt":"ask who?"}`},
		{Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 1, Output: 1}},
	}
	if last.Role != model.RoleUser {
		events = []model.Event{
			{Type: model.EventText, Delta: last.Parts[0].ToolResult.Content[0].Text},
			{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 1}},
		}
	}
	return func(yield func(model.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// boss returns a service whose agent delegates to the peer.
func (p peer) boss(t *testing.T, kept store.Store) *service.Service {
	t.Helper()
	rt, err := builder.New().WithBackend(a2abackend.NewFactory(a2abackend.Settings{})).WithProvider("fake", boss{}).
		WithModel(spec.Model{ID: "boss", ProviderID: "fake", UpstreamModel: "boss"}).
		WithAgentSpec(spec.Agent{ID: "boss", ModelID: "boss", Delegates: []string{"remote"}}).
		WithAgentSpec(spec.Agent{ID: "remote", Endpoint: &p.endpoint}).Build()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, rt, kept)
}
