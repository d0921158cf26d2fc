package mcp

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/pattern"
)

// filter is a compiled ToolFilter.
type filter struct {
	// all is set if nothing but deny restricts.
	all         bool
	allow, deny []pattern.Pattern
}

// compileFilter compiles a filter; nil allows everything. Paths are below the entry.
func (f *toolFilter) compileFilter() (*filter, diag.List) {
	if f == nil {
		return &filter{all: true}, nil
	}
	var list diag.List
	compile := func(field string, sources []string) []pattern.Pattern {
		var out []pattern.Pattern
		for i, source := range sources {
			p, err := pattern.Compile(source)
			if err != nil {
				path := diag.Index(diag.Join("filter", field), i)
				list = append(list, diag.New(diag.InvalidPattern, path, "pattern %q: %v", source, err))
				continue
			}
			out = append(out, p)
		}
		return out
	}
	return &filter{all: f.Allow == nil, allow: compile("allow", f.Allow), deny: compile("deny", f.Deny)}, list
}

// allowsTool reports whether there is a tool with a name.
func (f *filter) allowsTool(name string) bool {
	matches := func(p pattern.Pattern) bool { return p.Match(name) }
	return (f.all || slices.ContainsFunc(f.allow, matches)) && !slices.ContainsFunc(f.deny, matches)
}
