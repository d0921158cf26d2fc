package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// decoder turns trees into records. What is wrong becomes a diagnostic, and
// decoding goes on with the next value.
type decoder struct {
	file     *File
	expander expander
	strict   bool // a variable that is not set is an error
	found    diag.List
	scopes   []string // those that routes of the server need
}

// report adds a diagnostic about the value n, or the key of the place p when
// the code speaks of keys.
func (d *decoder) report(code diag.Code, p *place, n *node, format string, args ...any) reported {
	if p != nil && p.node != nil && (code.MarksKey() || n.kind == nullNode && n.text == "") {
		n = p.node // the key, also of a value that is not even written
	}
	if doc := d.file.documents[n.document]; doc.findings > maxFindings {
		doc.count(code.Info().Severity) // not worth a text
		return reported{}
	}
	return d.add(diag.New(code, p.path(), format, args...), n)
}

// add adds a diagnostic that is about n. Of one file only so many are kept.
func (d *decoder) add(found diag.Diagnostic, n *node) reported {
	doc := d.file.documents[n.document]
	if !doc.count(found.Severity) {
		if doc.omitted == nil {
			found.Span = doc.span(n)
			doc.omitted = &found
		}
		return reported{}
	}
	found.Span = doc.span(n)
	d.found = append(d.found, found)
	return reported{&d.found[len(d.found)-1]}
}

// reported is a diagnostic that was just added, to add to it at once; it is
// empty when the diagnostic was not kept.
type reported struct{ diagnostic *diag.Diagnostic }

func (r reported) hint(text string) {
	if r.diagnostic != nil {
		r.diagnostic.Hint = text
	}
}

// count counts a diagnostic and reports whether it is kept.
func (doc *document) count(severity diag.Severity) bool {
	doc.findings++
	if severity == diag.Error {
		doc.errors++
	}
	return doc.findings <= maxFindings
}

// errors returns how many errors were found so far, reported or not.
func (d *decoder) errors() int {
	n := 0
	for _, doc := range d.file.documents {
		n += doc.errors
	}
	return n
}

// exhausted reports whether a file has so many errors that reading on is of no
// use.
func (doc *document) exhausted() bool { return doc.errors > maxFindings }

// rest returns a diagnostic that stands for those that were left out.
func (doc *document) rest() diag.List {
	if doc.omitted == nil {
		return nil
	}
	d := diag.Diagnostic{Code: doc.omitted.Code, Severity: diag.Warning, Span: doc.omitted.Span}
	d.Message = fmt.Sprintf("the file has more than %d problems; those from here on are not shown", maxFindings)
	if doc.errors > 0 {
		d.Severity = diag.Error
	}
	return diag.List{d}
}

// record decodes a mapping into a struct. also is a further key that the
// caller has dealt with.
func (d *decoder) record(r *record, n *node, v reflect.Value, p *place, also string) {
	if n.kind != mappingNode {
		d.report(diag.InvalidValue, p, n, "%s must be a mapping, not %s", p.label(), describe(n, false))
		return
	}
	seen := make(map[*field]*node, len(n.children)/2)
	var unknown [][2]*node
	for key, value := range n.pairs {
		f := r.byName[key.text]
		switch {
		case f == nil && key.text == also:
		case f == nil && isExtension(key.text):
			d.hide(value, secretName(key.text))
		case f == nil:
			unknown = append(unknown, [2]*node{key, value})
		case seen[f] != nil:
			first := seen[f]
			d.report(diag.InvalidValue, p.field(key.text, key), key, "%s says the same as %s; only one of them can be given", clip.Text(key.text), clip.Text(first.text))
		default:
			seen[f] = key
			d.field(f, key, value, v, p)
		}
	}
	variant := r.checkVariant(d, n, v, seen, p)
	for _, pair := range unknown {
		d.unknown(r, pair[0], pair[1], p, variant, also)
	}
	d.missing(r, n, seen, p)
}

// field decodes the value of a field.
func (d *decoder) field(f *field, key, value *node, v reflect.Value, p *place) {
	at := p.field(key.text, key)
	target := f.value(v)
	s := shapeOf(f.typ)
	if value.kind == nullNode && s != namesShape {
		// Nothing is the same as no field, except where it is a list that
		// tells the two apart.
		if f.required {
			d.report(diag.MissingField, at, value, "%s has no value", clip.Text(key.text))
		}
		return
	}
	if other := f.spelled(key.text); other != nil {
		d.file.spelled(f.name, other.name)
		d.units(*other, value, target, at)
		return
	}
	d.value(f, value, target, at)
	if f.required && s == textShape && value.kind == stringNode && value.text == "" {
		d.report(diag.MissingField, at, value, "%s is empty", clip.Text(key.text))
	}
}

// checkVariant reports fields that belong to another variant of the record, and
// returns the variant.
func (r *record) checkVariant(d *decoder, n *node, v reflect.Value, seen map[*field]*node, p *place) string {
	if r.variant == nil {
		return ""
	}
	variant := r.variant.value(v).String()
	if !contains(r.variant.enum, variant) {
		return ""
	}
	for key := range n.pairs {
		f := r.byName[key.text]
		if f == nil || len(f.of) == 0 || contains(f.of, variant) || seen[f] != key {
			continue
		}
		d.report(diag.UnknownField, p.field(key.text, key), key, "%s does not belong to the type %s, only to %s", clip.Text(key.text), variant, either(f.of)).
			hint(known(r.names(variant)))
	}
	return variant
}

// unknown reports a key that a record does not have.
func (d *decoder) unknown(r *record, key, value *node, p *place, variant, also string) {
	at := p.field(key.text, key)
	found := d.report(diag.UnknownField, at, key, "unknown field %q", clip.Text(key.text))
	if found.diagnostic == nil {
		d.hide(value, secretName(key.text))
		return
	}
	names := r.names(variant)
	if also != "" {
		names = append(names, also)
	}
	near, hint, ok := r.meant(key.text, names, p)
	if near == "" {
		if !ok {
			hint = known(names)
		}
		found.hint(hint)
		d.hide(value, secretName(key.text))
		return
	}
	found.hint(hint)
	if f := r.byName[near]; f != nil {
		d.mean(p.field(f.name, nil))
		d.hide(value, f.secret || secretName(key.text))
		return
	}
	d.mean(p.field(near, nil))
}

// meant returns which of its fields a record's unknown name probably means, and the
// hint; ok is false when nothing is known of the name. What other systems call a
// field comes before what looks like it.
func (r *record) meant(name string, names []string, p *place) (field, hint string, ok bool) {
	near, isNear := nearest.Of(name, names)
	if isNear && strings.EqualFold(strings.ReplaceAll(near, "_", ""), strings.NewReplacer("_", "", "-", "").Replace(name)) {
		return near, didYouMean(near), true // the same name in another case
	}
	if f, ok := foreign(foreignFields[recordKind(p, r.typ)], name); ok && (f.field == "" || contains(names, f.field)) {
		return f.field, f.asked(), true
	}
	if isNear {
		return near, didYouMean(near), true
	}
	return "", "", false
}

func (d *decoder) mean(p *place) {
	if d.file.meant == nil {
		d.file.meant = map[string]bool{}
	}
	d.file.meant[p.path()] = true
}

// missing reports the required fields that are not there.
func (d *decoder) missing(r *record, n *node, seen map[*field]*node, p *place) {
	for _, f := range r.required {
		if seen[f] != nil {
			continue
		}
		d.absent(f.name, n, p, f.doc)
	}
}

// absent reports a field that is not there, at the key of its record.
func (d *decoder) absent(name string, n *node, p *place, hint string) {
	at := p.field(name, nil)
	if d.file.meant[at.path()] {
		return
	}
	if p != nil && p.node != nil {
		n = p.node
	}
	d.report(diag.MissingField, at, n, "%s is missing", name).hint(hint)
}

// known offers the names that a record has, if they are few.
func known(names []string) string {
	const few = 12
	switch {
	case len(names) == 0:
		return "no field is allowed here"
	case len(names) > few:
		return ""
	}
	return "allowed are " + either(names)
}

func didYouMean(name string) string { return "did you mean \"" + name + "\"?" }
