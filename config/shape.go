package config

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

// shape is the form of a Go type's values in a file.
type shape uint8

const (
	unsupportedShape shape = iota
	textShape
	boolShape
	intShape
	uintShape
	floatShape
	durationShape
	promptShape
	namesShape
	effortShape
	rawShape     // any value, kept as JSON
	anyShape     // any value, decoded from its JSON
	textualShape // a text that the type parses itself
	customShape  // any value, which the type parses itself from JSON
	pointerShape
	listShape
	mapShape
	recordShape
)

var (
	promptType   = reflect.TypeFor[spec.Prompt]()
	namesType    = reflect.TypeFor[spec.Names]()
	effortType   = reflect.TypeFor[spec.Effort]()
	durationType = reflect.TypeFor[spec.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()

	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) shape {
	switch t {
	case promptType:
		return promptShape
	case namesType:
		return namesShape
	case effortType:
		return effortShape
	case durationType, reflect.TypeFor[time.Duration]():
		return durationShape
	case rawType:
		return rawShape
	}
	if t.Kind() == reflect.Pointer {
		return pointerShape
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonUnmarshaler):
		return customShape
	case p.Implements(textUnmarshaler):
		return textualShape
	}
	return plainShape(t)
}

func plainShape(t reflect.Type) shape {
	switch t.Kind() {
	case reflect.String:
		return textShape
	case reflect.Bool:
		return boolShape
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intShape
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintShape
	case reflect.Float32, reflect.Float64:
		return floatShape
	case reflect.Slice:
		return listShape
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapShape
		}
	case reflect.Struct:
		return recordShape
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return anyShape
		}
	}
	return unsupportedShape
}

// promptFile is the other way to write a prompt.
type promptFile struct {
	File string `json:"file" required:"true" path:"read" doc:"A text file, relative to the file that names it."`
}

// effortBudget is the other way to write a reasoning effort.
type effortBudget struct {
	Budget int `json:"budget" required:"true" min:"1" doc:"Maximum number of thinking tokens."`
}
