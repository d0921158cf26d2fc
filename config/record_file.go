package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// ParseRecord reads a YAML document that is not a configuration, such as a file of eval cases, into
// a record described by struct tags. If T has a Validate method, its findings are among the
// diagnostics. The file locates later diagnostics (Complete) and holds the source for reports.
func ParseRecord[T any](source Source, opts Options) (value T, f *File, found diag.List) {
	d := newDecoder(opts, newBudget(), nil)
	doc := &sourceFile{Document: yamltree.Document{Name: source.Name, Data: bytes.TrimPrefix(source.Data, []byte("\ufeff"))}, dir: filepath.Dir(source.Name)}
	f = d.file
	f.documents = []*sourceFile{doc}
	list, ok := yamltree.Parse(&doc.Document, 0, nounOf)
	d.addAll(doc, list)
	if !ok || doc.Root == nil {
		if len(d.found) == 0 {
			d.found = append(d.found, doc.FaultAt(0, 0, "the file is empty"))
		}
		f.root = &yamltree.Node{Kind: yamltree.Mapping}
		return value, f, d.found
	}
	f.root = doc.Root
	v := reflect.ValueOf(&value)
	d.decodeFields(record.Of(v.Type().Elem()), f.root, v.Elem(), nil, "")
	if validator, ok := v.Interface().(Validator); ok {
		d.addValidationFindings(0, nil, f.root, validator.Validate())
	}
	return value, f, append(d.found, doc.omittedFindings()...)
}

// RecordSchema returns the JSON Schema (draft 2020-12) of documents that ParseRecord
// reads.
func RecordSchema[T any](title string) json.RawMessage {
	w := &schemaWriter{kinds: &Kinds{}, names: map[recordForm]string{}, taken: map[string]bool{}}
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", title},
	}
	root = append(root, w.recordRef(reflect.TypeFor[T]())...)
	root = root.with("$defs", &w.defs)
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return json.RawMessage("true") // a description is text, which always encodes
	}
	return raw
}
