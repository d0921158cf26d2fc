package a2a

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/agentruntime/agentruntime/server"
)

// The protocol requires servers to ignore unknown fields. The response names them. A type, the
// shape, holds the fields of a body.

// warnUnknownFields names the unknown fields of a body.
func (e *endpoint) warnUnknownFields(w http.ResponseWriter, r *http.Request, spoken version, body []byte) {
	if shape := e.shapeOf(r, spoken, body); shape != nil {
		server.WarnUnknownFields(w, r, e.server.settings.Logger, server.UnknownFields(body, shape))
	}
}

// shapeOf returns a pointer to a struct with the fields of a body; nil if there is no body or no
// such method.
func (e *endpoint) shapeOf(r *http.Request, spoken version, body []byte) any {
	if e.rpc {
		var request struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(body, &request) != nil {
			return nil // the handler reports errors
		}
		if spoken == v03 {
			return oldRPCShapes[request.Method]
		}
		return rpcShapes[request.Method]
	}
	if len(body) == 0 {
		return nil
	}
	if spoken == v03 {
		return oldRESTShapes[restMethod(r)]
	}
	return restShapes[restMethod(r)]
}

// warnUnknownParameters names the unknown parameters of a query.
func (e *endpoint) warnUnknownParameters(w http.ResponseWriter, r *http.Request, q url.Values) {
	method := restMethod(r)
	known, ok := queryNames[method]
	if old, has := oldQueryNames[method]; has && e.spoken == v03 {
		known = old
	}
	if !ok {
		return // the handler knows no such method
	}
	var unknown []*server.UnknownFieldError
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if strings.EqualFold(name, a2a.SvcParamVersion) || len(unknown) == server.MaxUnknownFields {
			continue
		}
		if field := server.UnknownName("", name, known); field != nil {
			unknown = append(unknown, field)
		}
	}
	server.WarnUnknownFields(w, r, e.server.settings.Logger, unknown)
}

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

// queryNames are the query parameters that a method may have over HTTP+JSON.
var queryNames = map[string][]string{
	"SendMessage":          nil,
	"SendStreamingMessage": nil,
	"GetTask":              {"historyLength", "tenant"},
	"ListTasks": {
		"contextId", "historyLength", "includeArtifacts", "lastUpdatedAfter", "pageSize", "pageToken", "status",
		"statusTimestampAfter", "tenant",
	},
	"CancelTask":                       nil,
	"SubscribeToTask":                  {"tenant"},
	"CreateTaskPushNotificationConfig": nil,
	"GetTaskPushNotificationConfig":    {"tenant"},
	"ListTaskPushNotificationConfigs":  {"pageSize", "pageToken", "tenant"},
	"DeleteTaskPushNotificationConfig": {"tenant"},
	"GetExtendedAgentCard":             {"tenant"},
}

// oldQueryNames are the names that differ in version 0.3: its lists of push configurations have one
// page.
var oldQueryNames = map[string][]string{
	"GetTask":                          {"historyLength"},
	"ListTasks":                        {"contextId", "historyLength", "includeArtifacts", "lastUpdatedAfter", "pageSize", "pageToken", "status"},
	"SubscribeToTask":                  nil,
	"GetTaskPushNotificationConfig":    nil,
	"ListTaskPushNotificationConfigs":  nil,
	"DeleteTaskPushNotificationConfig": nil,
	"GetExtendedAgentCard":             nil,
}

// restShapes are the bodies of version 1.0 over HTTP+JSON.
var restShapes = map[string]any{
	"SendMessage":                      new(sendShape),
	"SendStreamingMessage":             new(sendShape),
	"CancelTask":                       new(a2a.CancelTaskRequest),
	"SubscribeToTask":                  new(a2a.SubscribeToTaskRequest),
	"CreateTaskPushNotificationConfig": new(a2a.PushConfig),
}

// oldRESTShapes are the shapes of version 0.3.
var oldRESTShapes = map[string]any{
	"SendMessage":                      new(pbjson.SendMessageRequest),
	"SendStreamingMessage":             new(pbjson.SendMessageRequest),
	"CancelTask":                       new(oldNameShape),
	"SubscribeToTask":                  new(oldNameShape),
	"CreateTaskPushNotificationConfig": new(oldPushBodyShape),
}

// oldPushBodyShape is a request with a wrapped or unwrapped configuration.
type oldPushBodyShape struct {
	pbjson.CreateTaskPushNotificationConfigRequest
	pbjson.TaskPushNotificationConfig
}

// oldNameShape is a request for the task in its path.
type oldNameShape struct {
	Name json.RawMessage `json:"name"`
}

// rpcShape is a JSON-RPC request.
type rpcShape[Params any] struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  *Params         `json:"params"`
}

var rpcShapes = map[string]any{
	"SendMessage":                      new(rpcShape[sendShape]),
	"SendStreamingMessage":             new(rpcShape[sendShape]),
	"GetTask":                          new(rpcShape[a2a.GetTaskRequest]),
	"ListTasks":                        new(rpcShape[a2a.ListTasksRequest]),
	"CancelTask":                       new(rpcShape[a2a.CancelTaskRequest]),
	"SubscribeToTask":                  new(rpcShape[a2a.SubscribeToTaskRequest]),
	"CreateTaskPushNotificationConfig": new(rpcShape[a2a.PushConfig]),
	"GetTaskPushNotificationConfig":    new(rpcShape[a2a.GetTaskPushConfigRequest]),
	"ListTaskPushNotificationConfigs":  new(rpcShape[a2a.ListTaskPushConfigRequest]),
	"DeleteTaskPushNotificationConfig": new(rpcShape[a2a.DeleteTaskPushConfigRequest]),
	"GetExtendedAgentCard":             new(rpcShape[a2a.GetExtendedAgentCardRequest]),
}

// sendShape has the fields of a message to send. It adds the fields of parts, which decode
// themselves, to the SDK's.
type sendShape struct {
	a2a.SendMessageRequest
	Message *messageShape `json:"message"`
}

type messageShape struct {
	a2a.Message
	Parts []partShape `json:"parts"`
}

type partShape struct {
	Text      json.RawMessage `json:"text"`
	Raw       json.RawMessage `json:"raw"`
	Data      json.RawMessage `json:"data"`
	URL       json.RawMessage `json:"url"`
	Filename  json.RawMessage `json:"filename"`
	MediaType json.RawMessage `json:"mediaType"`
	Metadata  json.RawMessage `json:"metadata"`
}

// oldRPCShapes are the JSON-RPC requests of version 0.3.
var oldRPCShapes = map[string]any{
	"message/send":                        new(rpcShape[oldSendShape]),
	"message/stream":                      new(rpcShape[oldSendShape]),
	"tasks/get":                           new(rpcShape[oldTaskShape]),
	"tasks/cancel":                        new(rpcShape[oldTaskIDShape]),
	"tasks/resubscribe":                   new(rpcShape[oldTaskIDShape]),
	"tasks/pushNotificationConfig/set":    new(rpcShape[legacy.TaskPushConfig]),
	"tasks/pushNotificationConfig/get":    new(rpcShape[oldPushShape]),
	"tasks/pushNotificationConfig/delete": new(rpcShape[oldPushShape]),
	"tasks/pushNotificationConfig/list":   new(rpcShape[oldTaskIDShape]),
	"agent/getAuthenticatedExtendedCard":  new(rpcShape[struct{}]),
}

type oldTaskIDShape struct {
	ID       json.RawMessage `json:"id"`
	Metadata json.RawMessage `json:"metadata"`
}

type oldTaskShape struct {
	oldTaskIDShape
	HistoryLength json.RawMessage `json:"historyLength"`
}

type oldPushShape struct {
	oldTaskIDShape
	ConfigID json.RawMessage `json:"pushNotificationConfigId"`
}

type oldSendShape struct {
	Metadata      json.RawMessage `json:"metadata"`
	Configuration struct {
		AcceptedOutputModes    json.RawMessage    `json:"acceptedOutputModes"`
		Blocking               json.RawMessage    `json:"blocking"`
		HistoryLength          json.RawMessage    `json:"historyLength"`
		PushNotificationConfig *legacy.PushConfig `json:"pushNotificationConfig"`
	} `json:"configuration"`
	Message struct {
		a2a.Message
		Kind  string         `json:"kind"`
		Parts []oldPartShape `json:"parts"`
	} `json:"message"`
}

type oldPartShape struct {
	Kind     string          `json:"kind"`
	Text     json.RawMessage `json:"text"`
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
	File     struct {
		Name     string `json:"name"`
		MimeType string `json:"mimeType"`
		Bytes    string `json:"bytes"`
		URI      string `json:"uri"`
	} `json:"file"`
}
