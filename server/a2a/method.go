package a2a

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// method is what requests of a method may contain.
type method struct {
	// message is the type of the parameters.
	message protoreflect.MessageDescriptor
	// call is the shape of a JSON-RPC request, and body the shape of an HTTP+JSON body. nil means
	// that the method has none.
	call, body any
	// query are the query parameters over HTTP+JSON.
	query []string
	// oldBody and oldQuery replace body and query in version 0.3, whose lists of push configurations
	// have one page.
	oldBody  any
	oldQuery []string
}

// methods are the methods, by their names in version 1.0.
var methods = map[string]method{
	"SendMessage": {
		message: typeOf(&apb.SendMessageRequest{}), call: new(rpcShape[sendShape]), body: new(sendShape), oldBody: new(pbjson.SendMessageRequest),
	},
	"SendStreamingMessage": {
		message: typeOf(&apb.SendMessageRequest{}), call: new(rpcShape[sendShape]), body: new(sendShape), oldBody: new(pbjson.SendMessageRequest),
	},
	"GetTask": {
		message: typeOf(&apb.GetTaskRequest{}), call: new(rpcShape[a2a.GetTaskRequest]),
		query: []string{"historyLength", "tenant"}, oldQuery: []string{"historyLength"},
	},
	"ListTasks": {
		message: typeOf(&apb.ListTasksRequest{}), call: new(rpcShape[a2a.ListTasksRequest]),
		query:    []string{"contextId", "historyLength", "includeArtifacts", "lastUpdatedAfter", "pageSize", "pageToken", "status", "statusTimestampAfter", "tenant"},
		oldQuery: []string{"contextId", "historyLength", "includeArtifacts", "lastUpdatedAfter", "pageSize", "pageToken", "status"},
	},
	"CancelTask": {
		message: typeOf(&apb.CancelTaskRequest{}), call: new(rpcShape[a2a.CancelTaskRequest]), body: new(a2a.CancelTaskRequest), oldBody: new(oldNameShape),
	},
	"SubscribeToTask": {
		message: typeOf(&apb.SubscribeToTaskRequest{}), call: new(rpcShape[a2a.SubscribeToTaskRequest]),
		body: new(a2a.SubscribeToTaskRequest), query: []string{"tenant"}, oldBody: new(oldNameShape),
	},
	"CreateTaskPushNotificationConfig": {
		message: typeOf(&apb.TaskPushNotificationConfig{}), call: new(rpcShape[a2a.PushConfig]), body: new(a2a.PushConfig), oldBody: new(oldPushBodyShape),
	},
	"GetTaskPushNotificationConfig": {
		message: typeOf(&apb.GetTaskPushNotificationConfigRequest{}), call: new(rpcShape[a2a.GetTaskPushConfigRequest]), query: []string{"tenant"},
	},
	"ListTaskPushNotificationConfigs": {
		message: typeOf(&apb.ListTaskPushNotificationConfigsRequest{}), call: new(rpcShape[a2a.ListTaskPushConfigRequest]),
		query: []string{"pageSize", "pageToken", "tenant"},
	},
	"DeleteTaskPushNotificationConfig": {
		message: typeOf(&apb.DeleteTaskPushNotificationConfigRequest{}), call: new(rpcShape[a2a.DeleteTaskPushConfigRequest]), query: []string{"tenant"},
	},
	"GetExtendedAgentCard": {
		message: typeOf(&apb.GetExtendedAgentCardRequest{}), call: new(rpcShape[a2a.GetExtendedAgentCardRequest]), query: []string{"tenant"},
	},
}

func typeOf(m proto.Message) protoreflect.MessageDescriptor { return m.ProtoReflect().Descriptor() }

// restMethod returns the method that an HTTP+JSON request calls, by its name in version 1.0; empty
// for none.
func restMethod(r *http.Request) string {
	path := strings.TrimPrefix(strings.TrimSuffix(r.PathValue("path"), "/"), "v1/")
	post := r.Method == http.MethodPost
	switch path {
	case "message:send":
		return "SendMessage"
	case "message:stream":
		return "SendStreamingMessage"
	case "tasks":
		return "ListTasks"
	case "extendedAgentCard", "card":
		return "GetExtendedAgentCard"
	}
	task, ok := strings.CutPrefix(path, "tasks/")
	_, config, ofConfigs := strings.Cut(task, "/pushNotificationConfigs")
	switch {
	case !ok:
		return ""
	case ofConfigs && config == "" && post:
		return "CreateTaskPushNotificationConfig"
	case ofConfigs && config == "":
		return "ListTaskPushNotificationConfigs"
	case ofConfigs && r.Method == http.MethodDelete:
		return "DeleteTaskPushNotificationConfig"
	case ofConfigs:
		return "GetTaskPushNotificationConfig"
	case strings.HasSuffix(task, ":subscribe"):
		return "SubscribeToTask"
	case strings.HasSuffix(task, ":cancel"):
		return "CancelTask"
	default:
		return "GetTask"
	}
}
