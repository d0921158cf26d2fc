package decode

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// DecodeRecord decodes an entry whose record type is known. It returns the number of earlier
// diagnostics.
func DecodeRecord[T any](d *Decoder, id string, n *yamltree.Node, p *tree.Place) (record T, start int) {
	start = len(d.Found)
	v := reflect.ValueOf(&record).Elem()
	r := d.RecordOf(v.Type())
	if r.ID != nil {
		v.FieldByIndex(r.ID).SetString(id)
	}
	d.DecodeFields(r, n, v, p, "")
	return record, start
}

// AddValidationFindings adds the findings of a record's Validate, except for those that repeat or
// follow from diagnostics reported in the record since start.
func (d *Decoder) AddValidationFindings(start int, p *tree.Place, n *yamltree.Node, list diag.List) {
	if len(list) == 0 {
		return
	}
	before := slices.Clone(d.Found[start:])
	base := p.Path()
	for _, one := range list {
		one.Path = diag.Join(base, one.Path)
		if d.Tree.Meant[one.Path] && one.Code == diag.MissingField || repeatsFinding(one, before, base) {
			continue
		}
		d.AddAt(one, n)
	}
}

// repeatsFinding reports whether a finding of Validate has a cause that was already
// found: at the same place, around it, inside it (unless it concerns only an ID), or, if
// the finding concerns the record as a whole, anywhere.
func repeatsFinding(one diag.Diagnostic, before diag.List, base string) bool {
	for i := range before {
		b := &before[i]
		switch {
		case b.Code == diag.PlainSecret, b.Code == diag.NoEffect, b.Code == diag.MissingDirectory: // a text's spelling has no consequences
		case b.Path != base && !isBelow(b.Path, base):
		case b.Path == one.Path, one.Path == base, one.Code != diag.InvalidID && isBelow(b.Path, one.Path),
			!b.Code.MarksKey() && isBelow(one.Path, b.Path):
			return true
		case one.Code == diag.MissingField && b.Path == diag.Key(base, "endpoint"):
			return true // an agent's needs depend on its endpoint
		}
	}
	return false
}

// isBelow reports whether a path lies below another.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[' || above == "")
}

// AddAt adds a diagnostic of a record at the place its path leads to.
func (d *Decoder) AddAt(one diag.Diagnostic, n *yamltree.Node) {
	if at, ok := d.Tree.FindTarget(tree.PlaceCode(&one), one.Path); ok {
		n = at
	}
	d.AddFinding(one, n)
}
