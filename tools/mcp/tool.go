package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of a server. It is immutable: another catalogue has other tools.
type tool struct {
	server *server
	// name is the server's name for the tool.
	name       string
	descriptor tools.Descriptor
	// output is the schema for structured results; nil if the server declares none.
	output *schema.Schema
	// requiresTask reports whether the tool runs only as a task, at servers with sessions.
	requiresTask bool
}

var _ tools.Tool = (*tool)(nil)

// Descriptor describes the tool as the server does.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

// Call calls the tool. It reopens a session that had ended before the call was sent; a call that
// may have arrived is repeated only if its effect allows it.
func (t *tool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return t.server.runExchange(ctx, call, &request{name: t.name, effect: t.descriptor.EffectClass(), send: func(ctx context.Context, session *session, next *round) (*reply, error) {
		if change := session.changedTool(t.name); change != "" {
			return &reply{result: tools.ErrorResult(fmt.Sprintf("mcp server %s: tool %s %s since the catalogue was written, and may not be called until a person has accepted that", t.server.id, t.name, change))}, nil
		}
		if id := next.task.load(); id != "" {
			return t.followTask(ctx, session, id, next)
		}
		if t.requiresTask && !session.isStateless() {
			ctx = context.WithValue(ctx, asTaskKey{}, true)
		}
		params := &mcp.CallToolParams{Meta: next.meta, Name: t.name, Arguments: callArguments(call), InputResponses: next.responses, RequestState: next.state}
		r, err := session.client.CallTool(ctx, params)
		if err != nil {
			return nil, err
		}
		if len(r.InputRequests) > 0 || r.RequestState != "" {
			return &reply{inputs: r.InputRequests, state: r.RequestState}, nil
		}
		if created, err := createdTask(r); created != nil {
			next.task.store(created.TaskID)
			t.server.keepTask(ctx, session, created.TaskID)
			return t.followTask(ctx, session, created.TaskID, &round{})
		} else if err != nil {
			return nil, err
		}
		return &reply{result: t.convertResult(ctx, r)}, nil
	}})
}

func callArguments(call *tools.Call) json.RawMessage {
	if len(call.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return call.Arguments
}
