package agents

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// decodedState avoids decoding a state that was just encoded, which takes five times as long as the
// rest of a change. It returns the same value as decoding would, and the caller owns the value.
type decodedState[S any] struct {
	last atomic.Pointer[encodedState[S]]
}

// encodedState is a state and its encoding.
type encodedState[S any] struct {
	raw   json.RawMessage
	state S
}

// take returns a decoded state that the caller may change.
func (d *decodedState[S]) take(raw json.RawMessage) (S, error) {
	if last := d.last.Swap(nil); last != nil && bytes.Equal(last.raw, raw) {
		return last.state, nil
	}
	return decodeCustom[S](raw)
}

// copyOf returns a decoded state, and keeps it for the next change.
func (d *decodedState[S]) copyOf(raw json.RawMessage) (S, error) {
	state, err := d.take(raw)
	if err == nil {
		d.put(raw, &state)
	}
	return state, err
}

// put keeps a copy of a state whose encoding is raw, unless decoding might return
// something else.
func (d *decodedState[S]) put(raw json.RawMessage, state *S) {
	// Invalid UTF-8 is encoded with this escape sequence.
	if bytes.Contains(raw, []byte(`\ufffd`)) {
		return
	}
	next := &encodedState[S]{raw: raw}
	if copyDecoded(reflect.ValueOf(&next.state).Elem(), reflect.ValueOf(state).Elem()) {
		d.last.Store(next)
	}
}

// copyDecoded sets a zero value to the result of encoding and decoding from, which must have been
// encoded without an error. It returns false if that may not be a deep copy.
func copyDecoded(to, from reflect.Value) bool {
	kind := from.Kind()
	if kind != reflect.Interface && isEncodedOtherwise(from.Type()) {
		return false
	}
	switch kind {
	case reflect.String:
		if from.Len() == 0 && from.Type() == reflect.TypeFor[json.Number]() {
			return false // encoded as 0
		}
		to.Set(from)
		return true
	case reflect.Slice:
		return from.IsNil() || copySlice(to, from)
	case reflect.Array:
		return copyElements(to, from)
	case reflect.Map:
		return from.IsNil() || copyMap(to, from)
	case reflect.Pointer:
		return from.IsNil() || copyTarget(to, from)
	case reflect.Interface:
		return from.IsNil() || copyAny(to, from.Elem())
	case reflect.Struct:
		return copyFields(to, from)
	default: // functions and channels cannot be encoded
		to.Set(from)
		return true
	}
}

func copySlice(to, from reflect.Value) bool {
	to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
	return copyElements(to, from)
}

// copyElements copies the elements of a slice or an array.
func copyElements(to, from reflect.Value) bool {
	if isPlain(from.Type().Elem()) {
		reflect.Copy(to, from)
		return true
	}
	for i := range from.Len() {
		if !copyDecoded(to.Index(i), from.Index(i)) {
			return false
		}
	}
	return true
}

func copyMap(to, from reflect.Value) bool {
	t := from.Type()
	if isEncodedOtherwise(t.Key()) {
		return false
	}
	to.Set(reflect.MakeMapWithSize(t, from.Len()))
	for members := from.MapRange(); members.Next(); {
		value := reflect.New(t.Elem()).Elem()
		if !copyDecoded(value, members.Value()) {
			return false
		}
		to.SetMapIndex(members.Key(), value)
	}
	return true
}

// copyTarget copies the target of a pointer.
func copyTarget(to, from reflect.Value) bool {
	if isNil(from.Elem()) {
		return false // both are encoded as null
	}
	to.Set(reflect.New(from.Type().Elem()))
	return copyDecoded(to.Elem(), from.Elem())
}

// copyAny copies the value of an interface if it has a type that decoding produces.
func copyAny(to, from reflect.Value) bool {
	switch from.Type() {
	case reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[json.Number](),
		reflect.TypeFor[map[string]any](), reflect.TypeFor[[]any]():
	default:
		return false
	}
	value := reflect.New(from.Type()).Elem()
	if isNil(from) || to.NumMethod() > 0 || !copyDecoded(value, from) {
		return false
	}
	to.Set(value)
	return true
}

func copyFields(to, from reflect.Value) bool {
	if isPlain(from.Type()) {
		to.Set(from)
		return true
	}
	fields := fieldsOf(from.Type())
	if fields == nil {
		return false
	}
	for i, omitted := range fields {
		field := from.Field(i)
		if omitted && field.Len() == 0 && !isNil(field) || !copyDecoded(to.Field(i), field) {
			return false
		}
	}
	return true
}

// isNil reports whether a value is a nil of any nilable kind.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return v.IsNil()
	default:
		return false
	}
}

// encodedTypes are the interfaces that customize encoding.
var encodedTypes = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

// typeFacts holds the facts about a type that copyDecoded needs.
type typeFacts struct {
	// otherwise is set if the type customizes its encoding, plain if its values share nothing
	// mutable and decode to themselves.
	otherwise, plain bool
	// fields are a struct's fields, true for those omitted when empty but not nil. It is nil if
	// decoding might not restore the encoded value.
	fields []bool
}

// facts has the typeFacts by type.
var facts sync.Map

func factsOf(t reflect.Type) *typeFacts {
	if known, ok := facts.Load(t); ok {
		return known.(*typeFacts) //nolint:forcetypeassert // only these are stored
	}
	f := &typeFacts{}
	for _, encoded := range encodedTypes {
		f.otherwise = f.otherwise || t.Implements(encoded) || reflect.PointerTo(t).Implements(encoded)
	}
	if t.Kind() == reflect.Struct {
		f.fields = listFields(t)
	}
	f.plain = !f.otherwise && findPlain(t, f.fields)
	facts.Store(t, f)
	return f
}

func isEncodedOtherwise(t reflect.Type) bool { return factsOf(t).otherwise }

func isPlain(t reflect.Type) bool { return factsOf(t).plain }

func fieldsOf(t reflect.Type) []bool { return factsOf(t).fields }

// findPlain reports whether values of a type share nothing mutable.
func findPlain(t reflect.Type, fields []bool) bool {
	switch t.Kind() {
	case reflect.Array:
		return isPlain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return fields != nil
	case reflect.String:
		return t != reflect.TypeFor[json.Number]()
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan:
		return false
	default:
		return true
	}
}

// listFields returns the fields of a struct, as in typeFacts.
func listFields(t reflect.Type) []bool {
	fields, names := make([]bool, t.NumField()), make(map[string]bool)
	for i := range fields {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if !field.IsExported() || field.Anonymous || names[strings.ToLower(name)] || !isName(name) {
			return nil
		}
		names[strings.ToLower(name)] = true
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				fields[i] = field.Type.Kind() == reflect.Slice || field.Type.Kind() == reflect.Map
			case "":
			default: // a type may define its own zero values, and more
				return nil
			}
		}
	}
	return fields
}

// isName reports whether a tag's name is certain to be accepted as a field name.
func isName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && name != "-"
}

// decodeCustom decodes a custom state. Numbers in an any keep their spelling, as json.Number.
func decodeCustom[S any](raw json.RawMessage) (S, error) {
	var state S
	if len(raw) == 0 {
		return state, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&state); err != nil {
		return state, fmt.Errorf("decode the custom state as %T: %w", state, err)
	}
	return state, nil
}
