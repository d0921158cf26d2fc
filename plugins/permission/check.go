package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/plugins"
)

// CheckSchemas checks the conditions of the rules against the tools' schemas.
func (g *gate) CheckSchemas(list []plugins.ToolSchema) (found diag.List) {
	shapes := make(shapes)
	for i := range g.policy.entries {
		e := &g.policy.entries[i]
		for _, d := range e.checkSchemas(list, shapes) {
			d.Path = e.path
			found = append(found, d)
		}
	}
	return found
}

// CheckSchemas reports conditions that do not fit the arguments of any tool that the rule matches.
// The diagnostics have no path. A tool without parameters accepts any arguments.
func (r *Rule) CheckSchemas(list []plugins.ToolSchema) diag.List {
	return r.checkSchemas(list, make(shapes))
}

// shapes caches the shapes of tools' arguments by tool ID.
type shapes map[string]shape

func (r *Rule) checkSchemas(list []plugins.ToolSchema, known shapes) (found diag.List) {
	if len(r.conditions) == 0 && (r.primary == nil || r.primary.kind == ofGlob) {
		return nil
	}
	for i := range list {
		if !r.MatchesTool(list[i].ID) {
			continue
		}
		s, ok := known[list[i].ID]
		if !ok {
			s = newShape(list[i].Parameters)
			known[list[i].ID] = s
		}
		wrong := r.checkShape(list[i].ID, s)
		if wrong == nil {
			return nil
		}
		if found == nil {
			found = wrong
		}
	}
	return found
}

// checkShape reports the rule's conditions that do not fit a tool's arguments.
func (r *Rule) checkShape(tool string, s shape) (found diag.List) {
	if r.primary != nil {
		if names := s.propertyNames(); len(names) > 1 {
			return diag.List{asWarning(diag.New(diag.InvalidCondition, "", "tool %q takes several arguments, so that %s fits each of them, or none", tool, primaryPrefixes[r.primary.kind]).
				WithHint("name the intended one: %s(%s ~ %s)", tool, names[0], r.primary))}
		}
		return nil
	}
	for i := range r.conditions {
		if d := r.conditions[i].checkPath(tool, s); d != nil {
			found = append(found, *d)
		}
	}
	return found
}

// checkPath reports a path that leads nowhere, and a value whose kind the tool does not accept
// there.
func (c *condition) checkPath(tool string, s shape) *diag.Diagnostic {
	for i, at := range c.path {
		next, ok := s.followStep(at)
		if ok {
			s = next
			continue
		}
		d := diag.New(diag.InvalidCondition, "", "the condition on %s looks at %q, which tool %q does not have", c.path, c.path[:i+1], tool)
		if at.kind == toKey {
			if near, known := nearest.Of(at.key, s.propertyNames()); known {
				d = d.WithHint("did you mean %q?", append(slices.Clone(c.path[:i]), step{kind: toKey, key: near}))
			} else if names := s.propertyNames(); len(names) > 0 {
				d = d.WithHint("it has %s", strings.Join(names, ", "))
			}
		}
		if at.kind == toKey && !s.isClosed() {
			d = asWarning(d)
		}
		return &d
	}
	return c.checkKind(tool, s)
}

// asWarning returns a diagnostic as a warning: the tool may accept more than its schema lists, and
// the rule fails closed.
func asWarning(d diag.Diagnostic) diag.Diagnostic {
	d.Severity = diag.Warning
	return d
}

// checkKind reports values that the tool never accepts at the path.
func (c *condition) checkKind(tool string, s shape) *diag.Diagnostic {
	types := s.allowedTypes()
	if types == nil {
		return nil
	}
	for _, wanted := range c.comparableTypes() {
		if slices.ContainsFunc(wanted, func(kind string) bool { return slices.Contains(types, kind) }) {
			continue
		}
		d := diag.New(diag.InvalidCondition, "", "the condition %s compares with %s, but %s of tool %q is %s",
			c, withArticle(wanted[0]), c.path, tool, withArticle(strings.Join(types, " or ")))
		return &d
	}
	return c.checkChoice(tool, s)
}

// checkChoice reports a text that the tool does not accept.
func (c *condition) checkChoice(tool string, s shape) *diag.Diagnostic {
	allowed := s.allowedTexts()
	if allowed == nil || !slices.Contains([]operator{same, equal, notEqual, among}, c.op) {
		return nil
	}
	values := []operand{c.value}
	if c.op == among {
		values = c.value.list
	}
	for i := range values {
		if values[i].kind != ofText || slices.Contains(allowed, values[i].text) {
			continue
		}
		d := diag.New(diag.InvalidCondition, "", "the condition %s compares with %s, which %s of tool %q never is", c, &values[i], c.path, tool)
		quoted := make([]string, len(allowed))
		for j, text := range allowed {
			quoted[j] = quoteText(text)
		}
		d = d.WithHint("it is one of %s", strings.Join(quoted, ", ")).WithNearest(values[i].text, allowed)
		return &d
	}
	return nil
}

// comparableTypes returns, for each operand value of the condition, the JSON types that it can be
// compared with; empty for any type.
func (c *condition) comparableTypes() [][]string {
	values := []operand{c.value}
	if c.value.kind == ofList {
		values = c.value.list
	}
	var all [][]string
	for i := range values {
		switch o := &values[i]; o.kind {
		case ofNumber:
			all = append(all, []string{"number", "integer"})
		case ofBoolean:
			all = append(all, []string{"boolean"})
		case ofNull:
			all = append(all, []string{"null"})
		case ofPath, ofCommand:
			all = append(all, []string{"string"})
		case ofText:
			kinds := []string{"string"}
			if _, number := parseDecimal(json.Number(o.text)); number && c.op != same && c.op != among {
				kinds = append(kinds, "number", "integer")
			}
			if c.op != same && c.op != among {
				// Their text could always be compared.
				kinds = append(kinds, "array", "object")
				if slices.Contains([]string{"true", "false", "null"}, o.text) {
					kinds = append(kinds, "boolean", "null")
				}
			}
			all = append(all, kinds)
		}
	}
	return all
}

func withArticle(kind string) string {
	switch kind[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an " + kind
	default:
		return fmt.Sprintf("a %s", kind)
	}
}
