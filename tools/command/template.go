package command

import (
	"strings"

	"github.com/agentruntime/agentruntime/tools"
)

// element is one element of the command line with placeholders for arguments. It stays one element
// however it is filled.
type element struct {
	parts []part
	// optional reports whether the element is left out if the argument is missing.
	optional bool
	// guarded reports that the model writes the element's beginning and nothing before it ends the
	// options: it must not begin with '-'.
	guarded bool
}

// part is a literal, or a placeholder for an argument if Name is set.
type part = tools.PlaceholderPart

const bracesHint = "for the braces themselves write {{{{ and }}}}"

// onlyName returns the name of the argument if parts are nothing else, or "".
func onlyName(parts []part) string {
	if len(parts) != 1 {
		return ""
	}
	return parts[0].Name
}

// isFixed reports whether parts have no placeholder.
func isFixed(parts []part) bool {
	return len(parts) == 0 || len(parts) == 1 && parts[0].Name == ""
}

// isOption reports whether parts are an option with its value, as in --max={{n}} and -n{{n}}.
func isOption(parts []part) bool {
	if len(parts) != 2 || parts[1].Name == "" {
		return false
	}
	name := parts[0].Literal
	return strings.HasPrefix(name, "-") && (strings.IndexByte(name, '=') == len(name)-1 || len(name) == 2 && name != "--")
}

// argumentNames returns the names of the arguments in parts.
func argumentNames(parts []part) map[string]bool {
	set := make(map[string]bool)
	for _, p := range parts {
		if p.Name != "" {
			set[p.Name] = true
		}
	}
	return set
}
