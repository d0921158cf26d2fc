package vendorhttp

import "sync"

// Concessions stores the concessions C that each model needs, by model name. The names come from
// the configuration, so it stays small. It is safe for concurrent use; the zero value is empty.
type Concessions[C comparable] struct{ known sync.Map }

// Of returns the concessions to a model, the zero value for an unknown one.
func (c *Concessions[C]) Of(name string) C {
	if known, ok := c.known.Load(name); ok {
		return known.(C)
	}
	var none C
	return none
}

// Remember stores the concessions to a model.
func (c *Concessions[C]) Remember(name string, needed C) {
	if needed != c.Of(name) {
		c.known.Store(name, needed)
	}
}
