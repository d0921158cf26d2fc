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
	// Sections are the agent sections that components of the kind claim. Only kinds
	// of plugins have any. With them a section is known that an agent has while
	// the configuration declares no plugin of the kind.
	Sections []KindSection
	// NewConfig returns a pointer to a fresh record of the kind's settings. The
	// record's fields are described by struct tags, as those of this package.
	NewConfig func() any
	// Create makes the component. It never reaches out: a dry run calls it too.
	Create func(settings S, config any) (T, error)
	// Pure is set if a component depends on its settings alone: not on what a file
	// contains, say, or on what it has learned since. When the configuration is read
	// again, such a component is kept if it is declared as before.
	Pure bool
}

// AsPure returns the kind with Pure set.
func (k Kind[S, T]) AsPure() Kind[S, T] {
	k.Pure = true
	return k
}

// KindSection is an agent section that plugins of a kind claim.
type KindSection struct {
	// Key is the name of the section.
	Key string
	// Guards is set if the section limits what an agent may do; see the field of
	// the same name of plugins.Section.
	Guards bool
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
