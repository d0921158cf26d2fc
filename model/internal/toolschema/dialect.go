// Package toolschema converts tool schemas to ones that vendors accept. A converted schema accepts
// all objects that the original accepts.
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
	// Name names the dialect's models in reports.
	Name string
	// Names is the rule for tool names.
	Names toolname.Rule
	// most is the maximum number of tools in a request; 0 for any number.
	most int
	// rejected are the keywords not allowed at the root.
	rejected []string
	// root and keywords are the only constraints allowed at the root and in any schema; nil allows
	// all.
	root, keywords []string
	// formats are the accepted formats; nil accepts all.
	formats []string
	// propertyName matches the allowed property names; nil allows any.
	propertyName *regexp.Regexp
	// inlineRefs replaces references with their targets. Otherwise, references to definitions are
	// kept.
	inlineRefs bool
	// oneType accepts no list of types except one type and null, and only texts and numbers in an
	// enumeration.
	oneType bool
	// definesRequired accepts only names of properties as required.
	definesRequired bool
	// completes are the types that get empty properties or items if they have none.
	completes []string
}

// claudeProperty matches the property names that Claude accepts, according to its API's errors:
// "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
var claudeProperty = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// letterFirst is the rule of vendors that reject names starting with a digit or dash: "Must start
// with a letter or an underscore", according to Gemini's documents and errors.
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
	// Compatible is for servers that imitate OpenAI. Some, such as Ollama, do not resolve
	// references, or, such as Moonshot, only those to $defs (command-code#594). Moonshot, and
	// servers that forward requests to Gemini, require names to begin with a letter
	// (kimi-cli#2531).
	Compatible = &Dialect{
		Name: "OpenAI-compatible", Names: letterFirst, rejected: foldable, inlineRefs: true, completes: []string{"object", "array"},
	}
	// Anthropic rejects "oneOf, allOf, or anyOf at the top level" and requires draft 2020-12 (its
	// errors; huly-mcp#66).
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

// MaxTools returns the maximum number of tools in a request; 0 for any number.
func (d *Dialect) MaxTools() int { return d.most }

// Adapt returns the changes made to a tool.
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
	// Dropped are the constraints hidden from the vendor; nil if the schema accepts the same
	// objects as the original.
	Dropped []string
	// Note tells the model which constraints were dropped at the root; empty if none. Descriptions
	// within the schema mention the others.
	Note string
}

// Describe returns a tool's description extended with the constraints missing from its schema.
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

// longestNote limits a description's note about dropped constraints, in bytes.
const longestNote = 600

// note returns the note that tells the model about constraints.
func note(subject string, told fields) string {
	text := encode(told)
	if len(told) == 0 || len(text) > longestNote {
		return ""
	}
	return subject + " must also satisfy this JSON Schema: " + string(text)
}

// mapSchema is Map without the cache.
func (d *Dialect) mapSchema(schema json.RawMessage) (Mapped, error) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	m, w, err := d.rewrite(schema, false, true)
	if err == nil && len(m.Dropped) > 0 && w.refs.kept {
		// The target of a kept reference may accept more than before, which is not allowed in a
		// negation.
		m, _, err = d.rewrite(schema, true, true)
	}
	return m, err
}

// MapValue returns a schema, accepted by the vendor, of any value.
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
