package decode

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// FindKind returns the kind for an entry's type.
func (d *Decoder) FindKind(n *yamltree.Node, p *tree.Place, kinds []record.Kind) (int, bool) {
	if n.Kind != yamltree.Mapping {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be a mapping, not %s", p.Label(), n.Describe(false))
		return 0, false
	}
	types := make([]string, len(kinds))
	for i, k := range kinds {
		types[i] = k.Type
	}
	key, value := n.FindField("type")
	if value == nil || value.Kind == yamltree.Null {
		d.reportMissingType(n, p, types)
		d.HideSecrets(n, false)
		return 0, false
	}
	at := p.Field("type", key)
	text, known, ok := d.readText(record.Plain, value, at)
	if ok && known {
		for i, k := range kinds {
			if k.Type == text {
				return i, true
			}
		}
		found := d.AddDiagnostic(diag.InvalidValue, at, value, "type cannot be %q; allowed are %s", clip.Text(value.Text), record.Alternatives(types))
		if f, ok := findForeign(readForeignNames().Types[p.Parent.Key], text); ok && !slices.Contains(types, f.Field) && f.Field != "" {
			found.SetHint("")
		} else if ok {
			found.SetHint(f.hintText())
		} else if near, ok := nearest.Of(text, types); ok {
			found.SetHint(didYouMean(near))
		}
	}
	d.HideSecrets(n, false)
	return 0, false
}

// reportMissingType reports an entry without a type, and suggests a key that was probably meant as
// the type.
func (d *Decoder) reportMissingType(n *yamltree.Node, p *tree.Place, types []string) {
	for key := range n.Pairs {
		if slices.Contains(typeNames, key.Text) {
			d.AddDiagnostic(diag.UnknownField, p.Field(key.Text, key), key, "unknown field %q", clip.Text(key.Text)).SetHint("write type: " + record.Alternatives(types))
			return
		}
		if len(key.Text) > len("types") {
			continue
		}
		if near, ok := nearest.Of(key.Text, []string{"type"}); ok && key.Text != near {
			d.AddDiagnostic(diag.UnknownField, p.Field(key.Text, key), key, "unknown field %q", clip.Text(key.Text)).SetHint(didYouMean(near))
			return
		}
	}
	hint := "allowed are " + record.Alternatives(types)
	_, args := n.FindField("args")
	if p.Parent.Key == "tools" && args != nil {
		hint = "for an MCP server write type: mcp, and command: [program, argument] instead of command and args"
	}
	d.reportMissingField("type", n, p, hint)
}

// typeNames are other systems' names for the type of a component.
var typeNames = []string{"kind", "provider", "vendor", "driver", "class", "transport"}
