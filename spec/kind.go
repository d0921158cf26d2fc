package spec

import "fmt"

// Kind is one value of the type field that an entry of a registry may have,
// such as the provider type openai or the tool type http: the record of its
// settings, and how the live component is made from them. S is what the
// runtime hands to every component of the registry, T the component.
type Kind[S, T any] struct {
	// Type is the value of the type field.
	Type string
	// Summary is one sentence on what the kind is for.
	Summary string
	// NewConfig returns a pointer to a fresh record of the kind's settings. The
	// record's fields are described by struct tags, as those of this package.
	NewConfig func() any
	// Create makes the component. It never reaches out: a dry run calls it too.
	Create func(settings S, config any) (T, error)
}

// NewKind returns a kind whose settings are the record C.
func NewKind[S, T, C any](typ, summary string, create func(S, *C) (T, error)) Kind[S, T] {
	return Kind[S, T]{
		Type:      typ,
		Summary:   summary,
		NewConfig: func() any { return new(C) },
		Create: func(settings S, config any) (T, error) {
			c, ok := config.(*C)
			if !ok {
				var none T
				return none, fmt.Errorf("create %s: config is a %T, want %T", typ, config, c)
			}
			return create(settings, c)
		},
	}
}
