package spec

import (
	"slices"
	"strings"
)

// Scope is the source of a variable's value.
type Scope string

// The scopes of variables whose values are known only on use.
const (
	// TurnScope has the variables passed with a turn.
	TurnScope Scope = "turn"
	// TenantScope has the variables of the turn's tenant.
	TenantScope Scope = "tenant"
)

var scopes = []Scope{TurnScope, TenantScope}

// Reference is a reference to a variable, ${turn.NAME} or ${tenant.NAME}.
type Reference struct {
	Scope Scope
	Name  string
}

// String returns the reference as it is written.
func (r Reference) String() string { return "${" + string(r.Scope) + "." + r.Name + "}" }

// ParseReference reads a reference without its braces, as in turn.NAME.
func ParseReference(text string) (Reference, bool) {
	scope, name, found := strings.Cut(text, ".")
	r := Reference{Scope(scope), name}
	return r, found && slices.Contains(scopes, r.Scope) && IsVariableName(name)
}

// Template is a text that may refer to variables. Before the {scope. of a reference, two $ stand
// for one: $${turn.NAME} is literal text.
type Template string

// TemplatePart is a text, or a reference if it has a name.
type TemplatePart struct {
	Text string
	Reference
}

// indexMark returns the position and length of the first {scope. that follows a $; at is -1 if
// absent.
func indexMark(text string) (at, length int) {
	for from := 0; ; {
		i := strings.Index(text[from:], "${")
		if i < 0 {
			return -1, 0
		}
		at = from + i + 1
		for _, scope := range scopes {
			if mark := "{" + string(scope) + "."; strings.HasPrefix(text[at:], mark) {
				return at, len(mark)
			}
		}
		from = at
	}
}

// QuoteTemplate returns a template of literal text without references.
func QuoteTemplate(text string) Template {
	var out strings.Builder
	for {
		at, length := indexMark(text)
		if at < 0 {
			break
		}
		out.WriteString(text[:at] + trailingDollars(text[:at]) + text[at:at+length])
		text = text[at+length:]
	}
	return Template(out.String() + text)
}

// WithReference returns the template with a reference to a variable appended.
func (t Template) WithReference(r Reference) Template {
	return t + Template(trailingDollars(string(t))+r.String())
}

// trailingDollars returns the $ that a text ends with.
func trailingDollars(text string) string { return text[len(strings.TrimRight(text, "$")):] }

// HasReferences reports whether the template may differ from its text because it refers to
// variables or quotes something like a reference.
func (t Template) HasReferences() bool {
	at, _ := indexMark(string(t))
	return at >= 0
}

// References returns the variables of a scope that the template refers to, each once, in order of
// appearance.
func (t Template) References(scope Scope) []string {
	var names []string
	for _, part := range t.Parts() {
		if part.Name != "" && part.Scope == scope && !slices.Contains(names, part.Name) {
			names = append(names, part.Name)
		}
	}
	return names
}

// Parts returns the texts and references that the template consists of.
func (t Template) Parts() []TemplatePart {
	var parts []TemplatePart
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, TemplatePart{Text: literal.String()})
			literal.Reset()
		}
	}
	for text := string(t); ; {
		at, length := indexMark(text)
		if at < 0 {
			literal.WriteString(text)
			flush()
			return parts
		}
		dollars := len(trailingDollars(text[:at]))
		literal.WriteString(text[:at-dollars] + strings.Repeat("$", dollars/2))
		mark, rest := text[at:at+length], text[at+length:]
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case dollars%2 == 0:
			literal.WriteString(mark)
			text = rest
		case !closed || !IsVariableName(name):
			literal.WriteString("$" + mark)
			text = rest
		default:
			flush()
			parts = append(parts, TemplatePart{Reference: Reference{Scope(mark[1 : length-1]), name}})
			text = after
		}
	}
}

// IsVariableName reports whether name is a valid variable name: letters, digits and underscores,
// not beginning with a digit.
func IsVariableName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return name != ""
}
