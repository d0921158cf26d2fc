package resolve

import (
	"sync"

	"github.com/agentruntime/agentruntime/registry"
)

// Kept returns how many things a revision keeps for those who resolve in it.
func Kept(rev *registry.Revision) int {
	x := indexOf(rev)
	n := 0
	for _, m := range []*sync.Map{&x.templates, x.kept.agentTools, x.kept.pools, x.kept.breakers, &x.suggested} {
		m.Range(func(any, any) bool { n++; return true })
	}
	for _, boxes := range x.toolboxes.all.All() {
		n += len(boxes)
	}
	if y := x.proven.Load(); y != nil {
		n += y.Len()
	}
	return n
}

// MaxSuggestions is how many answers about misspelled ids are kept.
const MaxSuggestions = maxSuggestions

// DiffAll is Diff with every agent explained anew.
var DiffAll = diffAll
