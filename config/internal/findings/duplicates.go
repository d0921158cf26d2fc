package findings

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
)

// OnePerPlace drops diagnostics that repeat another one at the same file position under a different
// path: a mistake in an anchored value is one mistake, however often the anchor is used.
func OnePerPlace(list diag.List) diag.List {
	type key struct {
		code    diag.Code
		message string
		span    diag.Span
	}
	seen := make(map[key]int, len(list))
	out := list[:0:0]
	for _, d := range list {
		k := key{d.Code, d.Message, d.Span}
		if i, ok := seen[k]; ok && d.Line > 0 {
			sameAgent := out[i].Agent == d.Agent
			if len(d.Related) < len(out[i].Related) {
				out[i] = d // at the agent that others inherit it from
			}
			if !sameAgent {
				out[i].Agent = ""
			}
			continue
		}
		seen[k] = len(out)
		out = append(out, d)
	}
	return out
}

// DropConsequent removes the other diagnostics of values that are invalid YAML, such as one with an
// unsupported tag, whose type is unknown.
func DropConsequent(list diag.List) diag.List {
	unreadable := map[diag.Span]bool{}
	for _, d := range list {
		if d.Code == diag.InvalidYAML {
			unreadable[d.Span] = true
		}
	}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		return d.Code != diag.InvalidYAML && d.Line > 0 && unreadable[d.Span]
	})
}
