package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
)

// DefaultDepth is the default maximum nesting depth of delegates.
const DefaultDepth = 8

// warnCycles warns about agents that can call each other in a circle, at the delegate that closes
// it. Circles beyond diag.MaxAlike are only counted.
func (c *check) warnCycles(all *resolvedAgents) {
	f := &cycleFinder{set: c.set, callers: all.callers, state: make(map[string]visit)}
	for _, t := range inOrder(c.set, all.callers) {
		f.searchFrom(t.agent.ID)
	}
	if f.more > 0 {
		f.found[len(f.found)-1].CountMore(f.more)
	}
	all.cycles = f.found
}

// visit is the visit state of an agent.
type visit uint8

const (
	unseen visit = iota
	onPath
	finished
)

// cycleFinder searches the graph of delegates depth first. The search keeps its
// own stack, because a chain of agents may be long.
type cycleFinder struct {
	set *registry.Set
	// callers are the agents that call others. The rest are in no circle.
	callers *templates
	state   map[string]visit
	path    []frame
	found   diag.List
	// more is the number of circles not in found.
	more int
}

// frame is one agent on the current path with its remaining delegates.
type frame struct {
	id        string
	delegates []string
	next      int
}

func (f *cycleFinder) searchFrom(root string) {
	if f.state[root] != unseen {
		return
	}
	f.pushFrame(root)
	for len(f.path) > 0 {
		top := &f.path[len(f.path)-1]
		if top.next == len(top.delegates) {
			f.state[top.id] = finished
			f.path = f.path[:len(f.path)-1]
			continue
		}
		id := top.delegates[top.next]
		top.next++
		switch f.state[id] {
		case unseen:
			f.pushFrame(id)
		case onPath:
			f.reportCycle(top.id, id)
		case finished:
		}
	}
}

// pushFrame follows a delegate. A delegate whose tool the catalog drops cannot be called, so it
// closes no circle.
func (f *cycleFinder) pushFrame(id string) {
	f.state[id] = onPath
	fr := frame{id: id}
	if t, ok := f.callers.Get(id); ok {
		for _, called := range t.calls {
			if target, found := f.set.Agent(called); found {
				fr.delegates = append(fr.delegates, target.ID)
			}
		}
	}
	f.path = append(f.path, fr)
}

func (f *cycleFinder) reportCycle(from, to string) {
	if len(f.found) == diag.MaxAlike {
		f.more++
		return
	}
	start := slices.IndexFunc(f.path, func(fr frame) bool { return fr.id == to })
	names := make([]string, 0, len(f.path)-start+1)
	for _, fr := range f.path[start:] {
		names = append(names, fr.id)
	}
	names = append(names, to)
	t, _ := f.callers.Get(from)
	at := slices.IndexFunc(t.agent.Delegates, func(id string) bool {
		target, ok := f.set.Agent(id)
		return ok && target.ID == to
	})
	f.found = append(f.found, diag.New(diag.DelegateCycle, t.pathOf(diag.Index("delegates", at)),
		"agents can call each other in a circle: %s", formatCircle(names)).
		WithHint("at run time a call back into the chain is refused, and so is one deeper than %d levels", DefaultDepth).
		ForAgent(from))
}

// formatCircle formats the agents of a circle on one line, omitting the middle of a long one.
func formatCircle(names []string) string {
	const begin, end = 6, 2
	if left := len(names) - begin - end; left > 1 {
		names = slices.Concat(names[:begin], []string{fmt.Sprintf("… %d more …", left)}, names[len(names)-end:])
	}
	return strings.Join(names, " → ")
}
