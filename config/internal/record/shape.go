// Package record describes the records of configuration files: their fields, read from the struct
// tags that package config documents. Decoding, the JSON Schema and the reference page use it.
package record

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

// Shape is the form of a Go type's values in a file.
type Shape uint8

// The shapes. Values of UnsupportedShape cannot be set in a file.
const (
	UnsupportedShape Shape = iota
	TextShape
	BoolShape
	IntShape
	UintShape
	FloatShape
	DurationShape
	PromptShape
	NamesShape
	EffortShape
	RawShape     // any value, kept as JSON
	AnyShape     // any value, decoded from its JSON
	TextualShape // a text that the type parses itself
	CustomShape  // any value, which the type parses itself from JSON
	PointerShape
	ListShape
	MapShape
	RecordShape
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

// ShapeOf returns the shape of a type.
func ShapeOf(t reflect.Type) Shape {
	switch t {
	case promptType:
		return PromptShape
	case namesType:
		return NamesShape
	case effortType:
		return EffortShape
	case durationType, reflect.TypeFor[time.Duration]():
		return DurationShape
	case rawType:
		return RawShape
	}
	if t.Kind() == reflect.Pointer {
		return PointerShape
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonUnmarshaler):
		return CustomShape
	case p.Implements(textUnmarshaler):
		return TextualShape
	}
	return plainShape(t)
}

func plainShape(t reflect.Type) Shape {
	switch t.Kind() {
	case reflect.String:
		return TextShape
	case reflect.Bool:
		return BoolShape
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return IntShape
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return UintShape
	case reflect.Float32, reflect.Float64:
		return FloatShape
	case reflect.Slice:
		return ListShape
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return MapShape
		}
	case reflect.Struct:
		return RecordShape
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return AnyShape
		}
	}
	return UnsupportedShape
}

// PromptFile is the other form of a prompt: the name of a file.
type PromptFile struct {
	File string `json:"file" required:"true" path:"read" doc:"A text file, relative to the file that names it."`
}

// EffortBudget is the other form of a reasoning effort: a number of tokens.
type EffortBudget struct {
	Budget int `json:"budget" required:"true" min:"1" doc:"Maximum number of thinking tokens."`
}
