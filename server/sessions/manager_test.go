package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	hosts "github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// manages has a provider use the manager of its host as the text of the turn says.
func manages(ctx context.Context, t *providertest.Turn) {
	text := t.Request.GetMessages()[len(t.Request.GetMessages())-1].GetText()
	m, token := t.Manager(), t.Request.GetRunGrant()
	word, id, _ := strings.Cut(text, " ")
	var said string
	var err error
	switch word {
	case "token":
		said = token
	case "summarize":
		said, err = summarize(ctx, m, token)
	case "see":
		_, err = m.GetSession(ctx, &pb.AgentManagerGetSessionRequest{SessionId: id, InvocationToken: token})
		said = "seen"
	case "reuse":
		_, err = m.ListSessions(ctx, &pb.AgentManagerListSessionsRequest{InvocationToken: id})
		said = "listed"
	case "session":
		_, err = m.CreateSession(ctx, &pb.AgentManagerCreateSessionRequest{ProviderName: id, InvocationToken: token})
		said = "made"
	case "tool":
		var s *pb.AgentSession
		if s, err = m.CreateSession(ctx, &pb.AgentManagerCreateSessionRequest{ProviderName: "able", InvocationToken: token}); err == nil {
			_, err = m.CreateTurn(ctx, &pb.AgentManagerCreateTurnRequest{
				SessionId: s.GetId(), Messages: []*pb.AgentMessage{{Role: "user", Text: "hi"}}, ToolRefs: []*pb.AgentToolRef{{Plugin: id}}, InvocationToken: token,
			})
		}
		said = "made"
	default:
		said = "did " + text
	}
	if err != nil {
		said = status.Code(err).String() + ": " + status.Convert(err).Message()
	}
	t.Succeed(said)
}

// summarize makes a session and a turn, and returns what the manager says of them.
func summarize(ctx context.Context, m pb.AgentManagerHostClient, token string) (string, error) {
	metadata, err := structpb.NewStruct(map[string]any{"state": "mine", "provider": "x", "n": 3})
	if err != nil {
		return "", err
	}
	s, err := m.CreateSession(ctx, &pb.AgentManagerCreateSessionRequest{ProviderName: "able", ClientRef: "roadmap-risk", Metadata: metadata, IdempotencyKey: "k", InvocationToken: token})
	if err != nil {
		return "", err
	}
	turn, err := m.CreateTurn(ctx, &pb.AgentManagerCreateTurnRequest{SessionId: s.GetId(), InvocationToken: token, Messages: []*pb.AgentMessage{{
		Role: "user", Parts: []*pb.AgentMessagePart{{Type: pb.AgentMessagePartType_AGENT_MESSAGE_PART_TYPE_TEXT, Text: "work"}},
	}}})
	if err != nil {
		return "", err
	}
	for turn.GetStatus() != pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED {
		if turn, err = m.GetTurn(ctx, &pb.AgentManagerGetTurnRequest{TurnId: turn.GetId(), InvocationToken: token}); err != nil {
			return "", err
		}
		if turn.GetStatus() == pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED {
			return turn.GetStatusMessage(), nil
		}
	}
	turns, err := m.ListTurns(ctx, &pb.AgentManagerListTurnsRequest{SessionId: s.GetId(), Status: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED, InvocationToken: token})
	if err != nil {
		return "", err
	}
	events, err := m.ListTurnEvents(ctx, &pb.AgentManagerListTurnEventsRequest{TurnId: turn.GetId(), InvocationToken: token})
	if err != nil {
		return "", err
	}
	asked, err := m.ListInteractions(ctx, &pb.AgentManagerListInteractionsRequest{TurnId: turn.GetId(), InvocationToken: token})
	if err != nil {
		return "", err
	}
	if s, err = m.UpdateSession(ctx, &pb.AgentManagerUpdateSessionRequest{SessionId: s.GetId(), State: pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED, InvocationToken: token}); err != nil {
		return "", err
	}
	listed, err := m.ListSessions(ctx, &pb.AgentManagerListSessionsRequest{State: pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED, InvocationToken: token})
	if err != nil {
		return "", err
	}
	if _, err = m.CancelTurn(ctx, &pb.AgentManagerCancelTurnRequest{TurnId: turn.GetId(), InvocationToken: token}); err != nil {
		return "", err
	}
	last := events.GetEvents()[len(events.GetEvents())-1]
	return fmt.Sprintf("%s %s %s %v | %s %s %s | %d turns, %d sessions, %d questions, %s", s.GetProviderName(), s.GetClientRef(), s.GetState(),
		s.GetMetadata().AsMap(), turn.GetOutputText(), turn.GetMessages()[0].GetParts()[0].GetType(), turn.GetCreatedBy().GetSubjectId(),
		len(turns.GetTurns()), len(listed.GetSessions()), len(asked.GetInteractions()), last.GetType()), nil
}

// managing returns a world whose hosted providers use its manager.
func managing(t *testing.T) *world {
	t.Helper()
	kinds, set := hosts.KindsWithManager()
	at := func(target string) *spec.Endpoint { return &spec.Endpoint{Backend: spec.HostedBackend, Target: target} }
	fake := func() *providertest.Provider {
		return &providertest.Provider{Work: manages, Capabilities: &pb.AgentProviderCapabilities{StreamingText: true, ToolCalls: true}}
	}
	rt, err := builder.New().WithAgentProvider("able", openHostedAs(t, kinds, "able", fake())).WithAgentProvider("mute", openHostedAs(t, kinds, "mute", fake())).
		WithAgentSpec(spec.Agent{ID: "writer", Endpoint: at("able")}).WithAgentSpec(spec.Agent{ID: "mute", Endpoint: at("mute")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	w := serving(t, hostedProviders, func(s *service.Settings) { s.Runtime = rt })
	set(w.surface)
	return w
}

// sayAs makes a turn of somebody in a new session, and returns its answer.
func (w *world) sayAs(name, text string) string {
	w.t.Helper()
	id := func(body string) string {
		_, rest, _ := strings.Cut(body, `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	_, made := w.ask(name, "POST /agent/sessions", "{}")
	_, begun := w.ask(name, "POST /agent/sessions/"+id(made)+"/turns", `{"messages":[{"role":"user","text":"`+text+`"}]}`)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for range 10_000 {
		<-again.C
		if _, turn := w.ask(name, "GET /agent/turns/"+id(begun), ""); strings.Contains(turn, `"completedAt"`) {
			_, rest, _ := strings.Cut(turn, `"outputText":"`)
			text, _, _ := strings.Cut(rest, `","`)
			return text
		}
	}
	w.t.Fatalf("the turn does not end: %s %s", made, begun)
	return ""
}

func TestAHostedProviderManagesSessionsOfItsCaller(t *testing.T) {
	t.Parallel()
	w := managing(t)
	const want = `able roadmap-risk AGENT_SESSION_STATE_ARCHIVED map[n:3 provider:x state:mine] | did work AGENT_MESSAGE_PART_TYPE_TEXT alice | 1 turns, 1 sessions, 0 questions, turn.completed`
	if got := w.sayAs("alice", "summarize"); got != want {
		t.Errorf("the provider was told %s", got)
	}
	if list := do[[]sessionView](w, "GET /agent/sessions?state=archived", ""); len(list) != 1 || list[0].ClientRef != "roadmap-risk" {
		t.Errorf("the caller sees %+v", list)
	}
}

func TestAHostedProviderHasTheRightsOfItsCaller(t *testing.T) {
	t.Parallel()
	w := managing(t)
	own := do[sessionView](w, "POST /agent/sessions", "{}").ID
	for _, tt := range []struct{ who, text, want string }{
		{"alice", "see " + own, "seen"},
		{"bob", "see " + own, "NotFound: session"},
		{"eve", "see " + own, "NotFound: session"},
		{"alice", "session mute", "made"},
		{"amy", "session mute", `Unavailable: agent provider`}, // her key is for the other agent
		{"amy", "session able", "made"},
		{"alice", "tool none", "NotFound: tool"},
	} {
		if got := w.sayAs(tt.who, tt.text); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s is answered with %s, want %s", tt.who, tt.text, got, tt.want)
		}
	}
}

func TestRequestsOfAHostedProviderAreAudited(t *testing.T) {
	t.Parallel()
	w := managing(t)
	core, logged := observer.New(zap.InfoLevel)
	w.surface.settings.Logger = zap.New(core)
	own := do[sessionView](w, "POST /agent/sessions", "{}").ID
	w.sayAs("alice", "session able")
	w.sayAs("amy", "session mute")
	w.sayAs("alice", "tool none")
	w.sayAs("bob", "see "+own) // only reads
	var got []string
	for _, line := range logged.FilterMessage("audit").All() {
		f := line.ContextMap()
		if f["log.type"] != "audit" || line.LoggerName != "audit" || f["source"] != "hosted_provider" || f["turn_id"] == "" || f["event_time"] == nil {
			t.Errorf("an audit record is %v", f)
		}
		got = append(got, fmt.Sprint(f["hosted_provider"], " ", f["operation"], " ", f["provider"], " ", f["tenant"], "/", f["subject_id"], " ", f["allowed"], " ", f["error"]))
	}
	want := []string{
		"able create_session able acme/alice true <nil>", "able create_session <nil> acme/amy true Unavailable",
		"able create_session able acme/alice true <nil>", "able create_turn able acme/alice false NotFound",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit log has\n%s", strings.Join(got, "\n"))
	}
}

func TestATokenEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	w := managing(t)
	token := w.sayAs("alice", "token")
	for name, other := range map[string]string{"the token of an ended turn": token, "a forged token": "x.y.z", "no token": ""} {
		if got := w.sayAs("alice", "reuse "+other); !strings.HasPrefix(got, "PermissionDenied: ") {
			t.Errorf("%s is answered with %s", name, got)
		}
	}
}
