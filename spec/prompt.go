package spec

import "strings"

// A prompt refers to a variable that a turn brings as ${turn.NAME}. Before {turn. two $
// stand for one, so that $${turn.NAME} is a text.
const afterDollars = "{turn."

// QuotePrompt returns a prompt that is a text as it stands, without references.
func QuotePrompt(text string) Prompt {
	if !strings.Contains(text, "$"+afterDollars) {
		return Prompt(text)
	}
	var out strings.Builder
	for {
		at := strings.Index(text, "$"+afterDollars)
		if at < 0 {
			break
		}
		at++ // after the last $
		out.WriteString(text[:at] + trailingDollars(text[:at]) + afterDollars)
		text = text[at+len(afterDollars):]
	}
	return Prompt(out.String() + text)
}

// WithReference returns the prompt with a reference to a variable after it.
func (p Prompt) WithReference(name string) Prompt {
	return p + Prompt(trailingDollars(string(p))+"$"+afterDollars+name+"}")
}

// trailingDollars returns the $ that a text ends with.
func trailingDollars(text string) string { return text[len(strings.TrimRight(text, "$")):] }

// HasReferences reports whether the prompt may differ from its text: whether it refers to
// variables of a turn, or quotes what looks like it.
func (p Prompt) HasReferences() bool { return strings.Contains(string(p), "$"+afterDollars) }

// References returns the names of the variables that the prompt refers to, each once,
// in their order.
func (p Prompt) References() []string {
	var names []string
	seen := map[string]bool{}
	p.Fill(func(name string) string {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return ""
	})
	return names
}

// Fill returns the text of the prompt with the values of the variables in place of the
// references. What a value contains is not looked at again.
func (p Prompt) Fill(value func(name string) string) string {
	text := string(p)
	if !p.HasReferences() {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, "$"+afterDollars)
		if at < 0 {
			break
		}
		at++
		dollars := len(trailingDollars(text[:at]))
		rest := text[at+len(afterDollars):]
		name, after, closed := strings.Cut(rest, "}")
		out.WriteString(text[:at-dollars] + strings.Repeat("$", dollars/2))
		switch {
		case dollars%2 == 0:
			out.WriteString(afterDollars)
			text = rest
		case !closed || !IsVariableName(name):
			out.WriteString("$" + afterDollars)
			text = rest
		default:
			out.WriteString(value(name))
			text = after
		}
	}
	out.WriteString(text)
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
