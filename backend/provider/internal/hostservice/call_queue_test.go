package hostservice

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestTheCallsThatWaitAreLimited makes the maximum number of waiting calls and one more, which is
// accepted once another call has its result.
func TestTheCallsThatWaitAreLimited(t *testing.T) {
	s, one, two := hosting(t, "desk", nil)
	execute := func(turn *CallQueue, id string) error {
		_, err := s.ExecuteTool(context.Background(), &providerproto.ExecuteAgentToolRequest{
			SessionId: "s", TurnId: turn.TurnID, RunGrant: turn.Grant, ToolCallId: id, ToolId: "pay",
		})
		return err
	}
	one.SettleCall("early", Outcome{Status: 200}) // it does not count
	for i := range maxUnsettled {
		if _, err := one.enterCall(Call{ID: fmt.Sprint(i), Tool: "pay"}); err != nil {
			t.Fatal(err)
		}
	}
	err := execute(one, "more")
	if status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "1024 tool calls of the turn already wait for their result" {
		t.Errorf("one call more: %v", err)
	}
	if err := execute(one, "early"); err != nil {
		t.Errorf("a call with a result: %v", err)
	}
	if _, err := two.enterCall(Call{ID: "0"}); err != nil {
		t.Errorf("a call of another turn: %v", err)
	}
	for len(one.TakeCalls(100)) > 0 {
	}
	if err := execute(one, "more"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one call more, once all are taken: %v", err)
	}
	one.SettleCall("0", Outcome{Status: 200})
	one.SettleCall("0", Outcome{Status: 200}) // counts once
	if _, err := one.enterCall(Call{ID: "more", Tool: "pay"}); err != nil {
		t.Errorf("one call more, once another has its result: %v", err)
	}
	if _, err := one.enterCall(Call{ID: "again", Tool: "pay"}); err == nil {
		t.Error("a result made room for two calls")
	}
}
