package record

import (
	"reflect"

	"github.com/agentruntime/agentruntime/spec"
)

// Kind is a component kind without its product.
type Kind struct {
	Type, Summary string
	newConfig     func() any
}

// KindsOf returns kinds without their products.
func KindsOf[S, T any](kinds []spec.Kind[S, T]) []Kind {
	list := make([]Kind, len(kinds))
	for i, k := range kinds {
		list[i] = Kind{k.Type, k.Summary, k.NewConfig}
	}
	return list
}

// Record returns the record of a kind's settings, or nil if they are not a record.
func (k Kind) Record() *Type {
	t := reflect.TypeOf(k.newConfig())
	if t == nil || t.Kind() != reflect.Pointer || ShapeOf(t.Elem()) != RecordShape {
		return nil
	}
	return Of(t.Elem())
}
