package vendorhttp

import (
	"runtime"
	"sync"
	"weak"

	"github.com/agentruntime/agentruntime/model"
)

// ToolCache keeps the vendor's form V of tool sets in use, because a conversation sends the same
// set many times. Sets are identified by memory address; the keys are weak, so an entry is removed
// with its set. It is safe for concurrent use. Make it with NewToolCache.
type ToolCache[V any] struct {
	encode func([]model.Tool) (V, error)
	sets   sync.Map // of toolSet to V
}

type toolSet struct {
	first weak.Pointer[model.Tool]
	size  int
}

// NewToolCache returns a cache of encode's results for non-empty tool sets. A result must not
// refer to the set.
func NewToolCache[V any](encode func([]model.Tool) (V, error)) *ToolCache[V] {
	return &ToolCache[V]{encode: encode}
}

// Encoded returns the vendor's form of a set, the zero value for an empty one.
// It is shared and must not be changed.
func (c *ToolCache[V]) Encoded(tools []model.Tool) (V, error) {
	if len(tools) == 0 {
		var none V
		return none, nil
	}
	key := toolSet{first: weak.Make(&tools[0]), size: len(tools)}
	if known, ok := c.sets.Load(key); ok {
		return known.(V), nil
	}
	fresh, err := c.encode(tools)
	if err != nil {
		return fresh, err
	}
	if _, loaded := c.sets.LoadOrStore(key, fresh); !loaded {
		runtime.AddCleanup(&tools[0], func(key toolSet) { c.sets.Delete(key) }, key)
	}
	return fresh, nil
}
