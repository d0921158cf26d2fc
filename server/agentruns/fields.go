package agentruns

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
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
		return nil, newInvalid("%s", diag.Sentence("the body", err.Error()))
	}
	body := objectOf(data)
	if body == nil {
		return nil, newInvalid("the body is not a JSON object")
	}
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

// decode reads the fields of a struct in their order. Tags bound its whole numbers, whose names in
// errors begin with a path.
func (f fields) decode(path string, into any) error {
	v := reflect.ValueOf(into).Elem()
	for i, name := range namesOf(into) {
		value, tag := v.Field(i), v.Type().Field(i).Tag
		if value.Kind() != reflect.Int {
			if err := f.readField(name, value.Addr().Interface(), cmp.Or(tag.Get("want"), "a string")); err != nil {
				return err
			}
			continue
		}
		if raw, has := f[name]; has {
			n, whole := integerOf(raw)
			if low, high := tag.Get("minimum"), tag.Get("maximum"); !whole || n < numberOf(low) || n > numberOf(high) {
				return newInvalid("%s must be a whole number from %s to %s", path+name, low, high)
			}
			value.SetInt(int64(n))
		}
	}
	return nil
}

// namesOf returns the JSON names of the fields of a struct, or of a pointer to one. Fields without
// one come last.
func namesOf(of any) []string {
	t := reflect.Indirect(reflect.ValueOf(of)).Type()
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// numberOf returns the number in a tag.
func numberOf(tag string) int {
	n, _ := strconv.Atoi(tag) // a tag is a number
	return n
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
