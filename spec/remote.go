package spec

import (
	"reflect"
	"strings"
)

// RemoteEffect is the effect of an agent's field when the agent has an endpoint. It is the value of the field's remote tag.
type RemoteEffect string

// The effects of fields.
const (
	// RemoteRead is a field that means the same as for a local agent.
	RemoteRead RemoteEffect = "read"
	// RemoteBudgets is a field that applies where the backend enforces budgets; elsewhere it is a
	// RemoteGuard.
	RemoteBudgets RemoteEffect = "budgets"
	// RemoteSections is an unused mapping in which each entry may or may not be a guard.
	RemoteSections RemoteEffect = "sections"
	// RemoteGuard is an unused field that was written to limit what the agent may do, use or
	// answer.
	RemoteGuard RemoteEffect = "guard"
	// RemoteIgnored is any other unused field.
	RemoteIgnored RemoteEffect = "ignored"
)

// RemoteField describes a field of an agent that has an endpoint.
type RemoteField struct {
	// Name is the field's name in a configuration.
	Name string
	// Effect is the effect of the field. A field without a known tag counts as RemoteGuard.
	Effect RemoteEffect
	// Set reports whether the agent has the field. An empty list or mapping
	// counts as absent, except in the catalog, where it allows nothing.
	Set bool
}

// RemoteFields returns all fields of the agent in declaration order.
func (a *Agent) RemoteFields() []RemoteField {
	v := reflect.ValueOf(a).Elem()
	visible := reflect.VisibleFields(v.Type())
	fields := make([]RemoteField, 0, len(visible))
	for i := range visible {
		f := &visible[i]
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		effect := remoteEffect(f.Tag)
		if a.Hosted() {
			effect = hostedEffect(f.Tag)
		}
		fields = append(fields, RemoteField{Name: name, Effect: effect, Set: isSet(v.FieldByIndex(f.Index))})
	}
	return fields
}

// hostedEffect returns a field's effect for an agent at a hosted provider, which is the same as
// for a local agent unless a tag changes it.
func hostedEffect(tag reflect.StructTag) RemoteEffect {
	if e, ok := tag.Lookup("hosted"); ok {
		return RemoteEffect(e)
	}
	return RemoteRead
}

func remoteEffect(tag reflect.StructTag) RemoteEffect {
	switch e := RemoteEffect(tag.Get("remote")); e {
	case RemoteRead, RemoteBudgets, RemoteSections, RemoteIgnored:
		return e
	default:
		return RemoteGuard
	}
}

func isSet(v reflect.Value) bool {
	switch {
	case v.Type() == reflect.TypeFor[Names]():
		return !v.IsNil()
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}
