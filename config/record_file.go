package config

import (
	"bytes"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// ParseRecord reads a YAML document that is not a configuration, such as a file of eval cases, into
// a record described by struct tags. If T has a Validate method, its findings are among the
// diagnostics. The file locates later diagnostics (Complete) and holds the source for reports.
func ParseRecord[T any](source Source, opts Options) (value T, f *File, found diag.List) {
	f = &File{tree: tree.Tree{Origins: overlay.NewOrigins()}, options: opts}
	d := newDecoder(&f.tree, opts, newBudget(), nil)
	doc := tree.NewSourceFile(source.Name, bytes.TrimPrefix(source.Data, []byte("\ufeff")))
	f.tree.Documents = []*tree.SourceFile{doc}
	list, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf)
	d.AddAll(doc, list)
	if !ok || doc.Root == nil {
		if len(d.Found) == 0 {
			d.Found = append(d.Found, doc.FaultAt(0, 0, "the file is empty"))
		}
		f.tree.Root = &yamltree.Node{Kind: yamltree.Mapping}
		return value, f, d.Found
	}
	f.tree.Root = doc.Root
	v := reflect.ValueOf(&value)
	d.DecodeFields(record.Of(v.Type().Elem()), f.tree.Root, v.Elem(), nil, "")
	if validator, ok := v.Interface().(Validator); ok {
		d.AddValidationFindings(0, nil, f.tree.Root, validator.Validate())
	}
	return value, f, append(d.Found, doc.OmittedFindings()...)
}
