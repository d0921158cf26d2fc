package server

import (
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

// UnknownFieldError says that the body of a request has a field that its type does
// not have.
type UnknownFieldError struct {
	// Path is where the field stands, and Nearest the field that may be meant; empty
	// when none is near.
	Path, Nearest string
}

// Error names the field.
func (e *UnknownFieldError) Error() string { return e.Path + ": " + e.Problem() }

// Problem says what is wrong, without the path.
func (e *UnknownFieldError) Problem() string {
	if e.Nearest == "" {
		return "there is no such field"
	}
	return fmt.Sprintf("there is no such field; did you mean %q?", e.Nearest)
}

// CheckFields returns an *UnknownFieldError when an object in valid JSON has a field
// that the value, a pointer to a struct, does not have. Unlike encoding/json it tells
// upper from lower case. Values that decode themselves are left to do so.
func CheckFields(body []byte, into any) error {
	return checkFields("", body, reflect.TypeOf(into))
}

func checkFields(path string, raw []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer && !decodesItself(t) {
		t = t.Elem()
	}
	switch {
	case decodesItself(t) || decodesItself(reflect.PointerTo(t)):
		return nil
	case t.Kind() == reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil // the decoder tells what is wrong
		}
		for i, element := range list {
			if err := checkFields(fmt.Sprintf("%s[%d]", path, i), element, t.Elem()); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Struct:
		return checkStruct(path, raw, t)
	}
	return nil
}

func checkStruct(path string, raw []byte, t reflect.Type) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil // the decoder tells what is wrong
	}
	known := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		known[name] = field.Type
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := strings.TrimPrefix(path+"."+clip.Text(name), ".")
		field, ok := known[name]
		if !ok {
			near, _ := nearest.Of(name, slices.Sorted(maps.Keys(known)))
			return &UnknownFieldError{Path: at, Nearest: near}
		}
		if err := checkFields(at, object[name], field); err != nil {
			return err
		}
	}
	return nil
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(t reflect.Type) bool {
	return t.Implements(jsonDecoder) || t.Implements(textDecoder)
}
