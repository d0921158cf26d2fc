package command

import (
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/tools"
)

// element is one element of the command line, with places for arguments. However
// it is filled, it stays one element.
type element struct {
	parts []part
	// optional says that the element is left out when the argument is missing.
	optional bool
	// guarded says that what stands at its beginning comes from the model, and
	// nothing before it ends the options: it must not begin with '-'.
	guarded bool
}

// part is a literal, or the place of an argument when name is set.
type part struct{ literal, name string }

// The errors do not repeat the text: it may be a secret.
var (
	errPlaceholder = errors.New("a placeholder is written {{name}}, its name of letters, digits, '_', '-' and '.'")
	errBraces      = errors.New("}} has no {{ before it")
)

const bracesHint = "for the braces themselves write {{{{ and }}}}"

// parseElement splits an element at its placeholders. Four braces stand for two.
// Single braces are text, also when they meet, as long as they are closed: jq
// and awk have programs like {a:{b:1}}.
func parseElement(text string) ([]part, error) {
	var parts []part
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, part{literal: literal.String()})
			literal.Reset()
		}
	}
	for depth := 0; text != ""; {
		switch {
		case strings.HasPrefix(text, "{{{{"):
			literal.WriteString("{{")
			text = text[4:]
		case strings.HasPrefix(text, "{{"):
			inside, rest, closed := strings.Cut(text[2:], "}}")
			name := strings.Trim(inside, " ")
			if !closed || !tools.IsPlaceholderName(name) {
				return nil, errPlaceholder
			}
			flush()
			parts, text = append(parts, part{name: name}), rest
		case depth == 0 && strings.HasPrefix(text, "}}}}"):
			literal.WriteString("}}")
			text = text[4:]
		case depth < 2 && strings.HasPrefix(text, "}}"):
			return nil, errBraces
		default:
			switch text[0] {
			case '{':
				depth++
			case '}':
				depth = max(depth-1, 0)
			}
			literal.WriteByte(text[0])
			text = text[1:]
		}
	}
	flush()
	return parts, nil
}

// only returns the name of the argument that parts consist of, or "".
func only(parts []part) string {
	if len(parts) != 1 {
		return ""
	}
	return parts[0].name
}

// isFixed reports whether parts have no placeholder.
func isFixed(parts []part) bool {
	return len(parts) == 0 || len(parts) == 1 && parts[0].name == ""
}

// isOption reports whether parts are the name of an option and its value, as in
// --max={{n}} and -n{{n}}.
func isOption(parts []part) bool {
	if len(parts) != 2 || parts[1].name == "" {
		return false
	}
	name := parts[0].literal
	return strings.HasPrefix(name, "-") && (strings.IndexByte(name, '=') == len(name)-1 || len(name) == 2 && name != "--")
}

// names returns the names of the arguments in parts.
func names(parts []part) map[string]bool {
	set := make(map[string]bool)
	for _, p := range parts {
		if p.name != "" {
			set[p.name] = true
		}
	}
	return set
}
