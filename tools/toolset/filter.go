package toolset

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/spec"
)

// Field names one of the four fields that make up an agent's catalog.
type Field string

// The fields of a catalog.
const (
	FieldAllowedTools         Field = "allowed_tools"
	FieldAllowedToolPatterns  Field = "allowed_tool_patterns"
	FieldExcludedTools        Field = "excluded_tools"
	FieldExcludedToolPatterns Field = "excluded_tool_patterns"
)

// Filter decides which tools an agent sees: those named by an allow entry and by no exclude entry.
// If no allow field is set, it allows every tool. It is immutable.
type Filter struct {
	allowAll bool
	// Literals are compared and patterns matched, each in the order written.
	allowed, excluded                 literals
	allowedPatterns, excludedPatterns []pattern.Pattern
}

// literals finds the position of an id in a list.
type literals struct {
	list []string
	at   map[string]int
}

func newLiterals(list []string) literals {
	l := literals{list: list}
	const worthAMap = 8
	if len(list) > worthAMap {
		l.at = make(map[string]int, len(list))
		for i := len(list) - 1; i >= 0; i-- {
			l.at[list[i]] = i
		}
	}
	return l
}

func (l literals) indexOf(id string) int {
	if l.at == nil {
		return slices.Index(l.list, id)
	}
	if i, ok := l.at[id]; ok {
		return i
	}
	return -1
}

// CompileFilter compiles the catalog of an agent. It reports invalid patterns with paths below the
// agent; they match nothing. An allow field with only invalid patterns still restricts.
func CompileFilter(agent *spec.Agent) (*Filter, diag.List) {
	c := &Filter{
		allowAll: agent.AllowedTools == nil && agent.AllowedToolPatterns == nil,
		allowed:  newLiterals(agent.AllowedTools),
		excluded: newLiterals(agent.ExcludedTools),
	}
	var list, more diag.List
	c.allowedPatterns, list = compilePatterns(FieldAllowedToolPatterns, agent.AllowedToolPatterns)
	c.excludedPatterns, more = compilePatterns(FieldExcludedToolPatterns, agent.ExcludedToolPatterns)
	return c, append(list, more...)
}

func compilePatterns(field Field, sources []string) ([]pattern.Pattern, diag.List) {
	if len(sources) == 0 {
		return nil, nil
	}
	var list diag.List
	compiled := make([]pattern.Pattern, len(sources))
	for i, source := range sources {
		p, err := pattern.Compile(source)
		if err != nil {
			list = append(list, diag.New(diag.InvalidPattern, diag.Index(string(field), i), "pattern %q%s", source, strings.TrimPrefix(err.Error(), "the pattern")))
			continue
		}
		compiled[i] = p
	}
	return compiled, list
}

// Decision is a catalog's decision about a tool, with the deciding entry.
type Decision struct {
	Visible bool `json:"visible"`
	// Field and Index name the deciding entry. Field is empty if absent: everything is allowed, or
	// nothing allows the tool.
	Field Field `json:"field,omitempty"`
	Index int   `json:"index"`
	// Entry is the text of the entry.
	Entry string `json:"entry,omitempty"`
}

// Rule describes the deciding entry for people.
func (d Decision) Rule() string {
	switch {
	case d.Field != "":
		return string(d.Field) + "[" + strconv.Itoa(d.Index) + "] " + strconv.Quote(d.Entry)
	case d.Visible:
		return "no allow field is set, so every tool is allowed"
	default:
		return "no entry of allowed_tools or allowed_tool_patterns allows it"
	}
}

// Decide reports whether the agent sees the tool with an id, and why.
func (c *Filter) Decide(id string) Decision {
	if d, ok := decideByFields(FieldExcludedTools, FieldExcludedToolPatterns, &c.excluded, c.excludedPatterns, id); ok {
		return d
	}
	if c.allowAll {
		return Decision{Visible: true}
	}
	d, ok := decideByFields(FieldAllowedTools, FieldAllowedToolPatterns, &c.allowed, c.allowedPatterns, id)
	d.Visible = ok
	return d
}

func decideByFields(literalField, patternField Field, l *literals, patterns []pattern.Pattern, id string) (Decision, bool) {
	if i := l.indexOf(id); i >= 0 {
		return Decision{Field: literalField, Index: i, Entry: l.list[i]}, true
	}
	for i := range patterns {
		if patterns[i].Match(id) {
			return Decision{Field: patternField, Index: i, Entry: patterns[i].String()}, true
		}
	}
	return Decision{}, false
}

// Concerns reports whether the existence of the tool with an id matters to the agent: an entry
// matches it, or the catalog allows every tool.
func (c *Filter) Concerns(id string) bool {
	return c.allowAll || c.Decide(id).Field != ""
}

// Unmatched returns the entries that match none of the ids, which must be
// sorted: patterns, then literals.
func (c *Filter) Unmatched(ids []string) (patterns, literal []Decision) {
	patterns = append(patterns, unmatchedPatterns(FieldAllowedToolPatterns, c.allowedPatterns, ids)...)
	patterns = append(patterns, unmatchedPatterns(FieldExcludedToolPatterns, c.excludedPatterns, ids)...)
	literal = append(literal, unmatchedLiterals(FieldAllowedTools, c.allowed.list, ids)...)
	literal = append(literal, unmatchedLiterals(FieldExcludedTools, c.excluded.list, ids)...)
	return patterns, literal
}

func unmatchedPatterns(field Field, patterns []pattern.Pattern, ids []string) []Decision {
	var out []Decision
	for i := range patterns {
		if patterns[i].String() != "" && !slices.ContainsFunc(ids, patterns[i].Match) {
			out = append(out, Decision{Field: field, Index: i, Entry: patterns[i].String()})
		}
	}
	return out
}

func unmatchedLiterals(field Field, list, ids []string) []Decision {
	var out []Decision
	for i, entry := range list {
		if _, found := slices.BinarySearch(ids, entry); !found {
			out = append(out, Decision{Field: field, Index: i, Entry: entry})
		}
	}
	return out
}
