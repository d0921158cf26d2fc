package toolschema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// The JSON Schema keywords that constrain values, by their content.
var (
	schemaKeywords = []string{
		"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "additionalItems",
	}
	listKeywords = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	mapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	constraints  = slices.Concat(schemaKeywords, listKeywords, []string{"properties", "patternProperties", "dependentSchemas"}, []string{
		"$ref", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
		"maxProperties", "minProperties", "required", "dependentRequired",
		"dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
	})
	// unmapped constraints are always dropped, because their meaning depends on the rest of the
	// schema or on the draft.
	unmapped = []string{"dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"}
	// noNotes are annotations that are meaningless elsewhere.
	noNotes = []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "nullable"}
	// nullValues are the keywords that may have the value null.
	nullValues = []string{"const", "default", "example"}
)

// keywordDrafts maps keywords to the drafts that introduced them.
var keywordDrafts = map[string]int{
	"const": 6, "contains": 6, "propertyNames": 6, "if": 7, "then": 7, "else": 7,
	"dependentRequired": 2019, "dependentSchemas": 2019, "minContains": 2019, "maxContains": 2019,
	"unevaluatedProperties": 2019, "unevaluatedItems": 2019, "prefixItems": latestDraft,
}

// rewriter rewrites the schemas of one document.
type rewriter struct {
	dialect *Dialect
	// document is the target of references.
	document json.RawMessage
	// places are the places of the document, read for the first reference.
	places *place
	refs   references
	draft  int
	mapped *Mapped
	// atRoot is set for the next schema.
	atRoot bool
	// following are the references currently being replaced.
	following    []string
	parts, depth int
}

// references describes the references of a document.
type references struct {
	// elsewhere is set if references may lead to a document embedded in the document.
	elsewhere bool
	// kept is set once a reference was kept, and wide if the kept ones accept more than before.
	kept, wide bool
}

// ignoresSiblings reports whether the draft ignores keywords beside a reference.
func (w *rewriter) ignoresSiblings() bool { return w.draft <= 7 }

// drop removes constraints that the dialect does not support.
func (w *rewriter) drop(n *schemaNode, names ...string) {
	for _, name := range names {
		value := n.get(name)
		if value == nil {
			continue
		}
		n.remove(name)
		w.lose(n, name, value)
	}
}

// lose records a dropped constraint.
func (w *rewriter) lose(n *schemaNode, name string, value json.RawMessage) {
	n.wide = true
	w.mapped.drop(name)
	if n.told == nil {
		n.told = fields{}
	}
	n.told[name] = value
}

// accepts reports whether the dialect supports a keyword.
func (w *rewriter) accepts(name string) bool {
	return w.dialect.keywords == nil || slices.Contains(w.dialect.keywords, name)
}

// target returns the schema that a reference within the document names, or nil.
func (w *rewriter) target(ref string) json.RawMessage {
	path, isPointer := strings.CutPrefix(ref, "#/")
	path, err := url.PathUnescape(path)
	switch {
	case w.refs.elsewhere || err != nil:
		return nil
	case ref == "#":
		return w.document
	case !isPointer:
		return nil // another document, or a name
	default:
		if w.places == nil {
			w.places = readPlaces(w.document)
		}
		return w.places.pointedAt(path)
	}
}

// drafts are the older drafts of JSON Schema, by a part of their URIs.
var drafts = map[string]int{"draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019}

// latestDraft is draft 2020-12.
const latestDraft = 2020

// draftOf returns the draft of a schema.
func draftOf(root fields) int {
	for name, draft := range drafts {
		if strings.Contains(string(root["$schema"]), name) {
			return draft
		}
	}
	return latestDraft
}
