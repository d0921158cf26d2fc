package resolve

import (
	"slices"
	"strings"
)

// otherTools is the field of a change that lets an agent call tools that it does not have yet, such
// as clients' tools.
const otherTools = "other tools"

// compareOtherTools compares the access to tools that the agent has in neither revision, using
// samples. It returns the first widened one, without the rule, whose pattern can be a secret.
func compareOtherTools(before, after *view) []Change {
	if before.env == nil || after.env == nil {
		return nil
	}
	old, fresh := byID(before.tools), byID(after.tools)
	var added []string
	for id := range fresh {
		if old[id] == nil {
			added = append(added, id)
		}
	}
	for _, id := range slices.Concat(before.env.SampleTools(nil), after.env.SampleTools(added)) {
		if _, registered := after.set.Tools.Get(id); registered || old[id] != nil || fresh[id] != nil || after.expectsNew(before, id) {
			continue
		}
		if w := after.env.Widening(before.env, id, true); w.Widened {
			return []Change{{Kind: Changed, Field: otherTools, Old: before.env.ToolVerdict(id).Access.String(), New: after.env.ToolVerdict(id).Access.String(), Widened: true}}
		}
	}
	return nil
}

// expectsNew reports whether a tool may belong to a bundle that only the later revision has.
func (v *view) expectsNew(before *view, id string) bool {
	for name, bundle := range v.set.Bundles.All() {
		if _, known := before.set.Bundles.Get(name); !known && strings.HasPrefix(id, bundle.Source.Prefix()) {
			return true
		}
	}
	return false
}
