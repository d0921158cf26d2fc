package spec

import "fmt"

// Kind is a value of the type field of a registry's entries, such as the provider type openai or
// the tool type http. It defines the settings record and creates the component. S is the type that
// every component of the registry receives from the runtime, T the component.
type Kind[S, T any] struct {
	// Type is the value of the type field.
	Type string
	// Summary describes the kind's purpose in one sentence.
	Summary string
	// Sections are the agent sections that components of the kind claim. Only kinds of plugins have
	// any. They make a section known even if the configuration declares no plugin of the kind.
	Sections []KindSection
	// NewConfig returns a pointer to a new settings record, whose fields have struct tags like
	// the ones in this package.
	NewConfig func() any
	// Create returns the component. It contacts nothing external: a dry run calls it too.
	Create func(settings S, config any) (T, error)
	// Pure reports whether a component depends only on its settings, and not on file contents or
	// later findings, for example. On reload such a component is kept if its settings are
	// unchanged.
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
	// Guards reports whether the section limits an agent; see plugins.Section.Guards.
	Guards bool
}

// NewKind returns a kind whose settings record is C.
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
