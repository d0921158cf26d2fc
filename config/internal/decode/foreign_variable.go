package decode

import (
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// A foreignSpelling is the syntax of variables in another system. The group of each expression is
// the variable's name.
type foreignSpelling struct {
	// whole matches a text that consists of one variable; inside finds one in a longer text. There,
	// a shell's $NAME counts only in capitals, because passwords and addresses contain other forms.
	whole, inside *regexp.Regexp
}

// foreignSpellings are the reference syntaxes of shells, Windows, Kubernetes and template
// systems.
var foreignSpellings = []foreignSpelling{
	spelledAs(`\$([A-Za-z_]\w*)`, `(?:^|[^$\w])\$([A-Z][A-Z0-9_]+)(?:[^\w({]|$)`),
	spelledAs(`%([A-Za-z_]\w*)%`, `%([A-Z][A-Z_]*[G-Z_][A-Z0-9_]*)%`),
	spelledAs(`\$\(([A-Za-z_]\w*)\)`, ""),
	spelledAs(`\{\{\s*(?:\.|[$.]?(?:[eE]nv|ENV|vars|secrets)[. ]\s*"?)([A-Za-z_]\w*)"?\s*\}\}`, ""),
	spelledAs(`os\.environ/([A-Za-z_]\w*)`, ""),
}

func spelledAs(whole, inside string) foreignSpelling {
	if inside == "" {
		inside = whole
	}
	return foreignSpelling{regexp.MustCompile(`^\s*` + whole + `\s*$`), regexp.MustCompile(inside)}
}

// urlName matches the names of fields that hold an address.
var urlName = regexp.MustCompile(`(?i)(^|_)(url|uri|dsn)$`)

// shellName matches a variable's name in a form that no ordinary word has.
var shellName = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// checkSpelling reports a reference in another system's syntax, which is not expanded. In a secret
// or an address, which would be sent literally, this is an error; elsewhere it is a warning if the
// text has nothing else. It returns whether there is an error.
func (d *Decoder) checkSpelling(kind sensitivity, n *yamltree.Node, p *tree.Place) bool {
	if !strings.ContainsAny(n.Text, "$%{/") {
		return false
	}
	exact := kind == credential || kind == listed || p != nil && urlName.MatchString(p.Key)
	for _, s := range foreignSpellings {
		if m := s.whole.FindStringSubmatch(n.Text); m != nil && (exact || shellName.MatchString(m[1])) {
			return d.reportSpelling(exact, m[1], n, p)
		}
		if !exact {
			continue
		}
		if m := s.inside.FindStringSubmatch(n.Text); m != nil {
			return d.reportSpelling(exact, m[1], n, p)
		}
	}
	return false
}

// reportSpelling never prints a text that may be a secret: it shows a name only if it looks like a
// variable's name.
func (d *Decoder) reportSpelling(exact bool, name string, n *yamltree.Node, p *tree.Place) bool {
	if !shellName.MatchString(name) {
		name = "NAME"
	}
	found := diag.New(diag.NoEffect, p.Path(), "%s contains a variable in another system's syntax; it is not expanded", p.Label())
	if exact {
		found = diag.New(diag.InvalidValue, p.Path(), "%s contains a variable in another system's syntax; it would be used literally", p.Label())
	}
	hint := "write ${%s}"
	if strings.Contains(n.Text, "$") {
		hint += "; a plain $ is written $$"
	}
	d.AddFinding(found.WithHint(hint, name), n)
	return exact
}
