package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// generator generates documents from a schema: mostly valid, with a small probability of each
// mistake.
type generator struct {
	t    *rapid.T
	defs map[string]any
}

// odd is rarely true. Small numbers would be drawn more often than others.
func (g *generator) odd() bool { return rapid.IntRange(0, 40).Draw(g.t, "odd") == 29 }

func (g *generator) pick(list []any) any {
	return list[rapid.IntRange(0, len(list)-1).Draw(g.t, "pick")]
}

// scalars are values of any type that a field may get by mistake.
var scalars = []any{nil, true, 3, -1, 1.5, "text", "${X}", "10s", "", []any{}, []any{"a"}, map[string]any{}, map[string]any{"bogus": 1}}

func (g *generator) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || len(s) == 0 || g.odd() {
		return g.pick(scalars)
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.defs[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	if any, ok := s["anyOf"].([]any); ok {
		return g.value(g.pick(any), depth)
	}
	if values, ok := s["enum"].([]any); ok {
		return g.pick(values)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	switch typ := s["type"].(type) {
	case []any:
		return g.typed(g.pick(typ).(string), s, depth)
	case string:
		return g.typed(typ, s, depth)
	}
	return g.pick(scalars)
}

func (g *generator) typed(typ string, s map[string]any, depth int) any {
	switch typ {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(g.t, "bool")
	case "integer", "number":
		v := rapid.IntRange(0, 300).Draw(g.t, "number")
		if least, ok := s["minimum"].(float64); ok && !g.odd() {
			v = max(v, int(math.Ceil(least)))
		}
		if most, ok := s["maximum"].(float64); ok && !g.odd() {
			v = min(v, int(most))
		}
		return v
	case "string":
		pattern, _ := s["pattern"].(string)
		for _, text := range []string{"10s", "http://x", "${X}"} {
			if pattern != "" && regexp.MustCompile(pattern).MatchString(text) {
				return text
			}
		}
		return rapid.SampledFrom([]string{"a", "b c", "x: y", "[", "${X}", "$$", "é", "null", "1", "2024-10-01", " x ", "a\nb"}).Draw(g.t, "text")
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(g.t, "length") {
			list = append(list, g.value(s["items"], depth+1))
		}
		if len(list) == 0 && s["minItems"] != nil && !g.odd() {
			list = append(list, g.value(s["items"], depth+1))
		}
		return list
	default:
		return g.object(s, depth)
	}
}

func (g *generator) object(s map[string]any, depth int) any {
	if all, ok := s["allOf"].([]any); ok {
		if first, ok := all[0].(map[string]any); ok && first["then"] != nil {
			return g.value(g.pick(all).(map[string]any)["then"], depth)
		}
	}
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	required, _ := s["required"].([]any)
	for _, name := range names {
		if name == "file" || name == "retry" || name == "patches" || name == "extends" {
			continue // needs an existing file or entry, or is a section for plugins
		}
		needed := slices.Contains(required, any(name)) && !g.odd()
		if needed || rapid.IntRange(0, 3+depth).Draw(g.t, "present") == 0 {
			out[name] = g.value(properties[name], depth+1)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		for _, id := range []string{"a", "b-1"}[:rapid.IntRange(0, 2).Draw(g.t, "entries")] {
			out[id] = g.value(more, depth+1)
		}
	}
	if g.odd() {
		out["bogus"] = 1
	}
	return out
}

// Schema and loader accept or reject generated documents alike, except for rules that only records
// know.
func TestSchemaAndLoaderAgreeOnGeneratedDocuments(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	var root map[string]any
	if err := json.Unmarshal(config.Schema(testKinds()), &root); err != nil {
		t.Fatal(err)
	}
	defs, _ := root["$defs"].(map[string]any)
	valid, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t, defs: defs}
		doc := g.object(root, 0)
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		invalid := schema.Validate(decoded)
		_, list := config.Parse([]config.Source{{Name: "c", Data: raw}}, options(nil))
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Severity != diag.Error || saysTheRecord(d) })
		if total++; invalid == nil {
			valid++
		}
		if (invalid == nil) != (len(list) == 0) {
			var violation *jsonschema.ValidationError
			errors.As(invalid, &violation)
			t.Fatalf("the schema says %v, the loader\n%s\nof %s", invalid, shows(list), raw)
		}
	})
	if share := 100 * valid / total; share < 20 || share > 95 {
		t.Errorf("%d %% of %d documents were valid: little was compared", share, total)
	}
}

// saysTheRecord reports whether a diagnostic comes from a record's Validate, which a structural
// schema cannot express.
func saysTheRecord(d diag.Diagnostic) bool {
	if strings.Contains(d.Message, " must be a text, not ") || strings.HasSuffix(d.Message, " has no value") {
		return false // whatever the field's name
	}
	for _, text := range []string{
		"a pool needs at least one member", "names no program", "does not compile", "is not defined", "every member is", "is a member twice", "listed twice",
		"knowledge_cutoff is", "regular expression", "must lie between", "leaves nothing of", "more than the context window", "weight is",
		"timeout is", "it must be low or high", "is defined twice", "is the id of a model and",
		"must be more than", "JSON Schema written as an object", "variables must be a JSON Schema", "is not a JSON Schema keyword",
		"dsn is", "dsn must be the path", "dsn says", "lease is", "time_zone cannot be", "cron \"", "prompt is empty",
		"must be host:port", "has the port", "has the host", "is reachable from other machines", "public_url", "allow_unauthenticated is set",
		"is not a valid origin", "every site is allowed", "is not the base64", "burst belongs", "neither hash nor key", "both hash and key",
		"key has", "white space", "invalid pattern", "unknown scope", "there is a key", "another key", "allow \"", "is neither a day",
		"not an https URL", "must be an absolute http or https URL", "is required with organization", "there twice", "tags is empty", "it must have from 1 to", "jwks_url", "both tenant and", "is not an absolute path", "is not a pattern of repositories", "invalid environment variable", "of the agent already", "there is a client", "encryption_key is required: access",
	} {
		if strings.Contains(d.Message, text) {
			return true
		}
	}
	for _, text := range []string{
		"the workflow has no steps", "exclude each other", "has none already", "does nothing", "can do one of them", "is given nothing", "not both",
		"or {template: text}", "equals must be a text", "the value is not JSON", "object must be a mapping of values", "array must be a list of values",
		"step_output must be", "is neither", "has 0 sources", "sources; it must have", "agent_output cannot be", "delivers the answer", "valid JSON Schema",
	} {
		if strings.Contains(d.Message, text) && strings.HasPrefix(d.Path, "workflows.") {
			return true
		}
	}
	segments, _ := diag.ParsePath(d.Path)
	if len(segments) > 0 && segments[0].Key == "workflows" && (d.Code == diag.InvalidTemplate || d.Code == diag.UnknownStep || d.Code == diag.InvalidID) {
		return true
	}
	if len(segments) == 3 && segments[0].Key == "agents" && segments[2].Key == "model_id" && d.Code == diag.MissingField {
		return true // the defaults may name the model
	}
	if len(segments) > 0 && segments[0].Key == "server" && d.Code == diag.InvalidID {
		return true
	}
	return d.Code == diag.UndeclaredVariable || d.Code == diag.InvalidEndpoint || d.Code == diag.AgentNotFound || d.Code == diag.InvalidID && strings.HasSuffix(d.Path, ".session") || d.Code == diag.InvalidID && strings.HasSuffix(d.Path, ".name")
}
