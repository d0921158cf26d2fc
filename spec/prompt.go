package spec

import "strings"

// QuotePrompt returns a prompt that is a text as it stands, without references.
func QuotePrompt(text string) Prompt { return Prompt(QuoteTemplate(text)) }

// WithReference returns the prompt with a reference to a variable after it.
func (p Prompt) WithReference(r Reference) Prompt { return Prompt(Template(p).WithReference(r)) }

// HasReferences reports whether the prompt may differ from its text: whether it refers to
// variables, or quotes what looks like it.
func (p Prompt) HasReferences() bool { return Template(p).HasReferences() }

// References returns the variables of a scope that the prompt refers to, each once, in
// their order.
func (p Prompt) References(scope Scope) []string { return Template(p).References(scope) }

// Fill returns the text of the prompt with the values of the variables in place of the
// references. What a value contains is not looked at again.
func (p Prompt) Fill(value func(r Reference) string) string {
	if !p.HasReferences() {
		return string(p)
	}
	var out strings.Builder
	for _, part := range Template(p).Parts() {
		if part.Name == "" {
			out.WriteString(part.Text)
		} else {
			out.WriteString(value(part.Reference))
		}
	}
	return out.String()
}

// IsVariableName reports whether a name can be that of a variable: letters, digits and
// underscores, without a digit at the beginning.
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
