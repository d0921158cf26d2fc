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
	"sync"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// UnknownFieldError reports a request body field that is not in its type.
type UnknownFieldError struct {
	// Path is the path of the field, and Nearest the known field with the most
	// similar name, if any.
	Path, Nearest string
}

// Error names the field.
func (e *UnknownFieldError) Error() string { return e.Path + ": " + e.problem() }

// problem returns the error text without the path.
func (e *UnknownFieldError) problem() string {
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

// checkFields returns the first field of valid JSON that a value of the type of
// into does not have, as an *UnknownFieldError. Unlike UnknownFields it is
// case-sensitive.
func checkFields(body []byte, into any) error {
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
	t = elementOf(t)
	switch {
	case decodesItself(t) || decodesItself(reflect.PointerTo(t)):
	case t.Kind() == reflect.Slice:
		var list []json.RawMessage
		if !hasFields(t.Elem()) || json.Unmarshal(raw, &list) != nil {
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
	known := fieldsOf(t)
	var names []string
	for name := range object {
		if field := s.fieldType(known, name); field == nil || hasFields(field) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if field := s.fieldType(known, name); field != nil {
			s.searchValue(fieldPath(path, name), object[name], field)
		} else {
			s.found = append(s.found, UnknownName(path, name, known.names))
		}
		if len(s.found) >= s.most {
			return
		}
	}
}

// fieldType returns the type of a field, or nil if it is unknown.
func (s *fieldSearch) fieldType(known *fields, name string) reflect.Type {
	if field := known.types[name]; field != nil || !s.fold {
		return field
	}
	if i := slices.IndexFunc(known.names, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return known.types[known.names[i]]
	}
	return nil
}

// fields are a struct's JSON fields: types by name, and sorted names.
type fields struct {
	types map[string]reflect.Type
	names []string
}

// knownFields caches the *fields of each inspected struct.
var knownFields sync.Map

// fieldsOf returns the fields of a struct.
func fieldsOf(t reflect.Type) *fields {
	if known, ok := knownFields.Load(t); ok {
		return known.(*fields) //nolint:forcetypeassert // only fieldsOf stores
	}
	f := &fields{types: make(map[string]reflect.Type)}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
			continue
		}
		f.types[cmp.Or(name, field.Name)] = field.Type
	}
	f.names = slices.Sorted(maps.Keys(f.types))
	knownFields.Store(t, f)
	return f
}

// hasFields reports whether values of a type are or contain structs whose fields are checked.
func hasFields(t reflect.Type) bool {
	t = elementOf(t)
	switch t.Kind() {
	case reflect.Slice:
		return !decodesItself(t) && !decodesItself(reflect.PointerTo(t)) && hasFields(t.Elem())
	case reflect.Struct:
		return !decodesItself(t) && !decodesItself(reflect.PointerTo(t))
	default:
		return false
	}
}

// elementOf returns the type a pointer points to, unless it decodes itself.
func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer && !decodesItself(t) {
		t = t.Elem()
	}
	return t
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(t reflect.Type) bool {
	return t.Implements(jsonDecoder) || t.Implements(textDecoder)
}
