// Package toolschema converts tool schemas to ones that vendors accept. A converted schema accepts
// all objects that the original accepts.
package toolschema

import (
	"regexp"

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

// foldable are the root keywords that can be folded.
var foldable = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"}

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
