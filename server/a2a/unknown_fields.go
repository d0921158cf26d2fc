package a2aserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// The protocol wants fields that a server does not know to be ignored, so that newer
// clients can use older servers. They are named in the header of the answer. One that
// looks like a field of the protocol is probably a mistake, and logged as well.

const (
	// warningHeader has a value for each field of the request that has no effect.
	warningHeader = "Warning"
	// maxWarnings bounds its values.
	maxWarnings = 8
)

// warnUnknownFields adds the unknown fields of a body to the header of the answer.
func (e *endpoint) warnUnknownFields(w http.ResponseWriter, r *http.Request, spoken version, body []byte) {
	shape := e.shapeOf(r, spoken, body)
	if shape == nil {
		return
	}
	var misspelt []string
	shown := 0
	for _, unknown := range server.UnknownFields(body, shape) {
		name := unknown.Path[strings.LastIndexByte(unknown.Path, '.')+1:]
		if strings.EqualFold(name, unknown.Nearest) {
			continue // the decoder does not tell upper from lower case
		}
		if unknown.Nearest != "" {
			misspelt = append(misspelt, unknown.Error())
		}
		if shown++; shown <= maxWarnings {
			w.Header().Add(warningHeader, "299 - "+strconv.QuoteToASCII(unknown.Error()))
		}
	}
	if len(misspelt) > 0 {
		e.server.Logger.Warn("misspelt fields of an A2A request ignored", zap.String("request_id", server.RequestID(r.Context())),
			zap.String("agent", r.PathValue("agent")), zap.Strings("fields", misspelt))
	}
}

// shapeOf returns a pointer to a struct with the fields that a body may have; nil
// when they are not known.
func (e *endpoint) shapeOf(r *http.Request, spoken version, body []byte) any {
	switch {
	case e.rpc:
		var request struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(body, &request) != nil {
			return nil // the handler tells what is wrong
		}
		if spoken == v03 {
			return oldShapes[request.Method]
		}
		return rpcShapes[request.Method]
	case spoken == v03 || len(body) == 0:
		return nil
	case strings.HasSuffix(r.URL.Path, "/message:send"), strings.HasSuffix(r.URL.Path, "/message:stream"):
		return new(sendShape)
	case strings.HasSuffix(r.URL.Path, "/pushNotificationConfigs"):
		return new(a2a.PushConfig)
	default:
		return nil
	}
}

// rpcShape is a request of JSON-RPC.
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

// sendShape has the fields of a message to send. Those of the SDK are completed by
// the ones of its parts, which decode themselves.
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

// oldShapes are those of version 0.3.
var oldShapes = map[string]any{
	"message/send":                        new(rpcShape[oldSendShape]),
	"message/stream":                      new(rpcShape[oldSendShape]),
	"tasks/get":                           new(rpcShape[oldTaskShape]),
	"tasks/cancel":                        new(rpcShape[oldTaskIDShape]),
	"tasks/resubscribe":                   new(rpcShape[oldTaskIDShape]),
	"tasks/pushNotificationConfig/get":    new(rpcShape[oldPushShape]),
	"tasks/pushNotificationConfig/delete": new(rpcShape[oldPushShape]),
	"tasks/pushNotificationConfig/list":   new(rpcShape[oldTaskIDShape]),
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
		AcceptedOutputModes    json.RawMessage `json:"acceptedOutputModes"`
		Blocking               json.RawMessage `json:"blocking"`
		HistoryLength          json.RawMessage `json:"historyLength"`
		PushNotificationConfig json.RawMessage `json:"pushNotificationConfig"`
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
