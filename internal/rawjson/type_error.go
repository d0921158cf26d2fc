package rawjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// goName matches mentions of Go types in errors of encoding/json.
var goName = regexp.MustCompile(`Go (value|struct|type)|UnmarshalJSON|\b[a-z]\w*\.[A-Z]\w*`)

// DescribeError returns where in a JSON document a value did not fit the type it was decoded into,
// and why, without Go names. The path is empty if unknown.
func DescribeError(err error, root reflect.Type) (path, problem string) {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return jsonPath(wrong.Field, root), "must not be a JSON " + wrong.Value
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if parse := (*time.ParseError)(nil); errors.As(err, &parse) || strings.HasPrefix(text, "Time.UnmarshalJSON") {
		return "", "a time must be text like " + time.RFC3339
	}
	if goName.MatchString(text) {
		return "", "a value does not have the form of its field"
	}
	return "", text
}

// jsonPath returns a path of encoding/json without the names of embedded structs.
func jsonPath(field string, t reflect.Type) string {
	var path []string
	for name := range strings.SplitSeq(field, ".") {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
			t = t.Elem()
		}
		embedded, next := findField(t, name)
		if !embedded && name != "" {
			path = append(path, name)
		}
		t = next
	}
	return strings.Join(path, ".")
}

// findField returns the type of a struct's field by its name in JSON, or by the name of an
// embedded struct.
func findField(t reflect.Type, name string) (embedded bool, next reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return false, nil
	}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "" && f.Name == name:
			return true, f.Type
		case tag == name || tag == "" && f.Name == name:
			return false, f.Type
		}
	}
	return false, nil
}
