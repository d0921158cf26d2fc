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
func (c *check) warnCycles(agents []*template, all *templates) {
	f := &cycleFinder{set: c.set, agents: all, state: make(map[string]visit)}
	for _, t := range agents {
		if len(t.calls) > 0 {
			f.searchFrom(t.agent.ID)
		}
	}
	if f.more > 0 {
		f.found[len(f.found)-1].CountMore(f.more)
	}
	c.rest = append(c.rest, f.found...)
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
	set    *registry.Set
	agents *templates
	state  map[string]visit
	path   []frame
	found  diag.List
	// more is the number of circles not in found.
	more int
}

// frame is one agent on the current path with the agents that it calls and that are left.
type frame struct {
	id    string
	calls []string
}

func (f *cycleFinder) searchFrom(root string) {
	if f.state[root] != unseen {
		return
	}
	f.pushFrame(root)
	for len(f.path) > 0 {
		top := &f.path[len(f.path)-1]
		if len(top.calls) == 0 {
			f.state[top.id] = finished
			f.path = f.path[:len(f.path)-1]
			continue
		}
		called, ok := f.set.Agent(top.calls[0])
		top.calls = top.calls[1:]
		if !ok {
			continue
		}
		switch f.state[called.ID] {
		case unseen:
			f.pushFrame(called.ID)
		case onPath:
			f.reportCycle(top.id, called.ID)
		case finished:
		}
	}
}

// pushFrame follows a delegate. A delegate whose tool the catalog drops cannot be called, so it
// closes no circle.
func (f *cycleFinder) pushFrame(id string) {
	f.state[id] = onPath
	fr := frame{id: id}
	if t, ok := f.agents.Get(id); ok {
		fr.calls = t.calls
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
	t, _ := f.agents.Get(from)
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
