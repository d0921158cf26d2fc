package spec

import "strings"

// QuotePrompt returns a prompt of literal text without references.
func QuotePrompt(text string) Prompt { return Prompt(QuoteTemplate(text)) }

// HasReferences reports whether the prompt may differ from its text because it refers to variables
// or quotes something like a reference.
func (p Prompt) HasReferences() bool { return Template(p).HasReferences() }

// References returns the variables of a scope that the prompt refers to, each once, in order of
// appearance.
func (p Prompt) References(scope Scope) []string { return Template(p).References(scope) }

// Fill returns the prompt's text with references replaced by their values. Values are not
// expanded again.
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
