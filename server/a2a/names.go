package a2a

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The protocol's JSON follows its protobuf messages, whose readers accept two forms of field
// names: contextId and context_id. The SDK knows only the first.

// jsonNames returns the body of a request of version 1.0 with the names that the SDK
// knows.
func (e *endpoint) jsonNames(r *http.Request, body []byte) []byte {
	if !hasSnakeCase(body) {
		return body
	}
	if !e.rpc {
		switch method := restMethod(r); method {
		case "SendMessage", "SendStreamingMessage", "CreateTaskPushNotificationConfig":
			return jsonFields(body, methods[method].message)
		default:
			return body
		}
	}
	var fields map[string]json.RawMessage
	var method string
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["method"], &method) != nil || methods[method].message == nil {
		return body // the handler reports errors
	}
	params := jsonFields(fields["params"], methods[method].message)
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

// jsonQuery converts query parameters to their JSON names.
func jsonQuery(q url.Values) (changed bool) {
	for _, method := range []string{"ListTasks", "GetTask", "ListTaskPushNotificationConfigs"} {
		fields := methods[method].message.Fields()
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
