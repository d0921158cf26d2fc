package plugins

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/diag"
)

// DecodeInto returns a decoder that decodes a section's JSON over the defaults: missing fields and
// map keys keep their default, but a list replaces the whole default list. Each agent gets a deep
// copy of everything in the defaults that JSON can reach; the copies share unexported fields,
// functions and channels.
func DecodeInto[T any](defaults T) func(raw json.RawMessage) (T, diag.List) {
	return func(raw json.RawMessage) (T, diag.List) {
		v := copyOf(defaults, copier{known: map[reference]reflect.Value{}})
		if raw == nil {
			return v, nil
		}
		bare := copyOf(defaults, copier{known: map[reference]reflect.Value{}, withoutLists: true})
		for _, into := range []*T{&v, &bare} {
			if err := json.Unmarshal(raw, into); err != nil {
				return bare, diag.List{diag.New(diag.InvalidPluginConfig, "", "the section does not decode: %v", err)}
			}
		}
		replacer{}.replaceLists(reflect.ValueOf(&v).Elem(), reflect.ValueOf(&bare).Elem())
		return v, nil
	}
}

// replacer fills a value with the lists of a bare one, into which the same JSON was decoded
// without default lists. encoding/json decodes list elements over existing ones, so an entry
// would otherwise inherit fields of an unrelated default entry. It records the pointers it has
// followed.
type replacer map[uintptr]bool

func (r replacer) replaceLists(v, bare reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if !bare.IsNil() {
			v.Set(bare)
		}
	case reflect.Interface:
		if v.Elem().Kind() == reflect.Pointer && bare.Elem().Kind() == reflect.Pointer {
			r.replaceLists(v.Elem(), bare.Elem())
		}
	case reflect.Pointer:
		if !v.IsNil() && !bare.IsNil() && !r[v.Pointer()] {
			r[v.Pointer()] = true
			r.replaceLists(v.Elem(), bare.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				r.replaceLists(v.Field(i), bare.Field(i))
			}
		}
	default:
	}
}

// copyOf returns a copy of v that shares nothing with v that decoding JSON could write to.
func copyOf[T any](v T, k copier) T {
	var c T
	k.copyValue(reflect.ValueOf(&c).Elem(), reflect.ValueOf(&v).Elem())
	return c
}

// reference is a copied pointer or map.
type reference struct {
	at  uintptr
	typ reflect.Type
}

// copier copies a value. It tracks the copies of pointers and maps, so that cycles and shared
// references are preserved in the copy.
type copier struct {
	known map[reference]reflect.Value
	// withoutLists leaves the copy's lists nil.
	withoutLists bool
}

// copyValue copies src to dst, which must be settable.
func (k copier) copyValue(dst, src reflect.Value) {
	if k.copyEncoded(dst, src) {
		return
	}
	dst.Set(src)
	switch src.Kind() {
	case reflect.Pointer, reflect.Map:
		if !src.IsNil() {
			dst.Set(k.copyReferred(src))
		}
	case reflect.Interface:
		if !src.IsNil() {
			elem := reflect.New(src.Elem().Type()).Elem()
			k.copyValue(elem, src.Elem())
			dst.Set(elem)
		}
	case reflect.Slice:
		if src.IsNil() || k.withoutLists {
			dst.SetZero()
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		fallthrough
	case reflect.Array:
		for i := range src.Len() {
			k.copyValue(dst.Index(i), src.Index(i))
		}
	case reflect.Struct:
		for i := range src.NumField() {
			k.copyField(dst.Field(i), src.Field(i), src.Type().Field(i))
		}
	default:
	}
}

// copyField copies a struct field. JSON reaches the fields of an embedded struct even if its type
// is unexported and reflect refuses to set it.
func (k copier) copyField(dst, src reflect.Value, field reflect.StructField) {
	switch {
	case field.IsExported():
		k.copyValue(dst, src)
	case field.Anonymous && src.CanAddr():
		settable := func(v reflect.Value) reflect.Value {
			return reflect.NewAt(field.Type, v.Addr().UnsafePointer()).Elem()
		}
		k.copyValue(settable(dst), settable(src))
	}
}

// copyReferred returns a copy of the target of a pointer or map.
func (k copier) copyReferred(src reflect.Value) reflect.Value {
	at := reference{src.Pointer(), src.Type()}
	if known, ok := k.known[at]; ok {
		return known
	}
	if src.Kind() == reflect.Pointer {
		c := reflect.New(src.Type().Elem())
		k.known[at] = c
		k.copyValue(c.Elem(), src.Elem())
		return c
	}
	c := reflect.MakeMapWithSize(src.Type(), src.Len())
	k.known[at] = c
	for key, value := range src.Seq2() {
		elem := reflect.New(src.Type().Elem()).Elem()
		k.copyValue(elem, value)
		c.SetMapIndex(key, elem)
	}
	return c
}

// copyEncoded copies a struct with custom JSON methods, such as big.Int, because decoding may
// write through its unexported fields. It returns false if the copy is not equal, for example for
// a time with a location.
func (k copier) copyEncoded(dst, src reflect.Value) bool {
	if src.Kind() != reflect.Struct || !src.CanAddr() {
		return false
	}
	from, to := src.Addr().Interface(), dst.Addr().Interface()
	if !copyByEncoding(from, to) || !reflect.DeepEqual(from, to) {
		dst.SetZero()
		return false
	}
	return true
}

// copyByEncoding encodes from and decodes it into to.
func copyByEncoding(from, to any) bool {
	switch to := to.(type) {
	case json.Unmarshaler:
		if from, ok := from.(json.Marshaler); ok {
			data, err := from.MarshalJSON()
			return err == nil && to.UnmarshalJSON(data) == nil
		}
	case encoding.TextUnmarshaler:
		if from, ok := from.(encoding.TextMarshaler); ok {
			data, err := from.MarshalText()
			return err == nil && to.UnmarshalText(data) == nil
		}
	}
	return false
}
