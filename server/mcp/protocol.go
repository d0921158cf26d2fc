package mcp

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	// versionMeta is the version in the _meta of requests without a handshake, from firstStateless
	// on.
	versionMeta    = "io.modelcontextprotocol/protocolVersion"
	firstStateless = "2026-07-28"
)

// methodInitialize opens an MCP session, methodCall runs a tool and methodList lists them.
const (
	methodInitialize = "initialize"
	methodCall       = "tools/call"
	methodList       = "tools/list"
)

// legacyMethods are the methods allowed in sessions. For others the SDK returns a status that
// clients take for a broken connection.
var legacyMethods = []string{
	methodInitialize, methodList, methodCall, "ping", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover",
	methodGetTask, methodListTasks, methodTaskResult, methodCancelTask,
}

// Methods of tasks. A task is a turn and has its ID.
const (
	methodGetTask    = "tasks/get"
	methodListTasks  = "tasks/list"
	methodTaskResult = "tasks/result"
	methodCancelTask = "tasks/cancel"
	methodUpdateTask = "tasks/update"
)

// legacyTaskMethods belong to version 2025-11-25, taskMethods to the extension of later
// versions.
var (
	legacyTaskMethods = []string{methodGetTask, methodListTasks, methodTaskResult, methodCancelTask}
	taskMethods       = []string{methodGetTask, methodCancelTask, methodUpdateTask}
)

const (
	// legacyTaskVersion is the only version whose handshake offers tasks.
	legacyTaskVersion = "2025-11-25"
	// tasksExtension offers tasks in versions without a handshake.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// relatedMeta names the task that a message belongs to.
	relatedMeta = "io.modelcontextprotocol/related-task"
	// taskMeta holds the task parameter of a call, which the SDK drops.
	taskMeta = "agentruntime/task"
)

// Members of _meta. A call may have the session and the key; its result has the session and the
// turn.
const (
	sessionMeta = "agentruntime/session_id"
	turnMeta    = "agentruntime/turn_id"
	keyMeta     = "agentruntime/idempotency_key"
)

// errInternal replaces internal errors for clients. The cause is logged.
var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
