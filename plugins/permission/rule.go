package permission

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// Rule matches tool calls. Create one with ParseRule; the zero Rule matches no call.
type Rule struct {
	tool toolPattern
	// primary is the glob over the one argument, if any: over its text, or the path or command in
	// it.
	primary *operand
	// conditions must all hold.
	conditions []condition
	// star distinguishes a rule written tool(*) from one written tool.
	star bool
}

// primaryPrefixes are the prefixes of patterns over the only argument that are not plain text
// globs.
var primaryPrefixes = map[operandKind]string{ofPath: "path:", ofCommand: "command:"}

// toolKind is how a rule names its tools; a greater one is more specific.
type toolKind uint8

const (
	byRegex toolKind = iota + 1
	byGlob
	byName
)

// toolPattern is the part of a rule that names tools.
type toolPattern struct {
	kind toolKind
	// text is the name or glob, or the expression between the slashes.
	text  string
	glob  pattern.Pattern
	regex *pattern.Regexp
}

func (t *toolPattern) matches(id string) bool {
	switch t.kind {
	case byName:
		return t.text == id
	case byGlob:
		return t.glob.Match(id)
	case byRegex:
		return t.regex.MatchString(id)
	default:
		return false
	}
}

// String returns the rule in its usual spelling, from which it can be parsed
// again.
func (r Rule) String() string {
	var b strings.Builder
	if r.tool.kind == byRegex {
		b.WriteString("/" + strings.ReplaceAll(r.tool.text, "/", `\/`) + "/")
	} else {
		b.WriteString(r.tool.text)
	}
	switch {
	case r.star:
		b.WriteString("(*)")
	case r.primary != nil:
		b.WriteString("(" + primaryPrefixes[r.primary.kind] + r.primary.text + ")")
	case len(r.conditions) > 0:
		b.WriteByte('(')
		for i := range r.conditions {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(r.conditions[i].String())
		}
		b.WriteByte(')')
	}
	return b.String()
}

// MatchesTool reports whether the rule applies to a tool, at least with some arguments.
func (r *Rule) MatchesTool(id string) bool { return r.tool.matches(id) }

// Conditional reports whether the rule has conditions on arguments.
func (r *Rule) Conditional() bool { return r.primary != nil || len(r.conditions) > 0 }

// matchesArguments reports whether the rule matches a call's arguments. A cautious rule also
// matches if the glob over the one argument matches any argument.
func (r *Rule) matchesArguments(args *arguments, cautious bool) bool {
	if r.primary != nil {
		return args.primaryFits(r.primary, cautious)
	}
	for i := range r.conditions {
		if !r.conditions[i].isMet(args, cautious) {
			return false
		}
	}
	return true
}

// specificity returns how specific the rule is: how it names tools, whether it looks at arguments,
// the number of its conditions and the precision of their operators, to be compared in this order.
func (r *Rule) specificity() []int {
	arguments, precision := 0, 0
	if r.Conditional() {
		arguments = 1
	}
	if r.primary != nil {
		precision = like.precision()
	}
	for i := range r.conditions {
		precision += r.conditions[i].op.precision()
	}
	return []int{int(r.tool.kind), arguments, len(r.conditions), precision}
}

// Matches reports whether a call is in the rule's scope. An undecidable call, such as one whose
// arguments are not an object, does not match.
func (r *Rule) Matches(tool string, arguments json.RawMessage) bool {
	if !r.MatchesTool(tool) {
		return false
	}
	if !r.Conditional() {
		return true
	}
	args, err := decodeArguments(arguments)
	return err == nil && r.matchesArguments(args, false) && args.spend(0)
}
