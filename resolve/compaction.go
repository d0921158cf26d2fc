package resolve

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// compactionKey is the section that configures the summaries of long conversations. It has the
// fields of the context policy and is merged with it.
const compactionKey = spec.CompactionSection

// compactionSection returns the section. Unlike a context policy, it enables summaries even without
// a threshold, because including the section requests compaction.
func compactionSection() plugins.Section {
	properties := policyProperties(reflect.TypeFor[spec.ContextPolicy]())
	threshold, _ := properties["autocompact_threshold"].(map[string]any)
	threshold["description"] = "Tokens from which on the conversation is summarized; when absent, before anything would have to be left out."
	properties["summary_model"] = map[string]any{"type": "string", "minLength": 1, "description": "summary_model_id by its other name."}
	schema, _ := json.MarshalIndent(map[string]any{ // maps of strings and numbers can be encoded
		"type": "object", "additionalProperties": false, "properties": properties,
		"description": "How long conversations are summarized: the fields of context_policy, with which the section is merged.",
	}, "", "  ")
	return plugins.NewSection(compactionKey, "How long conversations are summarized.", schema, decodeCompaction)
}

// policyProperties returns the JSON Schema of a record's fields, from their tags.
func policyProperties(record reflect.Type) map[string]any {
	properties := make(map[string]any, record.NumField())
	for i := range record.NumField() {
		field := record.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := map[string]any{"description": field.Tag.Get("doc")}
		of := field.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.Struct:
			property["properties"], property["additionalProperties"] = policyProperties(of), false
			property["type"] = "object"
		case reflect.Int:
			property["type"] = "integer"
		case reflect.Float64:
			property["type"] = "number"
		case reflect.Bool:
			property["type"] = "boolean"
		default:
			property["type"] = "string"
		}
		for tag, key := range map[string]string{"min": "minimum", "max": "maximum", "default": "default"} {
			text, ok := field.Tag.Lookup(tag)
			if !ok {
				continue
			}
			property[key] = text
			if property["type"] != "string" {
				property[key] = json.RawMessage(text)
			}
		}
		if values := field.Tag.Get("enum"); values != "" {
			property["enum"] = strings.Split(values, "|")
		}
		properties[name] = property
	}
	return properties
}

// compaction is the decoded section.
type compaction struct {
	// policy is nil if there is no section.
	policy *spec.ContextPolicy
	// summary is the field that names the summary model.
	summary string
}

// decodeCompaction decodes the section.
func decodeCompaction(raw json.RawMessage) (compaction, diag.List) {
	c := compaction{summary: "summary_model_id"}
	if raw == nil {
		return c, nil
	}
	var s struct {
		spec.ContextPolicy
		SummaryModel string `json:"summary_model"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return c, diag.List{diag.New(diag.InvalidPluginConfig, "", "the section does not decode: %v", err)}
	}
	if s.SummaryModel != "" && s.SummaryModelID != "" {
		return c, diag.List{diag.New(diag.InvalidPluginConfig, "summary_model",
			"section %q: summary_model and summary_model_id are two names of one setting", compactionKey)}
	}
	p := s.ContextPolicy
	if s.SummaryModel != "" {
		p.SummaryModelID, c.summary = s.SummaryModel, "summary_model"
	}
	list := p.Validate()
	for i := range list {
		list[i].Code = diag.InvalidPluginConfig
		list[i].Message = "section " + strconv.Quote(compactionKey) + ": " + list[i].Message
	}
	c.policy = &p
	return c, list
}
