package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods of tasks. Servers with sessions support taskResult, servers without them updateTask.
const (
	getTask    = "tasks/get"
	taskResult = "tasks/result"
	cancelTask = "tasks/cancel"
	updateTask = "tasks/update"
)

const (
	// tasksExtension offers tasks in versions without sessions.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// taskTTL is how long servers with sessions are requested to keep a task.
	taskTTL = 24 * time.Hour
	// defaultPoll is the time between two polls of a task, unless the server sets it to a time
	// between minPoll and maxPoll.
	defaultPoll, minPoll, maxPoll = time.Second, 100 * time.Millisecond, 30 * time.Second
)

// taskParams are the parameters of all methods of tasks.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// remoteTask is a task at a server, in the form of either version.
type remoteTask struct {
	mcp.ResultBase
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage"`
	PollInterval   float64             `json:"pollInterval"`
	PollIntervalMs float64             `json:"pollIntervalMs"`
	Result         *mcp.CallToolResult `json:"result"`
	Error          *jsonrpc.Error      `json:"error"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests"`
}

// pollDelay returns how long to wait before the next poll of the task.
func (t *remoteTask) pollDelay() time.Duration {
	if ms := max(t.PollInterval, t.PollIntervalMs); ms > 0 {
		return min(max(time.Duration(min(ms, maxPoll.Seconds()*1000))*time.Millisecond, minPoll), maxPoll)
	}
	return defaultPoll
}

// taskCall is a call that requests a task.
type taskCall struct {
	*mcp.CallToolParams
	Task struct {
		TTL int64 `json:"ttl"`
	} `json:"task"`
}

type (
	asTaskKey   struct{}
	taskNameKey struct{}
)

// addTaskMethods adds the methods of tasks and the parameter task to the library's requests.
func addTaskMethods(client *mcp.Client) error {
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			params, isCall := req.GetParams().(*mcp.CallToolParams)
			session, ok := req.GetSession().(*mcp.ClientSession)
			if !isCall || !ok || ctx.Value(asTaskKey{}) == nil {
				return next(ctx, method, req)
			}
			call := &taskCall{CallToolParams: params}
			call.Task.TTL = taskTTL.Milliseconds()
			return next(ctx, method, &mcp.ClientRequest[mcp.Params]{Session: session, Params: call})
		}
	})
	return errors.Join(
		mcp.AddSendingCustomMethod[*taskParams, *remoteTask](client, getTask),
		mcp.AddSendingCustomMethod[*taskParams, *mcp.CallToolResult](client, taskResult),
		mcp.AddSendingCustomMethod[*taskParams, *remoteTask](client, cancelTask),
		mcp.AddSendingCustomMethod[*taskParams, *remoteTask](client, updateTask),
	)
}

// createdTask returns the task that a call has become; nil if it has a result.
func createdTask(r *mcp.CallToolResult) (*remoteTask, error) {
	raw, ok := r.Meta[mend.CreatedTaskKey]
	if !ok {
		return nil, nil //nolint:nilnil // it is an ordinary result
	}
	created := new(remoteTask)
	data, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(data, created)
	}
	if err != nil || created.TaskID == "" || len(created.TaskID) > maxDescription {
		return nil, errors.New("it has started a task without a valid taskId")
	}
	return created, nil
}

// taskID is the task that a request has become; empty if it has not. A flight sets it.
type taskID struct{ id atomic.Pointer[string] }

func (t *taskID) load() string {
	if id := t.id.Load(); id != nil {
		return *id
	}
	return ""
}

func (t *taskID) store(id string) { t.id.Store(&id) }
