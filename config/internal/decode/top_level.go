package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// WrongTop reports a top-level value of the wrong type.
func (d *Decoder) WrongTop(key, value *yamltree.Node, want string) {
	d.Partial = true
	d.AddDiagnostic(diag.InvalidValue, tree.TopField(key.Text, key), value, "%s must be %s, not %s", key.Text, want, value.Describe(false)).SetHint(formOf(key.Text, value))
}

// UnknownTop reports an unknown top-level key.
func (d *Decoder) UnknownTop(key, value *yamltree.Node) {
	names := keys.Top()
	found := d.AddDiagnostic(diag.UnknownField, tree.TopField(key.Text, key), key, "unknown field %q", clip.Text(key.Text))
	found.SetHint(listAllowed(names))
	near, isNear := nearest.Of(key.Text, names)
	f, known := findForeign(readForeignNames().Top, key.Text)
	switch {
	case strings.HasPrefix(key.Text, "//"):
		found.SetHint("write comments with #")
	case isNear && slices.Contains(names, nearestForeign(readForeignNames().Top, snakeCase(key.Text), names)):
		found.SetHint(didYouMean(near))
	case known:
		near = f.Field
		found.SetHint(f.hintText())
	}
	// The definition meant for this place is missing.
	d.Partial = d.Partial || near != ""
	d.HideSecrets(value, false)
}

// UnknownPatches reports a key of patches that is not a registry.
func (d *Decoder) UnknownPatches(key, value *yamltree.Node, p *tree.Place) {
	names := append(slices.Clone(keys.Patchable), keys.AllowWidening)
	found := d.AddDiagnostic(diag.UnknownField, p, key, "unknown field %q", clip.Text(key.Text))
	found.SetHint(listAllowed(names))
	if near, ok := nearest.Of(key.Text, names); ok {
		found.SetHint(didYouMean(near))
	}
	d.HideSecrets(value, secret.IsHiddenName(key.Text))
}

// IsMapping reports whether a top-level value is a mapping, and adds a diagnostic
// if it is neither a mapping nor null.
func (d *Decoder) IsMapping(key, value *yamltree.Node) bool {
	if value.Kind != yamltree.Mapping && value.Kind != yamltree.Null {
		d.WrongTop(key, value, "a mapping")
	}
	return value.Kind == yamltree.Mapping
}

// CheckVersion reports a file with an unknown format, about which nothing else can be reported.
func (d *Decoder) CheckVersion(doc *tree.SourceFile) bool {
	supported := fmt.Sprintf("the supported version is %d: write version: %d", keys.Version, keys.Version)
	if doc.Root == nil || doc.Root.Kind == yamltree.Null {
		found := diag.New(diag.UnsupportedVersion, "version", "the file is empty; it must set the version of the file format").WithHint("%s", supported)
		found.Span = doc.SpanOf(0, 0)
		d.AddAll(doc, diag.List{found})
		return false
	}
	if doc.Root.Kind != yamltree.Mapping {
		d.AddDiagnostic(diag.InvalidValue, nil, doc.Root, "a configuration file must be a mapping, not %s", doc.Root.Describe(false))
		return false
	}
	key, value := doc.Root.FindField("version")
	if value == nil {
		d.AddAll(doc, diag.List{missingVersion(doc, supported)})
		return false
	}
	if value.Kind == yamltree.Int || value.Kind == yamltree.Float {
		if n, err := ParseNumber(value.Text); err == nil && n.asFloat() == keys.Version {
			return true
		}
	}
	found := d.AddDiagnostic(diag.UnsupportedVersion, tree.TopField("version", key), value, "version %s is not supported", describeVersion(value))
	found.SetHint(supported)
	return false
}

// missingVersion returns the diagnostic for a file without a version. Its place is the start of
// the file, or a key that other systems use instead.
func missingVersion(doc *tree.SourceFile, supported string) diag.Diagnostic {
	found := diag.New(diag.UnsupportedVersion, "version", "version is required").WithHint("%s", supported)
	found.Span = doc.SpanOf(0, 0)
	for key := range doc.Root.Pairs {
		near, isNear := nearest.Of(snakeCase(key.Text), []string{"version"})
		if f, known := findForeign(readForeignNames().Top, key.Text); isNear || known && f.Field == "version" {
			found.Span = doc.SpanOfNode(key)
			return found.WithHint("write %s: %d instead of %s", cmp.Or(near, f.Field), keys.Version, clip.Text(key.Text))
		}
	}
	return found
}

func describeVersion(n *yamltree.Node) string {
	if n.Kind == yamltree.String {
		return fmt.Sprintf("%q", clip.Text(n.Text))
	}
	if n.IsScalar() && n.Kind != yamltree.Null {
		return clip.Text(n.Text)
	}
	return "(" + n.Describe(false) + ")"
}

// formOf describes the expected form of a top-level value, using an id from the file.
func formOf(name string, value *yamltree.Node) string {
	if name == "remote_agents" {
		return "write a list: remote_agents: [{name: cloud, base_url: https://…}]"
	}
	if keys.RegistryNamed(name) == nil {
		return ""
	}
	id := "<id>"
	if len(value.Children) > 0 {
		id = cmp.Or(findEntryID(value.Children[0]), id)
	}
	return "write each entry under its id, without a dash: " + name + ": {" + id + ": {…}}"
}

// findEntryID returns the likely id of a list entry: its id or name, or its only key.
func findEntryID(entry *yamltree.Node) (id string) {
	for key, value := range entry.Pairs {
		switch {
		case (key.Text == "id" || key.Text == "name") && value.Kind == yamltree.String && len(spec.CheckID("", "", value.Text)) == 0:
			id = value.Text
		case len(entry.Children) == 2 && value.Kind == yamltree.Mapping && len(spec.CheckID("", "", key.Text)) == 0:
			id = key.Text
		}
	}
	return id
}
