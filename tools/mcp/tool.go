package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of a server. It is immutable: another catalog has other tools.
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
			return &reply{result: tools.ErrorResult(fmt.Sprintf("mcp server %s: tool %s %s since the catalog was written, and may not be called until a person has accepted that", t.server.id, t.name, change))}, nil
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

// followTask waits for the result of a task or for its questions. It cancels the task if ctx ends
// before the session, unless another process continues the call.
func (t *tool) followTask(ctx context.Context, c *session, id string, next *round) (*reply, error) {
	ctx = context.WithValue(ctx, taskNameKey{}, id)
	defer func() {
		if ctx.Err() != nil && c.ctx.Err() == nil && !errors.Is(context.Cause(ctx), tools.ErrReleased) {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlePing)
			defer cancel()
			_, _ = mcp.CallCustomMethod[*taskParams, *remoteTask](end, c.client, cancelTask, &taskParams{TaskID: id}) // it may have ended
		}
	}()
	if len(next.responses) > 0 {
		if _, err := mcp.CallCustomMethod[*taskParams, *remoteTask](ctx, c.client, updateTask, &taskParams{TaskID: id, InputResponses: next.responses}); err != nil {
			return nil, err
		}
	}
	shown := ""
	for {
		task, err := mcp.CallCustomMethod[*taskParams, *remoteTask](ctx, c.client, getTask, &taskParams{TaskID: id})
		if err != nil {
			return nil, err
		}
		if task.StatusMessage != "" && task.StatusMessage != shown {
			shown = task.StatusMessage
			if f := c.flightOf(ctx); f != nil {
				f.showNote(shown)
			}
		}
		done, err := t.readTask(ctx, c, id, task)
		if done != nil || err != nil {
			return done, err
		}
		if err := wait.For(ctx, task.pollDelay()); err != nil {
			return nil, err
		}
	}
}

// readTask returns the reply of a task; nil while it is working.
func (t *tool) readTask(ctx context.Context, c *session, id string, task *remoteTask) (*reply, error) {
	isWorking := task.Status == "working" || task.Status == "input_required"
	switch {
	case c.isStateless() && task.Status == "input_required" && len(task.InputRequests) > 0:
		return &reply{inputs: task.InputRequests}, nil
	case task.Status == "working", c.isStateless() && isWorking:
		return nil, nil //nolint:nilnil // it works
	case task.Status == "cancelled":
		return &reply{result: tools.ErrorResult("the server canceled the task: " + clip.Visible(task.StatusMessage, maxDescription))}, nil
	case c.isStateless() && task.Status == "completed" && task.Result != nil:
		return &reply{result: t.convertResult(ctx, task.Result)}, nil
	case c.isStateless() && task.Status == "failed" && task.Error != nil:
		return nil, task.Error
	case !c.isStateless() && (isWorking || task.Status == "completed" || task.Status == "failed"):
		// The server asks its questions in the stream of this request.
		r, err := mcp.CallCustomMethod[*taskParams, *mcp.CallToolResult](ctx, c.client, taskResult, &taskParams{TaskID: id})
		if err != nil {
			return nil, err
		}
		return &reply{result: t.convertResult(ctx, r)}, nil
	default:
		return nil, fmt.Errorf("its task has the status %q without a result", clip.Visible(task.Status, maxName))
	}
}

// convertResult converts a server's result. A result that violates the tool's declaration is an
// error for the model.
func (t *tool) convertResult(ctx context.Context, r *mcp.CallToolResult) tools.Result {
	result := tools.Result{IsError: r.IsError, Content: contentParts(r.Content)}
	if r.StructuredContent != nil {
		data, err := structuredContent(r)
		if err != nil {
			return tools.ErrorResult(fmt.Sprintf("tool %s returned a structured result that is not JSON", t.name))
		}
		result.Data = data
	}
	if problem := t.outputMismatch(ctx, &result); problem != "" {
		return tools.ErrorResult(fmt.Sprintf("tool %s returned a result that does not fit its output schema: %s", t.name, problem))
	}
	if len(result.Content) == 0 && len(result.Data) == 0 {
		result.Content = []model.Part{model.Text("[no output]")}
	}
	return result
}

// outputMismatch returns where a result violates the output schema; empty if it does not. An error
// need not match the schema.
func (t *tool) outputMismatch(ctx context.Context, r *tools.Result) string {
	if t.output == nil || r.IsError {
		return ""
	}
	if r.Data == nil {
		return "it has no structured content"
	}
	found, err := t.output.ValidateJSON(ctx, r.Data)
	if err != nil {
		return err.Error()
	}
	return violationText(found)
}

// violationText lists the first few violations.
func violationText(found []schema.Violation) string {
	const shown = 3
	texts := make([]string, 0, shown+1)
	for i, v := range found {
		if i == shown {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, clip.Visible(v.Error(), maxName))
	}
	return strings.Join(texts, "; ")
}
