package resolve

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// toolboxes holds the toolboxes of a revision, so that agents with the same tools share one. The
// next revision starts with a copy.
type toolboxes struct {
	mu  sync.Mutex
	all *persist.Map[uint64, []*toolbox]
}

func newToolboxes() *toolboxes {
	return &toolboxes{all: new(persist.Map[uint64, []*toolbox])}
}

func (b *toolboxes) clone() *toolboxes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &toolboxes{all: b.all.Clone()}
}

// keepOnly keeps only the toolboxes that agents have.
func (b *toolboxes) keepOnly(agents []*template) {
	used := make(map[*toolbox]bool)
	for _, t := range agents {
		used[t.counted] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for sum, boxes := range b.all.Clone().All() {
		kept := slices.DeleteFunc(slices.Clone(boxes), func(box *toolbox) bool { return !used[box] })
		switch len(kept) {
		case len(boxes):
		case 0:
			b.all.Delete(sum)
		default:
			b.all.Set(sum, kept)
		}
	}
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
	boxes, _ := b.all.Get(sum)
	for _, box := range boxes {
		if slices.Equal(box.entries, entries) {
			return box
		}
	}
	box := newToolbox(slices.Clone(entries))
	b.all.Set(sum, append(slices.Clip(boxes), box)) // another revision may share the list
	return box
}
