package decode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// promptScopes are the scopes of variables allowed in prompts, tenantScopes those allowed in other
// fields.
var (
	promptScopes = []spec.Scope{spec.TurnScope, spec.TenantScope}
	tenantScopes = []spec.Scope{spec.TenantScope}
)

// reportMismatch reports a value of the wrong type.
func (d *Decoder) reportMismatch(f *record.Field, n *yamltree.Node, p *tree.Place, want string) Reported {
	found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be %s, not %s", p.Label(), want, n.Describe(f.Secret))
	if f.Secret {
		d.HideSecrets(n, true)
	}
	return found
}

// readText returns the expanded text of a value. ok is false if the value is not a text or cannot
// be expanded. known is false if a variable is unset, so that the text cannot be checked.
func (d *Decoder) readText(f *record.Field, n *yamltree.Node, p *tree.Place) (text string, known, ok bool) {
	switch n.Kind {
	case yamltree.String:
	case yamltree.Bool, yamltree.Int, yamltree.Float:
		found := d.reportMismatch(f, n, p, "a text")
		switch {
		case f.Secret:
			found.SetHint("write it in quotes")
		case n.Kind == yamltree.Int && p != nil && strings.HasSuffix(p.Key, "listen"):
			found.SetHint("write host:port, such as \"127.0.0.1:" + clip.Text(n.Text) + "\"")
		default:
			found.SetHint(fmt.Sprintf("write it in quotes: %q", clip.Text(n.Text)))
		}
		return "", false, false
	default:
		d.reportMismatch(f, n, p, "a text")
		return "", false, false
	}
	text, known, ok = d.expandText(sensitivityOf(f, p), n, p)
	if f.Query && ok && !secret.IsReference(n.Text) {
		d.AddSecret(n)
	}
	if f.Secret && ok {
		d.Tree.Redactor.AddSecret(text)
		d.AddSecret(n)
	}
	return text, known, ok
}

// expandText expands a node's text and checks the text as written.
func (d *Decoder) expandText(kind sensitivity, n *yamltree.Node, p *tree.Place) (text string, known, ok bool) {
	if d.checkSpelling(kind, n, p) {
		return "", false, false
	}
	d.checkPlainSecret(kind, n, p)
	if kind != ordinary {
		d.Tree.Noted.Of(n).IsSecret = true
	}
	if strings.IndexByte(n.Text, '$') < 0 {
		return n.Text, true, true
	}
	x := d.Expander.Expand(n.Text, d.Tree.DirOf(n))
	for _, hidden := range x.Hidden {
		d.Tree.Redactor.AddValue(hidden)
	}
	if x.Err != nil {
		found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), x.Err)
		if x.Meant != "" {
			found.SetHint("write ${" + x.Meant + "}")
		}
		return "", false, false
	}
	for i, name := range x.Unset {
		if slices.Contains(x.Unset[:i], name) {
			continue
		}
		found := diag.New(diag.UnsetVariable, p.Path(), "the variable %s is not set", name).
			WithHint("set it, or write ${%s:-default}%s", name, argumentHint(p, name))
		if d.Strict {
			found.Severity = diag.Error
		}
		d.AddFinding(found, n)
	}
	if kind == credential && isQuoted(x.Text) {
		d.AddFinding(diag.New(diag.InvalidValue, p.Path(), "the variable in %s has quotes around its value, which are sent with it", p.Label()).
			WithSeverity(diag.Warning).WithHint("remove the quotes from the environment"), n)
	}
	return x.Text, len(x.Unset) == 0, true
}

// argumentHint continues the hint about an unset variable in a tool, where the author may have
// meant a call argument.
func argumentHint(p *tree.Place, name string) string {
	if !strings.HasPrefix(p.Path(), "tools.") || strings.ToLower(name) != name {
		return ""
	}
	return "; an argument of the call is written {{" + name + "}}"
}

// isQuoted reports whether text begins and ends with the same quotation mark.
func isQuoted(text string) bool {
	end := len(text) - 1
	return end > 0 && text[0] == text[end] && (text[0] == '"' || text[0] == '\'')
}

func (d *Decoder) decodeText(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if f.Tenant {
		d.Expander.Scopes = tenantScopes
		defer func() { d.Expander.Scopes = nil }()
	}
	text, known, ok := d.readText(f, n, p)
	if !ok {
		return
	}
	if known && !d.checkText(f, n, text, p) {
		return
	}
	if f.Path {
		d.Tree.Noted.Of(n).IsPath = true
		text = expand.RelativeTo(d.Tree.DirOf(n), text)
	}
	if f.Dir && known && strings.TrimSpace(text) != "" {
		d.checkDirectory(n, text, p)
	}
	if f.Read {
		d.Tree.AddReferredFile(text)
	}
	v.SetString(text)
}

// checkText checks a text against the enum and the pattern of its field.
func (d *Decoder) checkText(f *record.Field, n *yamltree.Node, text string, p *tree.Place) bool {
	switch {
	case slices.Contains(f.LeftOut, text):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s, but this program was built without it", p.Label(), quoteValue(f, n)).SetHint(ListLinked(f.Enum))
		return false
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, text):
		found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be %s; allowed are %s", p.Label(), quoteValue(f, n), record.Alternatives(f.Enum))
		if near, ok := nearest.Of(text, f.Enum); ok {
			found.SetHint(didYouMean(near))
		}
		return false
	case f.Pattern != nil && !f.Pattern.MatchString(text):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be %s; it must match %s", p.Label(), quoteValue(f, n), f.Pattern)
		return false
	}
	return true
}

// quoteValue returns a text as written in the file.
func quoteValue(f *record.Field, n *yamltree.Node) string {
	if f.Secret {
		return "that text"
	}
	return strconv.Quote(clip.Text(n.Text))
}

// checkDirectory notes a directory that does not exist.
func (d *Decoder) checkDirectory(n *yamltree.Node, name string, p *tree.Place) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		d.AddDiagnostic(diag.MissingDirectory, p, n, "%s is %s, which is not a directory", p.Label(), strconv.Quote(clip.Text(n.Text)))
	case errors.Is(err, fs.ErrNotExist):
		d.AddDiagnostic(diag.MissingDirectory, p, n, "%s is %s, which does not exist on this machine", p.Label(), strconv.Quote(clip.Text(n.Text))).
			SetHint("create the directory, or correct the path")
	}
}
