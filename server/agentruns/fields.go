package agentruns

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

// fields is the body of a request: a JSON object whose fields are read one by one. Unknown fields
// are ignored, and null counts as absent.
type fields map[string]json.RawMessage

// warning describes ineffective fields of a request. The protocol lets clients send unknown fields,
// and some do; the response names them.
type warning struct {
	Field   string `json:"field" jsonschema:"The path of the field."`
	Message string `json:"message"`
}

// warnings are the warnings in a response.
type warnings []warning

// decodeBody reads the body of a request.
func decodeBody(data []byte) (fields, error) {
	if err := server.CheckJSON(data, server.MaxJSONDepth); err != nil {
		return nil, newInvalid("the body cannot be used: %s", clip.Text(err.Error()))
	}
	var body fields
	if err := json.Unmarshal(data, &body); err != nil || body == nil {
		return nil, newInvalid("the body is not a JSON object")
	}
	maps.DeleteFunc(body, func(_ string, value json.RawMessage) bool { return isNull(value) })
	return body, nil
}

// readField reads a field into a value; want describes the expected value in words. An absent
// field does not change the value.
func (f fields) readField(name string, value any, want string) error {
	raw, has := f[name]
	if !has {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return newInvalid("%s must be %s", name, want)
	}
	return nil
}

// readObject reads a field that is an object; nil when it is absent.
func (f fields) readObject(name string) (fields, error) {
	var inner fields
	if err := f.readField(name, &inner, "an object"); err != nil || inner == nil {
		return nil, err
	}
	maps.DeleteFunc(inner, func(_ string, value json.RawMessage) bool { return isNull(value) })
	return inner, nil
}

// readInteger reads a field that is a whole number from low to high; ok is false if it is absent.
// path is the field's name in errors.
func (f fields) readInteger(name, path string, low, high int) (n int, ok bool, err error) {
	raw, has := f[name]
	if !has {
		return 0, false, nil
	}
	n, whole := integerOf(raw)
	if !whole || n < low || n > high {
		return 0, false, newInvalid("%s must be a whole number from %d to %d", path, low, high)
	}
	return n, true, nil
}

// integerOf returns a whole JSON number, including 3.0 and 3e0.
func integerOf(raw json.RawMessage) (int, bool) {
	text := string(bytes.TrimSpace(raw))
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	var number float64
	if json.Unmarshal(raw, &number) != nil || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
		return 0, false
	}
	return int(number), true
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// warnUnknown returns a warning for each unknown field. A field that looks like a known one is an
// error, because its effect would be lost. path is the object's path, empty for the body.
func (f fields) warnUnknown(path string, known ...string) ([]warning, error) {
	var list []warning
	for _, name := range slices.Sorted(maps.Keys(f)) {
		switch unknown := server.UnknownName(path, name, known); {
		case unknown == nil:
		case unknown.Nearest != "":
			return nil, newInvalid("%s is not known; did you mean %q?", unknown.Path, unknown.Nearest)
		default:
			list = append(list, warning{unknown.Path, "the field is not known and has no effect"})
		}
	}
	return list, nil
}

// warnIdle returns a warning for each of the given fields that a request has, because they have no
// effect in it.
func (f fields) warnIdle(why string, names ...string) []warning {
	var list []warning
	for _, name := range names {
		if _, has := f[name]; has {
			list = append(list, warning{name, why})
		}
	}
	return list
}
