package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/tools"
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
	// createdTaskKey and offersTasksKey are the keys under which the mender passes on the task that
	// a call has become and the capability, both of which the library drops.
	createdTaskKey = "agentruntime/createdTask"
	offersTasksKey = "agentruntime/tasks"
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

// offersTasks reports whether tools that require a task can run.
func (c *session) offersTasks() bool {
	if c.isStateless() {
		return true // the server decides
	}
	r := c.client.InitializeResult()
	return r != nil && r.Capabilities != nil && r.Capabilities.Experimental[offersTasksKey] != nil
}

// createdTask returns the task that a call has become; nil if it has a result.
func createdTask(r *mcp.CallToolResult) (*remoteTask, error) {
	raw, ok := r.Meta[createdTaskKey]
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
			c.showTaskNote(ctx, shown)
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
		return &reply{result: tools.ErrorResult("the server canceled the task: " + cleanText(task.StatusMessage, maxDescription))}, nil
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
		return nil, fmt.Errorf("its task has the status %q without a result", cleanText(task.Status, maxName))
	}
}

// showTaskNote shows a line to observers of the call.
func (c *session) showTaskNote(ctx context.Context, text string) {
	if f := c.flightOf(ctx); f != nil {
		f.showNote(text)
	}
}

// flightOf returns the flight whose context ctx is; nil if it has ended.
func (c *session) flightOf(ctx context.Context) *flight {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return nil
	}
	return c.findFlight(mcp.Meta{tagKey: d.tag})
}

// keepTask stores the task that a call has become, so that the call follows it even if the
// process dies.
func (s *server) keepTask(ctx context.Context, c *session, id string) {
	if f := c.flightOf(ctx); f != nil {
		if host := f.waitingHost(); host != nil {
			s.storeTask(ctx, host, &exchangeState{Task: id})
		}
	}
}

// storeTask stores the state of a call that has become a task. If storing fails, the call is
// indeterminate if its process dies.
func (s *server) storeTask(ctx context.Context, host tools.Host, state *exchangeState) {
	text, err := json.Marshal(state)
	if err == nil {
		err = host.Keep(ctx, text)
	}
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("storing the task of a call failed", "error", err)
	}
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

// mendTask returns a task, which the library would take for an empty success, as a result with the
// task in its metadata.
func mendTask(result []rawjson.Member) json.RawMessage {
	task := rawjson.Find(result, "task")
	if len(task) == 0 || task[0] != '{' {
		task = rawjson.EncodeMembers(result)
	}
	return rawjson.EncodeMembers([]rawjson.Member{
		{Name: "content", Value: json.RawMessage("[]")},
		{Name: "_meta", Value: rawjson.EncodeMembers([]rawjson.Member{{Name: createdTaskKey, Value: task}})},
	})
}

// mendTaskResult mends the content of the result in a task. It ignores deeper results, which would
// take quadratic time.
func mendTaskResult(result json.RawMessage) (_ json.RawMessage, mended bool) {
	members, _ := rawjson.Members(result)
	for i := range members {
		if members[i].Name == "content" {
			members[i].Value, mended = mendContent(members[i].Value)
		}
	}
	if !mended {
		return result, false
	}
	return rawjson.EncodeMembers(members), true
}

// noteTasks records in the capabilities of a server that its tools can run as tasks.
func noteTasks(capabilities json.RawMessage) (json.RawMessage, bool) {
	var offered struct {
		Tasks struct {
			Requests struct {
				Tools struct {
					Call json.RawMessage `json:"call"`
				} `json:"tools"`
			} `json:"requests"`
		} `json:"tasks"`
	}
	members, ok := rawjson.Members(capabilities)
	if !ok || json.Unmarshal(capabilities, &offered) != nil || len(offered.Tasks.Requests.Tools.Call) == 0 {
		return capabilities, false
	}
	return rawjson.EncodeMembers(addEntry(members, "experimental", rawjson.Member{Name: offersTasksKey, Value: json.RawMessage("{}")})), true
}
