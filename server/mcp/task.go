package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// pollInterval is how often clients should poll a task.
	pollInterval = time.Second
	// defaultTaskAfter is how long a call of a version without a handshake may take before it
	// becomes a task.
	defaultTaskAfter = 10 * time.Second
)

// taskParams are the parameters of all task methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	Cursor         string               `json:"cursor,omitempty"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// addTaskMethods makes the SDK accept the task methods, which replaceTools handles.
func addTaskMethods(to *mcp.Server) error {
	var errs []error
	for _, method := range append([]string{methodUpdateTask}, legacyTaskMethods...) {
		errs = append(errs, mcp.AddReceivingCustomMethod(to, method,
			func(context.Context, *mcp.ServerSession, *taskParams) (*acknowledgement, error) {
				return nil, errInternal
			}))
	}
	return errors.Join(errs...)
}

// createTask returns the task for a call.
func (c *call) createTask(ctx context.Context) (mcp.Result, error) {
	if c.isStateless() {
		made, err := c.describeTask(ctx)
		if made != nil {
			made.ResultType, made.Result, made.InputRequests = "task", nil, nil
		}
		return made, err
	}
	return &createdTask{Task: c.describeLegacyTask()}, nil
}

// serveTask answers a request about a task.
func (s *Surface) serveTask(ctx context.Context, method string, r *mcp.ServerRequest[*taskParams]) (mcp.Result, error) {
	v, err := s.newView(ctx, r.Extra)
	if err != nil {
		return nil, err
	}
	if r.Params == nil {
		r.Params = &taskParams{}
	}
	c := &call{Surface: s, called: &called{view: v}, isTask: true, req: &mcp.CallToolRequest{
		Session: r.Session, Extra: r.Extra, Params: &mcp.CallToolParamsRaw{Meta: r.Params.Meta, InputResponses: r.Params.InputResponses},
	}}
	if err := c.checkTaskMethod(method, r); err != nil {
		return nil, err
	}
	if method == methodListTasks {
		return c.listTasks(ctx, r.Params.Cursor)
	}
	if err := c.findTask(ctx, r.Params.TaskID); err != nil {
		return c.returnError(ctx, err)
	}
	var result mcp.Result
	switch {
	case method == methodCancelTask:
		result, err = c.cancelTask(ctx)
	case method == methodUpdateTask:
		result, err = &acknowledgement{ResultType: "complete"}, c.readResponses(ctx)
	case method == methodTaskResult:
		result, err = c.awaitTask(ctx)
	case c.isStateless():
		result, err = c.describeTask(ctx)
	default:
		result = c.describeLegacyTask()
	}
	if err != nil {
		return c.returnError(ctx, err)
	}
	return result, nil
}

// returnError converts an error to a protocol error.
func (c *call) returnError(ctx context.Context, err error) (mcp.Result, error) {
	failed, err := c.describeError(ctx, err)
	if err == nil {
		err = taskError(failed)
	}
	return nil, err
}

// taskError converts a failed result to a protocol error.
func taskError(failed *mcp.CallToolResult) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: resultText(failed)}
}

// resultText returns the text at the beginning of a result.
func resultText(r *mcp.CallToolResult) string {
	if len(r.Content) > 0 {
		if t, ok := r.Content[0].(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

// checkTaskMethod checks that the version has a method, and that the client may use it.
func (c *call) checkTaskMethod(method string, r *mcp.ServerRequest[*taskParams]) error {
	stateless := c.isStateless()
	switch {
	case !stateless && (c.req.ProtocolVersion() != legacyTaskVersion || !slices.Contains(legacyTaskMethods, method)),
		stateless && !slices.Contains(taskMethods, method):
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported in this version", method)}
	case stateless && !canBecomeTask(c.req):
		return &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client does not declare the extension " + tasksExtension,
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		}
	case stateless && r.Extra != nil && r.Extra.Header != nil && r.Extra.Header.Get("Mcp-Name") != r.Params.TaskID:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header Mcp-Name must be the taskId"}
	}
	return nil
}

// findTask reads the turn of a task and its agent. A turn is unknown if it has another agent than
// the one in the path or was not created by a call.
func (c *call) findTask(ctx context.Context, id string) error {
	turn, err := c.settings.Service.GetTurn(ctx, c.view.caller, id)
	if errors.Is(err, service.ErrNotFound) || err == nil && (!own.Decode(turn.Metadata, &record{}) || c.view.only != "" && c.view.only != turn.AgentID) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown task"}
	}
	if err != nil {
		return err
	}
	c.setTurn(turn)
	return nil
}

// setTurn sets the task's turn and agent.
func (c *call) setTurn(turn *service.Turn) {
	c.turn, c.id, c.agent = turn, turn.AgentID, &spec.Agent{}
	if agent, ok := c.view.set.Agent(turn.AgentID); ok {
		c.agent, _ = c.view.set.Defaults.Apply(agent)
	}
}

// readState returns the state of the task.
func (c *call) readState() taskState {
	st := taskState{TaskID: c.turn.ID, Status: taskWorking, CreatedAt: c.turn.CreatedAt, LastUpdatedAt: c.turn.ChangedAt}
	switch c.turn.Status {
	case service.Succeeded:
		st.Status = taskCompleted
	case service.Failed:
		st.Status = taskFailed
	case service.Canceled:
		st.Status = taskCancelled
	case service.Waiting:
		st.Status = taskInputRequired
	case service.Pending:
		st.StatusMessage = "queued"
	case service.Running:
	}
	return st
}

// describeLegacyTask describes the task.
func (c *call) describeLegacyTask() *legacyTask {
	t := &legacyTask{taskState: c.readState(), PollInterval: pollInterval.Milliseconds()}
	if t.Status == taskFailed && c.turn.Outcome != nil {
		t.StatusMessage = resultText(c.convertOutcome(c.turn.Outcome))
	}
	return t
}

// describeTask describes the task, with its questions or its result.
func (c *call) describeTask(ctx context.Context) (*extensionTask, error) {
	t := &extensionTask{ResultType: "complete", taskState: c.readState(), PollInterval: pollInterval.Milliseconds()}
	switch t.Status {
	case taskInputRequired:
		required, err := newQuestions(ctx, c).ask()
		if err != nil {
			return nil, err
		}
		if required == nil { // it has no questions that the client can answer
			t.Status = taskWorking
			break
		}
		t.InputRequests = required.InputRequests
	case taskCompleted, taskFailed:
		t.Status = taskCompleted // failed means a protocol error
		if c.turn.Outcome != nil {
			t.Result = c.addMeta(c.convertOutcome(c.turn.Outcome))
		}
	}
	return t, nil
}

// awaitTask waits for the end of the task, and asks its questions.
func (c *call) awaitTask(ctx context.Context) (mcp.Result, error) {
	result, err := c.followTurn(ctx)
	if err != nil {
		return nil, err
	}
	result.Meta[relatedMeta] = map[string]string{"taskId": c.turn.ID}
	return result, nil
}

// cancelTask cancels the task.
func (c *call) cancelTask(ctx context.Context) (mcp.Result, error) {
	if !c.turn.Status.Live() && !c.isStateless() {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the task has ended: " + c.readState().Status}
	}
	if c.turn.Status.Live() {
		turn, err := c.settings.Service.CancelTurn(ctx, c.view.caller, c.turn.ID, "the client canceled the task")
		switch {
		case err == nil:
			c.turn = turn
		case !c.isStateless() || !errors.As(err, new(*service.StateError)): // the extension ignores ended tasks
			return nil, err
		}
	}
	if c.isStateless() {
		return &acknowledgement{ResultType: "complete"}, nil
	}
	return c.describeLegacyTask(), nil
}

// listTasks returns a page of the caller's tasks, newest first.
func (c *call) listTasks(ctx context.Context, cursor string) (mcp.Result, error) {
	query := service.TurnQuery{AgentID: c.view.only, Page: service.Page{After: cursor}}
	page, err := c.settings.Service.FindTurns(ctx, c.view.caller, query, func(t *service.Turn) (bool, error) {
		var r record
		return own.Decode(t.Metadata, &r) && r.Task, nil
	})
	if err != nil {
		return c.returnError(ctx, err)
	}
	list := &taskList{Tasks: []*legacyTask{}, NextCursor: page.Next}
	for _, t := range page.Turns {
		c.setTurn(t)
		list.Tasks = append(list.Tasks, c.describeLegacyTask())
	}
	return list, nil
}
