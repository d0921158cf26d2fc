package providertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Turn is a turn of the provider.
type Turn struct {
	// Request is the request that created the turn.
	Request *providerproto.CreateAgentProviderTurnRequest

	provider *Provider
	cancel   context.CancelFunc

	mu           sync.Mutex
	turn         *providerproto.AgentTurn
	events       []*providerproto.AgentTurnEvent
	interactions []*providerproto.AgentInteraction
	changed      chan struct{}
	calls        int
}

func (t *Turn) snapshot() *providerproto.AgentTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return proto.CloneOf(t.turn)
}

// Status returns the status of the turn.
func (t *Turn) Status() providerproto.AgentExecutionStatus { return t.snapshot().GetStatus() }

// Emit adds an event.
func (t *Turn) Emit(typ string, data map[string]any, display *providerproto.AgentTurnDisplay) {
	s, err := structpb.NewStruct(data)
	if err != nil {
		panic(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	seq := int64(len(t.events) + 1)
	t.events = append(t.events, &providerproto.AgentTurnEvent{
		Id: fmt.Sprintf("e%d", seq), TurnId: t.turn.GetId(), Seq: seq, Type: typ, Source: "test", Visibility: "public", Data: s, Display: display,
	})
}

// Say adds a piece of text.
func (t *Turn) Say(text string) { t.Emit("assistant.delta", map[string]any{"text": text}, nil) }

// Succeed ends the turn with a text.
func (t *Turn) Succeed(text string) {
	t.end(providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED, text, "")
}

// Fail ends the turn with a reason.
func (t *Turn) Fail(reason string) {
	t.end(providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED, "", reason)
}

// SucceedWith ends the turn with fields.
func (t *Turn) SucceedWith(fields map[string]any) {
	s, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err)
	}
	t.mu.Lock()
	t.turn.StructuredOutput = s
	t.mu.Unlock()
	t.Succeed("structured")
}

// end ends the turn, unless it has already ended.
func (t *Turn) end(s providerproto.AgentExecutionStatus, text, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.turn.GetStatus() {
	case providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING, providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT:
		t.turn.Status, t.turn.OutputText, t.turn.StatusMessage = s, text, reason
	}
}

// Tools lists the tools of the turn.
func (t *Turn) Tools(ctx context.Context, query string) ([]*providerproto.ListedAgentTool, error) {
	list, err := t.provider.host.ListTools(ctx, &providerproto.ListAgentToolsRequest{
		SessionId: t.Request.GetSessionId(), TurnId: t.Request.GetTurnId(), RunGrant: t.Request.GetRunGrant(), Query: query,
	})
	return list.GetTools(), err
}

// Call calls a tool, with a new id.
func (t *Turn) Call(ctx context.Context, tool string, arguments map[string]any) (*providerproto.ExecuteAgentToolResponse, error) {
	t.mu.Lock()
	t.calls++
	id := fmt.Sprintf("c%d", t.calls)
	t.mu.Unlock()
	return t.CallAs(ctx, id, tool, arguments)
}

// CallAs calls a tool with an id.
func (t *Turn) CallAs(ctx context.Context, id, tool string, arguments map[string]any) (*providerproto.ExecuteAgentToolResponse, error) {
	return t.provider.callFor(ctx, t.Request, id, tool, arguments)
}

// CallFor calls a tool for a turn that may not exist yet, and returns the result or the error code.
func (p *Provider) CallFor(ctx context.Context, turn *providerproto.CreateAgentProviderTurnRequest, id, tool string, arguments map[string]any) string {
	got, err := p.callFor(ctx, turn, id, tool, arguments)
	if err != nil {
		return status.Code(err).String()
	}
	return got.GetBody()
}

func (p *Provider) callFor(ctx context.Context, turn *providerproto.CreateAgentProviderTurnRequest, id, tool string, arguments map[string]any) (*providerproto.ExecuteAgentToolResponse, error) {
	s, err := structpb.NewStruct(arguments)
	if err != nil {
		panic(err)
	}
	return p.host.ExecuteTool(ctx, &providerproto.ExecuteAgentToolRequest{
		SessionId: turn.GetSessionId(), TurnId: turn.GetTurnId(), RunGrant: turn.GetRunGrant(), ToolCallId: id, ToolId: tool, Arguments: s,
	})
}

// Manager returns a client of the host's session manager.
func (t *Turn) Manager() providerproto.AgentManagerHostClient { return t.provider.manager }

// Host returns the host's client, for invalid calls.
func (t *Turn) Host() providerproto.AgentHostClient { return t.provider.host }

// Ask asks a question and waits for the answer.
func (t *Turn) Ask(ctx context.Context, id string, typ providerproto.AgentInteractionType, prompt string) *structpb.Struct {
	i := &providerproto.AgentInteraction{
		Id: id, TurnId: t.Request.GetTurnId(), SessionId: t.Request.GetSessionId(), Type: typ, Prompt: prompt,
		State: providerproto.AgentInteractionState_AGENT_INTERACTION_STATE_PENDING,
	}
	t.mu.Lock()
	if s := t.turn.GetStatus(); s != providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING &&
		s != providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT {
		t.mu.Unlock()
		return nil
	}
	t.interactions = append(t.interactions, i)
	t.turn.Status = providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT
	t.mu.Unlock()
	for {
		t.mu.Lock()
		changed, resolution := t.changed, i.GetResolution()
		t.mu.Unlock()
		if resolution != nil {
			return resolution
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// resolve answers an interaction of the turn; it returns nil for an unknown id.
func (t *Turn) resolve(id string, resolution *structpb.Struct) *providerproto.AgentInteraction {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range t.interactions {
		if i.GetId() != id {
			continue
		}
		i.State, i.Resolution = providerproto.AgentInteractionState_AGENT_INTERACTION_STATE_RESOLVED, resolution
		t.turn.Status = providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING
		close(t.changed)
		t.changed = make(chan struct{})
		return proto.CloneOf(i)
	}
	return nil
}
