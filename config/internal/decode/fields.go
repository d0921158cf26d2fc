package decode

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// DecodeFields decodes a mapping into a struct. also is another key, already decoded by the caller.
func (d *Decoder) DecodeFields(r *record.Type, n *yamltree.Node, v reflect.Value, p *tree.Place, also string) {
	if n.Kind != yamltree.Mapping {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be a mapping, not %s", p.Label(), n.Describe(false))
		return
	}
	seen := make(map[*record.Field]*yamltree.Node, len(n.Children)/2)
	var unknown [][2]*yamltree.Node
	for key, value := range n.Pairs {
		f := r.ByName[key.Text]
		switch {
		case f == nil && key.Text == also:
		case f == nil && keys.IsExtension(key.Text):
			d.HideSecrets(value, secret.IsHiddenName(key.Text))
		case f == nil:
			unknown = append(unknown, [2]*yamltree.Node{key, value})
		case seen[f] != nil:
			first := seen[f]
			d.AddDiagnostic(diag.InvalidValue, p.Field(key.Text, key), key, "%s means the same as %s; only one of them can be given", clip.Text(key.Text), clip.Text(first.Text))
		default:
			seen[f] = key
			d.decodeField(f, key, value, v, p)
		}
	}
	variant := d.checkVariant(r, n, v, seen, p)
	for _, pair := range unknown {
		d.reportUnknownField(r, pair[0], pair[1], p, variant, also)
	}
	d.checkRequired(r, n, seen, p)
	d.checkDepending(r, n, v, p)
}

// decodeField decodes the value of a field.
func (d *Decoder) decodeField(f *record.Field, key, value *yamltree.Node, v reflect.Value, p *tree.Place) {
	at := p.Field(key.Text, key)
	target := f.ValueIn(v)
	s := record.ShapeOf(f.Type)
	if value.Kind == yamltree.Null && s != record.NamesShape {
		// An empty value equals a missing field, except for a list that distinguishes them.
		if f.Required {
			d.AddDiagnostic(diag.MissingField, at, value, "%s has no value", clip.Text(key.Text))
		}
		return
	}
	if other := f.OtherSpelling(key.Text); other != nil {
		d.Tree.AddSpelling(f.Name, other.Name)
		d.decodeUnits(*other, value, target, at)
		return
	}
	before := d.CountErrors()
	d.decodeValue(f, value, target, at)
	if f.Required && s == record.TextShape && value.Kind == yamltree.String && value.Text == "" && d.CountErrors() == before {
		d.AddDiagnostic(diag.MissingField, at, value, "%s is empty", clip.Text(key.Text))
	}
}

// checkVariant reports the fields of other variants of the record, and returns its
// variant.
func (d *Decoder) checkVariant(r *record.Type, n *yamltree.Node, v reflect.Value, seen map[*record.Field]*yamltree.Node, p *tree.Place) string {
	if r.Variant == nil {
		return ""
	}
	variant := r.Variant.ValueIn(v).String()
	if !slices.Contains(r.Variant.Enum, variant) {
		return ""
	}
	for key := range n.Pairs {
		f := r.ByName[key.Text]
		if f == nil || len(f.Of) == 0 || slices.Contains(f.Of, variant) || seen[f] != key {
			continue
		}
		d.AddDiagnostic(diag.UnknownField, p.Field(key.Text, key), key, "%s does not belong to the type %s, only to %s", clip.Text(key.Text), variant, record.Alternatives(f.Of)).
			SetHint(listAllowed(r.Names(variant)))
	}
	return variant
}

// reportUnknownField reports a key that a record does not have.
func (d *Decoder) reportUnknownField(r *record.Type, key, value *yamltree.Node, p *tree.Place, variant, also string) {
	at := p.Field(key.Text, key)
	if slices.Contains(r.LeftOut, key.Text) {
		d.AddDiagnostic(diag.UnknownField, at, key, "this program was built without the protocol %s", key.Text).SetHint(ListLinked(d.Surfaces))
		d.HideSecrets(value, secret.IsHiddenName(key.Text))
		return
	}
	found := d.AddDiagnostic(diag.UnknownField, at, key, "unknown field %q", clip.Text(key.Text))
	if found.diagnostic == nil {
		d.HideSecrets(value, secret.IsHiddenName(key.Text))
		return
	}
	names := r.Names(variant)
	if also != "" {
		names = append(names, also)
	}
	near, hint, ok := guessField(r, key.Text, names, p)
	if near == "" {
		if !ok {
			hint = listAllowed(names)
		}
		found.SetHint(hint)
		limit := value.Kind == yamltree.Int && strings.HasPrefix(key.Text, "max_")
		d.HideSecrets(value, secret.IsHiddenName(key.Text) && !limit)
		return
	}
	found.SetHint(hint)
	if f := r.ByName[near]; f != nil {
		d.addMeantField(p.Field(f.Name, nil))
		// A number for a numeric field, such as max_token: 100, is a misspelled limit.
		limit := value.Kind == yamltree.Int && (f.Type.Kind() == reflect.Int || f.Type == reflect.TypeFor[*int]())
		d.HideSecrets(value, f.Secret || secret.IsHiddenName(key.Text) && !limit)
		return
	}
	d.addMeantField(p.Field(near, nil))
}

// guessField returns the field that an unknown name probably means, and a hint; ok is false if no
// known name is similar. A name from another system takes precedence over a similar field name,
// unless the latter is closer.
func guessField(r *record.Type, name string, names []string, p *tree.Place) (field, hint string, ok bool) {
	near, isNear := nearest.Of(name, names)
	if isNear && strings.EqualFold(strings.ReplaceAll(near, "_", ""), strings.NewReplacer("_", "", "-", "").Replace(name)) {
		return near, didYouMean(near), true // the same name in another case
	}
	foreign := readForeignNames().Fields[recordKind(p, r.Go)]
	if isNear && slices.Contains(names, nearestForeign(foreign, snakeCase(name), names)) {
		return near, didYouMean(near), true
	}
	if f, ok := findForeign(foreign, name); ok && (f.Field == "" || slices.Contains(names, f.Field)) {
		return f.Field, f.hintText(), true
	}
	if isNear {
		return near, didYouMean(near), true
	}
	return "", "", false
}

func (d *Decoder) addMeantField(p *tree.Place) {
	if d.Tree.Meant == nil {
		d.Tree.Meant = map[string]bool{}
	}
	d.Tree.Meant[p.Path()] = true
}

// checkRequired reports the required fields that are missing.
func (d *Decoder) checkRequired(r *record.Type, n *yamltree.Node, seen map[*record.Field]*yamltree.Node, p *tree.Place) {
	for _, f := range r.Required {
		if seen[f] != nil {
			continue
		}
		d.reportMissingField(f.Name, n, p, f.Doc)
	}
}

// checkDepending reports missing texts that another field's value requires.
func (d *Decoder) checkDepending(r *record.Type, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	for _, f := range r.Depending {
		holds := r.ByName[f.When.Field].ValueIn(v).String() == f.When.Value
		_, written := n.FindField(f.Name)
		if holds != f.When.Negated && (written == nil || written.Kind == yamltree.Null || written.Kind == yamltree.String && written.Text == "") {
			d.reportMissingField(f.Name, n, p, f.Doc)
		}
	}
}

// reportMissingField reports a missing field at the key of its record.
func (d *Decoder) reportMissingField(name string, n *yamltree.Node, p *tree.Place, hint string) {
	at := p.Field(name, nil)
	if d.Tree.Meant[at.Path()] {
		return
	}
	if c, ok := d.Tree.Origins.Cleared[n][name]; ok {
		n = c.Key
	} else if p != nil && p.Node != nil {
		n = p.Node
	}
	d.AddDiagnostic(diag.MissingField, at, n, "%s is required", name).SetHint(hint)
}
