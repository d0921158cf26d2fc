package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// States of a task.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// taskState has the task fields common to all versions.
type taskState struct {
	TaskID        string    `json:"taskId"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`
}

// legacyTask is a task in version 2025-11-25.
type legacyTask struct {
	mcp.ResultBase
	taskState
	// TTL is null: a task exists as long as its turn.
	TTL          *int64 `json:"ttl"`
	PollInterval int64  `json:"pollInterval"`
}

// createdTask is the result of a call that began a task.
type createdTask struct {
	mcp.ResultBase
	Task *legacyTask `json:"task"`
}

// taskList is a page of tasks.
type taskList struct {
	mcp.ResultBase
	Tasks      []*legacyTask `json:"tasks"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// extensionTask is a task of the extension.
type extensionTask struct {
	mcp.ResultBase
	// ResultType is "task" when the task begins, and "complete" later.
	ResultType string `json:"resultType"`
	taskState
	TTL           *int64              `json:"ttlMs"`
	PollInterval  int64               `json:"pollIntervalMs"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// acknowledgement is the empty result of the extension.
type acknowledgement struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// moveTask moves the task parameter of a call to the place where the SDK keeps it.
func moveTask(params json.RawMessage) json.RawMessage {
	members, ok := rawjson.Members(params)
	task := rawjson.Find(members, "task")
	if !ok || task == nil {
		return params
	}
	meta, _ := rawjson.Members(rawjson.Find(members, "_meta"))
	meta = append(meta, rawjson.Member{Name: taskMeta, Value: task})
	members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == "_meta" || m.Name == "task" })
	return rawjson.EncodeMembers(append(members, rawjson.Member{Name: "_meta", Value: rawjson.EncodeMembers(meta)}))
}

// moveTaskOf does the same in a call's message.
func moveTaskOf(message []byte) []byte {
	members, ok := rawjson.Members(message)
	if !ok {
		return message
	}
	for i := range members {
		if members[i].Name == "params" {
			members[i].Value = moveTask(members[i].Value)
		}
	}
	return rawjson.EncodeMembers(members)
}

// taskTransport is a transport that keeps the task parameter of calls.
type taskTransport struct{ mcp.Transport }

// Connect connects the transport.
func (t taskTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return taskConnection{c}, err
}

type taskConnection struct{ mcp.Connection }

// Read returns the next message.
func (c taskConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == methodCall {
		r.Params = moveTask(r.Params)
	}
	return m, err
}

// initializeResult and toolList have the task fields that the SDK's types lack.
type initializeResult struct {
	*mcp.InitializeResult
	Capabilities struct {
		*mcp.ServerCapabilities
		Tasks json.RawMessage `json:"tasks"`
	} `json:"capabilities"`
}

type toolList struct {
	*mcp.ListToolsResult
	Tools []listedTool `json:"tools"`
}

type listedTool struct {
	*mcp.Tool
	Execution json.RawMessage `json:"execution"`
}

// offerTasks adds tasks to the handshake response of version 2025-11-25.
func offerTasks(r mcp.Result) mcp.Result {
	handshake, ok := r.(*mcp.InitializeResult)
	if !ok || handshake.ProtocolVersion != legacyTaskVersion {
		return r
	}
	offered := &initializeResult{InitializeResult: handshake}
	offered.Capabilities.ServerCapabilities = handshake.Capabilities
	offered.Capabilities.Tasks = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	return offered
}

// allowTasks marks tools as able to run as tasks, for clients of version 2025-11-25.
func allowTasks(r *mcp.ListToolsResult, version string) mcp.Result {
	if version != legacyTaskVersion {
		return r
	}
	list := &toolList{ListToolsResult: r, Tools: make([]listedTool, len(r.Tools))}
	for i, t := range r.Tools {
		list.Tools[i] = listedTool{t, json.RawMessage(`{"taskSupport":"optional"}`)}
	}
	return list
}

// wantsTask reports whether a call of version 2025-11-25 requests a task.
func wantsTask(r *mcp.CallToolRequest) bool {
	_, ok := r.Params.Meta[taskMeta].(map[string]any)
	return ok && r.ProtocolVersion() == legacyTaskVersion
}

// canBecomeTask reports whether the client of a request supports the extension.
func canBecomeTask(r *mcp.CallToolRequest) bool {
	can := r.ClientCapabilities()
	if can == nil || r.ProtocolVersion() < firstStateless {
		return false
	}
	_, ok := can.Extensions[tasksExtension]
	return ok
}
