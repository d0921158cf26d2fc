package spec

import (
	"encoding/json"
	"reflect"
)

// Clone returns a copy of a that shares nothing with it but the bytes of
// sections and options, which are never modified.
func (a *Agent) Clone() *Agent { return clone(a) }

// Clone returns a copy of m that shares nothing with it.
func (m *Model) Clone() *Model { return clone(m) }

// Clone returns a copy of p that shares nothing with it.
func (p *Pool) Clone() *Pool { return clone(p) }

// clone returns a copy of a record, or nil for nil. They share the bytes of JSON values.
func clone[T any](p *T) *T {
	copyReferences(reflect.ValueOf(&p).Elem())
	return p
}

// copyReferences replaces every pointer, slice and map in a value with a copy.
func copyReferences(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			copyReferences(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			copyReferences(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		if v.IsNil() || v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			copyReferences(c.Index(i))
		}
		v.Set(c)
	case reflect.Map: // its values refer to nothing but JSON
		if !v.IsNil() {
			c := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				c.SetMapIndex(key, value)
			}
			v.Set(c)
		}
	}
}
