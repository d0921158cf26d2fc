package resolve

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// toolbox is a group of tools. Their set is created when the first agent that has them runs.
type toolbox struct {
	entries []*toolset.Entry
	// sum is the hash of a shared toolbox's entries.
	sum uint64
	set func() *toolset.Set
}

func newToolbox(entries []*toolset.Entry) *toolbox {
	return &toolbox{entries: entries, set: sync.OnceValue(func() *toolset.Set { return toolset.NewSet(entries) })}
}

// toolboxes holds the toolboxes of a revision, both carried over and its own, so that agents with
// the same tools share one.
type toolboxes struct {
	carried *persist.Map[uint64, []boxUse]
	mu      sync.Mutex
	own     map[uint64][]*toolbox
}

// newToolboxes returns toolboxes initialized with those carried over from another revision.
func newToolboxes(carried *persist.Map[uint64, []boxUse]) *toolboxes {
	return &toolboxes{carried: carried, own: make(map[uint64][]*toolbox)}
}

// keepOnly keeps only the toolboxes that agents have.
func (b *toolboxes) keepOnly(used *persist.Map[uint64, []boxUse]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.carried, b.own = used, make(map[uint64][]*toolbox)
}

var toolboxSeed = maphash.MakeSeed()

// shareToolbox returns the toolbox for some entries, in order.
func (b *toolboxes) shareToolbox(entries []*toolset.Entry) *toolbox {
	var h maphash.Hash
	h.SetSeed(toolboxSeed)
	for _, entry := range entries {
		maphash.WriteComparable(&h, entry)
	}
	sum := h.Sum64()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.carried != nil {
		uses, _ := b.carried.Get(sum)
		for _, use := range uses {
			if slices.Equal(use.entries, entries) {
				return use.toolbox
			}
		}
	}
	for _, box := range b.own[sum] {
		if slices.Equal(box.entries, entries) {
			return box
		}
	}
	box := newToolbox(slices.Clone(entries))
	box.sum = sum
	b.own[sum] = append(b.own[sum], box)
	return box
}
