package resolve

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/tools/toolset"
)

// toolbox is tools that belong together. The set of them is made when the first
// agent that has them runs.
type toolbox struct {
	entries []*toolset.Entry
	set     func() *toolset.Set
}

func newToolbox(entries []*toolset.Entry) *toolbox {
	return &toolbox{entries: entries, set: sync.OnceValue(func() *toolset.Set { return toolset.NewSet(entries) })}
}

// toolboxes keeps the toolboxes of a revision, so that agents with the same
// tools share one.
type toolboxes struct {
	seed maphash.Seed
	mu   sync.Mutex
	all  map[uint64][]*toolbox
}

func newToolboxes() *toolboxes {
	return &toolboxes{seed: maphash.MakeSeed(), all: make(map[uint64][]*toolbox)}
}

// shareToolbox returns the toolbox of some entries, in their order.
func (b *toolboxes) shareToolbox(entries []*toolset.Entry) *toolbox {
	var h maphash.Hash
	h.SetSeed(b.seed)
	for _, entry := range entries {
		maphash.WriteComparable(&h, entry)
	}
	sum := h.Sum64()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, box := range b.all[sum] {
		if slices.Equal(box.entries, entries) {
			return box
		}
	}
	box := newToolbox(slices.Clone(entries))
	b.all[sum] = append(b.all[sum], box)
	return box
}
