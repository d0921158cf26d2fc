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
		return methods[request.Method].call
	}
	if len(body) == 0 {
		return nil
	}
	if spoken == v03 {
		return methods[restMethod(r)].oldBody
	}
	return methods[restMethod(r)].body
}

// warnUnknownParameters names the unknown parameters of a query.
func (e *endpoint) warnUnknownParameters(w http.ResponseWriter, r *http.Request, q url.Values) {
	method, ok := methods[restMethod(r)]
	if !ok {
		return // the handler knows no such method
	}
	known := method.query
	if e.spoken == v03 {
		known = method.oldQuery
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
