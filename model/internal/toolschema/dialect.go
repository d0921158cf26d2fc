// Package toolschema maps the schemas of tools to those that vendors accept. A mapped
// schema accepts all objects that the original accepts.
package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/toolname"
	"github.com/agentruntime/agentruntime/model"
)

// Dialect describes the tools that a vendor accepts: their names, and the supported part of JSON
// Schema for their arguments.
type Dialect struct {
	// Name is what reports call the models of the dialect.
	Name string
	// Names is the rule for tool names.
	Names toolname.Rule
	// most is how many tools a request can have; 0 for any number.
	most int
	// rejected are the keywords that the root must not have.
	rejected []string
	// root and keywords are the only constraints that the root, and any schema, may have;
	// nil for all.
	root, keywords []string
	// formats are the formats that are accepted; nil for all.
	formats []string
	// propertyName matches the names of properties; nil for any.
	propertyName *regexp.Regexp
	// inlineRefs replaces references by their targets. Without it, references to definitions are
	// kept.
	inlineRefs bool
	// oneType accepts no list of types but one type and null, and only texts and numbers in
	// an enumeration.
	oneType bool
	// definesRequired accepts as required only names of properties.
	definesRequired bool
	// completes are the types that get empty properties or items where they lack them.
	completes []string
}

// claudeProperty matches the names of properties that Claude accepts, as its API says in
// errors: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
var claudeProperty = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// letterFirst is the rule of vendors that reject names with a digit or dash first: "Must start
// with a letter or an underscore", say the documents and errors of Gemini.
var letterFirst = toolname.Rule{Longest: 64, LetterFirst: true}

// The dialects.
var (
	// OpenAI rejects a root with "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", an
	// object without properties and an array without items (its errors; langchainjs#9804,
	// spring-ai#4776, fastmcp#2464).
	OpenAI = &Dialect{
		Name: "OpenAI", Names: toolname.ID, rejected: []string{"oneOf", "anyOf", "allOf", "enum", "not", "$ref"}, completes: []string{"object", "array"},
	}
	// OpenAILimited is for OpenAI's own servers, which reject more tools: "Expected an array with
	// maximum length 128" (zed#32946).
	OpenAILimited = limited(*OpenAI, 128)
	// Compatible is for servers that imitate OpenAI. Some do not resolve references, such as
	// Ollama, or only those to $defs, such as Moonshot (command-code#594).
	// Moonshot, and those that pass requests on to Gemini, want names to begin with a letter
	// (kimi-cli#2531).
	Compatible = &Dialect{
		Name: "OpenAI-compatible", Names: letterFirst, rejected: foldable, inlineRefs: true, completes: []string{"object", "array"},
	}
	// Anthropic rejects "oneOf, allOf, or anyOf at the top level" and wants draft 2020-12
	// (its errors; huly-mcp#66).
	Anthropic = &Dialect{
		Name: "Anthropic", Names: toolname.Rule{Longest: 128}, rejected: []string{"oneOf", "anyOf", "allOf", "$ref"}, propertyName: claudeProperty,
	}
	// Bedrock is for the models of many vendors.
	Bedrock = &Dialect{
		Name: "Bedrock", Names: toolname.ID, rejected: foldable, inlineRefs: true, propertyName: claudeProperty,
	}
	// Nova accepts only type, properties and required at the root (Amazon Nova user guide,
	// "Defining a tool").
	Nova = &Dialect{
		Name: "Nova", Names: toolname.ID, rejected: foldable, root: []string{"type", "properties", "required"}, inlineRefs: true,
	}
	// Gemini supports the keywords that google.golang.org/genai documents at
	// GenerationConfig.ResponseJsonSchema, and two further formats of texts than none.
	Gemini = &Dialect{
		Name: "Gemini", Names: letterFirst, rejected: foldable, inlineRefs: true, oneType: true, definesRequired: true, completes: []string{"array"},
		keywords: []string{
			"type", "format", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf",
			"properties", "additionalProperties", "required",
		},
		formats: []string{"date-time", "date", "time"},
	}
)

var _ model.ToolDialect = (*Dialect)(nil)

func limited(d Dialect, most int) *Dialect {
	d.most = most
	return &d
}

// Vendor returns the name of the dialect.
func (d *Dialect) Vendor() string { return d.Name }

// MaxTools returns how many tools a request can have; 0 for any number.
func (d *Dialect) MaxTools() int { return d.most }

// Adapt returns how a tool is changed.
func (d *Dialect) Adapt(t *model.Tool) model.ToolChange {
	var c model.ToolChange
	if !d.Names.Allows(t.Name) {
		c.Name = d.Names.Fit(t.Name)
	}
	mapped, err := d.Map(t.Parameters)
	if err == nil {
		c.Dropped = mapped.Dropped
	}
	return c
}

// Dialects returns all dialects.
func Dialects() []*Dialect { return []*Dialect{OpenAI, Compatible, Anthropic, Bedrock, Nova, Gemini} }

// Mapped is a schema that a vendor accepts.
type Mapped struct {
	Schema json.RawMessage
	// Dropped are the constraints that the vendor is not told; nil if the schema accepts the
	// same objects as the original.
	Dropped []string
	// Note tells the model which constraints were dropped at the root; empty for none.
	// Descriptions within the schema mention the others.
	Note string
}

// Describe returns the description of a tool with what its schema no longer says.
func (m *Mapped) Describe(description string) string {
	if m.Note == "" || description == "" {
		return description + m.Note
	}
	return description + "\n\n" + m.Note
}

func (m *Mapped) drop(names ...string) {
	for _, name := range names {
		if !slices.Contains(m.Dropped, name) {
			m.Dropped = append(m.Dropped, name)
		}
	}
}

// longestNote bounds a description's note about dropped constraints, in bytes.
const longestNote = 600

// note returns the model's note about constraints.
func note(subject string, told fields) string {
	text := encode(told)
	if len(told) == 0 || len(text) > longestNote {
		return ""
	}
	return subject + " must also satisfy this JSON Schema: " + string(text)
}

// mapSchema is Map without the memo.
func (d *Dialect) mapSchema(schema json.RawMessage) (Mapped, error) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	m, w, err := d.rewrite(schema, false, true)
	if err == nil && len(m.Dropped) > 0 && w.refs.kept {
		// The target of a kept reference may accept more than before, which a negation must not.
		m, _, err = d.rewrite(schema, true, true)
	}
	return m, err
}

// MapValue returns a schema of any value that the vendor accepts.
func (d *Dialect) MapValue(schema json.RawMessage) (Mapped, error) {
	m, _, err := d.rewrite(schema, true, false)
	return m, err
}

func (d *Dialect) rewrite(schema json.RawMessage, wideRefs, ofObject bool) (Mapped, *rewriter, error) {
	var root fields
	if err := json.Unmarshal(schema, &root); err != nil {
		return Mapped{}, nil, fmt.Errorf("the schema is not an object: %w", err)
	}
	m := Mapped{}
	w := &rewriter{
		dialect: d, document: schema, draft: draftOf(root), atRoot: ofObject, mapped: &m, following: []string{"#"},
	}
	ids := bytes.Count(schema, []byte(`"$id":`))
	w.refs = references{elsewhere: ids > 1 || ids == 1 && root["$id"] == nil, wide: wideRefs}
	if ofObject {
		if w.ignoresSiblings() && root["$ref"] != nil {
			maps.DeleteFunc(root, func(name string, _ json.RawMessage) bool { return name != "$ref" && slices.Contains(constraints, name) })
		}
		if root == nil {
			schema = json.RawMessage(`{}`)
		} else if w.flattenRoot(root) {
			schema = encode(root)
		}
	}
	m.Schema, _ = w.rewrite(schema)
	slices.Sort(m.Dropped)
	return m, w, nil
}

// drafts are the older drafts of JSON Schema, by a part of their addresses.
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
