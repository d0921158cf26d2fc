package server

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// UnknownFieldError reports a field in the body of a request that its type does not
// have.
type UnknownFieldError struct {
	// Path is the path of the field, and Nearest the known field with the most
	// similar name, if any.
	Path, Nearest string
}

// Error names the field.
func (e *UnknownFieldError) Error() string { return e.Path + ": " + e.Problem() }

// Problem returns the error text without the path.
func (e *UnknownFieldError) Problem() string {
	if e.Nearest == "" {
		return "unknown field"
	}
	return fmt.Sprintf("unknown field; did you mean %q?", e.Nearest)
}

// MaxUnknownFields is how many unknown fields of a body are reported.
const MaxUnknownFields = 32

// UnknownFields returns the fields of valid JSON that encoding/json ignores when it
// decodes into a value of the type of into, a pointer to a struct, sorted by name.
// Values with their own decoder are skipped.
func UnknownFields(body []byte, into any) []*UnknownFieldError {
	s := &fieldSearch{most: MaxUnknownFields, fold: true}
	s.searchValue("", body, reflect.TypeOf(into))
	return s.found
}

// CheckFields returns the first field of valid JSON that a value of the type of
// into does not have, as an *UnknownFieldError. Unlike UnknownFields it is
// case-sensitive.
func CheckFields(body []byte, into any) error {
	s := &fieldSearch{most: 1}
	if s.searchValue("", body, reflect.TypeOf(into)); len(s.found) > 0 {
		return s.found[0]
	}
	return nil
}

// UnknownName returns an error if the object at path, which is empty for the body,
// has no field of that name.
func UnknownName(path, name string, known []string) *UnknownFieldError {
	if slices.Contains(known, name) {
		return nil
	}
	near, _ := nearest.Of(name, known)
	return &UnknownFieldError{Path: fieldPath(path, name), Nearest: near}
}

func fieldPath(path, name string) string { return strings.TrimPrefix(path+"."+clip.Text(name), ".") }

// fieldSearch collects up to most unknown fields.
type fieldSearch struct {
	most int
	// fold ignores case.
	fold  bool
	found []*UnknownFieldError
}

func (s *fieldSearch) searchValue(path string, raw []byte, t reflect.Type) {
	for t.Kind() == reflect.Pointer && !decodesItself(t) {
		t = t.Elem()
	}
	switch {
	case decodesItself(t) || decodesItself(reflect.PointerTo(t)):
	case t.Kind() == reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return // the decoder reports the error
		}
		for i, element := range list {
			if s.searchValue(fmt.Sprintf("%s[%d]", path, i), element, t.Elem()); len(s.found) >= s.most {
				return
			}
		}
	case t.Kind() == reflect.Struct:
		s.searchObject(path, raw, t)
	}
}

func (s *fieldSearch) searchObject(path string, raw []byte, t reflect.Type) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return // the decoder reports the error
	}
	types := fieldTypes(t)
	known := slices.Sorted(maps.Keys(types))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field := name
		if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); s.fold && types[name] == nil && i >= 0 {
			field = known[i]
		}
		if unknown := UnknownName(path, field, known); unknown != nil {
			s.found = append(s.found, unknown)
		} else {
			s.searchValue(fieldPath(path, name), object[name], types[field])
		}
		if len(s.found) >= s.most {
			return
		}
	}
}

// fieldTypes returns the types of the fields of a struct by their names in JSON.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
			continue
		}
		types[cmp.Or(name, field.Name)] = field.Type
	}
	return types
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(t reflect.Type) bool {
	return t.Implements(jsonDecoder) || t.Implements(textDecoder)
}
