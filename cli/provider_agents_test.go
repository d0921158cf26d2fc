//go:build unix

package cli

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// A provider shows its host that a turn has delegates and their usage, but not their output or
// actions.
func TestAProviderShowsNothingOfWhatDelegatesDo(t *testing.T) {
	t.Parallel()
	config, _, _ := strings.Cut(strings.ReplaceAll(deepOffice, "script.yaml", "replies.yaml"), "store:")
	h := newProviderHostOf(t, config+"store: {driver: sqlite, dsn: ./runtime.db}\n", deepScript, "--agent", "boss")
	h.session("s1")
	turn := h.ask(t.Context(), turnOf("s1", "t1", "begin"), succeeded)
	if turn.GetOutputText() != "thanks" {
		t.Fatalf("the turn is %v", turn)
	}
	events, err := h.ListTurnEvents(t.Context(), &pb.ListAgentProviderTurnEventsRequest{TurnId: "t1", Subject: ann})
	if err != nil {
		t.Fatal(err)
	}
	all, shown := protojson.Format(turn), 0
	for _, e := range events.GetEvents() {
		all += protojson.Format(e)
		if e.GetType() == "agent.delegate" {
			shown++
		}
	}
	if strings.Contains(all, "SECRET") || strings.Contains(all, "intern") || shown != 2 {
		t.Errorf("%d events show the delegate: %s", shown, all)
	}
}

// A handoff in a provider's turn applies to the session's later turns, unless turns.handoff is
// per_turn.
func TestAProviderContinuesWithTheAgentThatTookOver(t *testing.T) {
	t.Parallel()
	for policy, want := range map[service.HandoffPolicy]string{service.HandoffSession: "billing", service.HandoffPerTurn: "front"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			config := fmt.Sprintf(`version: 1
store: {driver: sqlite, dsn: ./runtime.db}
turns: {handoff: %s}
providers: {front: {type: scripted, script: ./replies.yaml}, billing: {type: scripted}}
models: {small: {provider_id: front, upstream_model: front}, bills: {provider_id: billing, upstream_model: billing}}
agents:
  front: {model_id: small, description: Receives people., handoffs: [billing]}
  billing: {model_id: bills, description: Pays.}
`, policy)
			const replies = `replies: [{match: refund, tool_calls: [{id: c1, name: hand_off_to_billing, arguments: {}}]}]
fallback: {text: front speaks}
`
			h := newProviderHostOf(t, config, replies, "--agent", "front")
			h.session("s1")
			h.ask(t.Context(), turnOf("s1", "t1", "refund"), succeeded)
			second := h.ask(t.Context(), turnOf("s1", "t2", "more"), succeeded)
			if got := second.GetOutputText(); (got == "front speaks") != (want == "front") {
				t.Errorf("the second turn says %q", got)
			}
		})
	}
}

// Concurrent requests of a host for a new session create one session, which each can use as soon as
// it is answered.
func TestAHostBeginsASessionOfAProviderOnce(t *testing.T) {
	t.Parallel()
	const config = `version: 1
store: {driver: sqlite, dsn: ./runtime.db}
providers: {demo: {type: scripted, script: ./replies.yaml}}
models: {small: {provider_id: demo, upstream_model: x}}
agents:
  slow: {model_id: small, description: Begins slowly., session_start: [{id: wait, command: [sleep, "0.3"]}]}
`
	h := newProviderHostOf(t, config, "fallback: {text: hello}\n", "--agent", "slow")
	var group sync.WaitGroup
	for i := range 5 {
		group.Go(func() {
			_, err := h.CreateSession(t.Context(), &pb.CreateAgentProviderSessionRequest{SessionId: "s1", CreatedBy: &pb.AgentActor{SubjectId: "user:ann", SubjectKind: "user"}, Subject: ann})
			if err != nil && status.Code(err) != codes.AlreadyExists {
				t.Error(err)
			}
			if _, err := h.CreateTurn(t.Context(), turnOf("s1", fmt.Sprintf("t%d", i), "hi")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 5 {
		h.await(fmt.Sprintf("t%d", i), succeeded)
	}
}
