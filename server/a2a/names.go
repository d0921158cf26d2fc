package a2a

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The protocol's JSON follows its protobuf messages, whose readers accept two forms of field
// names: contextId and context_id. The SDK knows only the first.

// requestMessages are the messages of the JSON-RPC methods.
var requestMessages = map[string]protoreflect.MessageDescriptor{
	"SendMessage":                      (*apb.SendMessageRequest)(nil).ProtoReflect().Descriptor(),
	"SendStreamingMessage":             (*apb.SendMessageRequest)(nil).ProtoReflect().Descriptor(),
	"GetTask":                          (*apb.GetTaskRequest)(nil).ProtoReflect().Descriptor(),
	"ListTasks":                        (*apb.ListTasksRequest)(nil).ProtoReflect().Descriptor(),
	"CancelTask":                       (*apb.CancelTaskRequest)(nil).ProtoReflect().Descriptor(),
	"SubscribeToTask":                  (*apb.SubscribeToTaskRequest)(nil).ProtoReflect().Descriptor(),
	"CreateTaskPushNotificationConfig": (*apb.TaskPushNotificationConfig)(nil).ProtoReflect().Descriptor(),
	"GetTaskPushNotificationConfig":    (*apb.GetTaskPushNotificationConfigRequest)(nil).ProtoReflect().Descriptor(),
	"ListTaskPushNotificationConfigs":  (*apb.ListTaskPushNotificationConfigsRequest)(nil).ProtoReflect().Descriptor(),
	"DeleteTaskPushNotificationConfig": (*apb.DeleteTaskPushNotificationConfigRequest)(nil).ProtoReflect().Descriptor(),
	"GetExtendedAgentCard":             (*apb.GetExtendedAgentCardRequest)(nil).ProtoReflect().Descriptor(),
}

// restMessage returns the message type of an HTTP+JSON request body; nil for none.
func restMessage(path string) protoreflect.MessageDescriptor {
	switch path = strings.TrimSuffix(path, "/"); {
	case strings.HasSuffix(path, "/message:send"), strings.HasSuffix(path, "/message:stream"):
		return requestMessages["SendMessage"]
	case strings.HasSuffix(path, "/pushNotificationConfigs"):
		return requestMessages["CreateTaskPushNotificationConfig"]
	default:
		return nil
	}
}

// jsonNames returns the body of a request of version 1.0 with the names that the SDK
// knows.
func (e *endpoint) jsonNames(r *http.Request, body []byte) []byte {
	if !hasSnakeCase(body) {
		return body
	}
	if !e.rpc {
		if message := restMessage(r.URL.Path); message != nil {
			return jsonFields(body, message)
		}
		return body
	}
	var fields map[string]json.RawMessage
	var method string
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["method"], &method) != nil || requestMessages[method] == nil {
		return body // the handler reports errors
	}
	params := jsonFields(fields["params"], requestMessages[method])
	if bytes.Equal(params, fields["params"]) {
		return body
	}
	fields["params"] = params
	return reencode(fields, body)
}

// hasSnakeCase reports whether a body may contain a name such as context_id. Enum values, such as
// ROLE_USER, are in capitals.
func hasSnakeCase(body []byte) bool {
	for i, c := range body {
		if c == '_' && i+1 < len(body) && (body[i+1] < 'A' || body[i+1] > 'Z') {
			return true
		}
	}
	return false
}

// jsonFields returns a message with the JSON names of its fields. Data of another form does not
// change, nor does a field present in both forms.
func jsonFields(data json.RawMessage, message protoreflect.MessageDescriptor) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return data
	}
	var named map[string]json.RawMessage // a copy, once a field changes
	for name, value := range fields {
		field := message.Fields().ByJSONName(name)
		if field == nil {
			if field = message.Fields().ByName(protoreflect.Name(name)); field == nil {
				continue
			}
		}
		key := name
		if _, both := fields[field.JSONName()]; !both {
			key = field.JSONName()
		}
		inner := jsonValue(value, field)
		if key == name && bytes.Equal(inner, value) {
			continue
		}
		if named == nil {
			named = maps.Clone(fields)
		}
		delete(named, name)
		named[key] = inner
	}
	if named == nil {
		return data
	}
	return reencode(named, data)
}

// jsonValue returns a field's value with JSON names in its messages. User-defined values,
// metadata and data, do not change.
func jsonValue(value json.RawMessage, field protoreflect.FieldDescriptor) json.RawMessage {
	message := field.Message()
	if message == nil || field.IsMap() || message.ParentFile().Package() == "google.protobuf" {
		return value
	}
	if !field.IsList() {
		return jsonFields(value, message)
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return value
	}
	changed := false
	for i := range list {
		inner := jsonFields(list[i], message)
		changed, list[i] = changed || !bytes.Equal(inner, list[i]), inner
	}
	if !changed {
		return value
	}
	return reencode(list, value)
}

// reencode returns the JSON of a value decoded from JSON.
func reencode(value any, otherwise []byte) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		return otherwise // not reached
	}
	return data
}

// queryMessages are the message types of HTTP+JSON queries.
var queryMessages = []string{"ListTasks", "GetTask", "ListTaskPushNotificationConfigs"}

// jsonQuery converts query parameters to their JSON names.
func jsonQuery(q url.Values) (changed bool) {
	for _, method := range queryMessages {
		fields := requestMessages[method].Fields()
		for i := range fields.Len() {
			name, plain := fields.Get(i).JSONName(), string(fields.Get(i).Name())
			if values, ok := q[plain]; ok && name != plain && !q.Has(name) {
				q[name], changed = values, true
				delete(q, plain)
			}
		}
	}
	return changed
}
