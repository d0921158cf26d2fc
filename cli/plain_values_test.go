package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
)

// secretField is a field that may hold secrets, found in the configuration's schema.
type secretField struct {
	path string
	// wrap returns a document with the field set to a value.
	wrap func(value any) any
	// isMapping is set for env and headers.
	isMapping bool
}

// secretFields walks the configuration's schema.
type secretFields struct {
	defs map[string]any
	// found are the fields that may hold secrets, and urls the fields whose names or descriptions
	// indicate URLs.
	found, urls map[string]secretField
}

func (s *secretFields) walk(schema map[string]any, path string, seen []string, wrap func(any) any) {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		if slices.Contains(seen, name) {
			return
		}
		def, _ := s.defs[name].(map[string]any)
		s.walk(def, path, append(slices.Clip(seen), name), wrap)
	}
	if schema["writeOnly"] == true {
		_, isMapping := schema["additionalProperties"]
		s.found[path] = secretField{path, wrap, isMapping}
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, sub := range properties {
		if sub, ok := sub.(map[string]any); ok {
			description, _ := sub["description"].(string)
			if at := path + "." + name; (urlFieldName.MatchString(name) || strings.Contains(description, "URL")) && mayBeText(sub) {
				s.urls[at] = secretField{at, func(v any) any { return wrap(map[string]any{name: v}) }, false}
			}
			s.walk(sub, path+"."+name, seen, func(v any) any { return wrap(map[string]any{name: v}) })
		}
	}
	if sub, ok := schema["additionalProperties"].(map[string]any); ok {
		s.walk(sub, path+".x", seen, func(v any) any { return wrap(map[string]any{"x": v}) })
	}
	if sub, ok := schema["items"].(map[string]any); ok {
		s.walk(sub, path+"[0]", seen, func(v any) any { return wrap([]any{v}) })
	}
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[union].([]any)
		for _, one := range list {
			s.walkVariant(one.(map[string]any), path, seen, wrap)
		}
	}
}

// walkVariant walks one variant of a record, which its type may select.
func (s *secretFields) walkVariant(one map[string]any, path string, seen []string, wrap func(any) any) {
	then, ok := one["then"].(map[string]any)
	if !ok {
		s.walk(one, path, seen, wrap)
		return
	}
	condition, _ := json.Marshal(one["if"])
	var read struct {
		Properties struct{ Type struct{ Const string } }
	}
	_ = json.Unmarshal(condition, &read)
	s.walk(then, path, seen, func(v any) any {
		if fields, ok := v.(map[string]any); ok && read.Properties.Type.Const != "" {
			fields = maps.Clone(fields)
			fields["type"] = read.Properties.Type.Const
			v = fields
		}
		return wrap(v)
	})
}

// urlFieldName matches fields that hold URLs.
var urlFieldName = regexp.MustCompile(`(^|_)(url|uri|dsn|endpoint)$`)

// mayBeText reports whether a field accepts text.
func mayBeText(field map[string]any) bool {
	types, _ := field["type"].([]any)
	return field["type"] == "string" || slices.Contains(types, any("string"))
}

func findSecretFields(t *testing.T) *secretFields {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal([]byte(readAll(t, "../docs/runtime.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	s := &secretFields{defs: schema["$defs"].(map[string]any), found: map[string]secretField{}, urls: map[string]secretField{}}
	s.walk(schema, "", nil, func(v any) any {
		document := maps.Clone(v.(map[string]any))
		document["version"] = 1
		return document
	})
	return s
}

// TestSecretsInURLsAreNeitherStoredNorShown covers every field that holds a URL, and URLs where
// the schema does not expect them.
func TestSecretsInURLsAreNeitherStoredNorShown(t *testing.T) {
	t.Parallel()
	fields := findSecretFields(t).urls
	if len(fields) < 15 {
		t.Fatalf("only %d fields are found: %v", len(fields), slices.Sorted(maps.Keys(fields)))
	}
	add := func(path string, wrap func(any) any) { fields[path] = secretField{path, wrap, false} }
	tool := func(fields map[string]any) any {
		return map[string]any{"version": 1, "tools": map[string]any{"x": fields}}
	}
	add(".tools.x.command[1]", func(v any) any { return tool(map[string]any{"type": "mcp", "command": []any{"npx", v}}) })
	add(".tools.x.query", func(v any) any {
		return tool(map[string]any{"type": "http", "url": "https://h.example", "query": map[string]any{"x": v}})
	})
	add(".agents.x.endpoint.options.card_url", func(v any) any {
		endpoint := map[string]any{"base_url": "https://h.example", "options": map[string]any{"card_url": v}}
		return map[string]any{"version": 1, "agents": map[string]any{"x": map[string]any{"endpoint": endpoint}}}
	})
	add(".tools.x.unknown", func(v any) any { return tool(map[string]any{"type": "http", "unknown": v}) })
	parts := shipped.Components()
	options := config.Options{Kinds: parts.ConfigKinds()}
	for path, f := range fields {
		for _, secret := range []string{
			"https://canary-of-user@h.example/p", "https://me:canary@h.example/p", "https://me:${X}canary@h.example", "https://h.example/p?api_key=canary", "https://h.example?x=correct-canary",
			"https://h.example/p?limit=5&sig=canary#top", "https://h.example/p?canary-without-name", "https://h.example/p#access_token=canary",
			"https://h.example/p?x=${X:-correct-canary}", "${HOST}/p?key=canary", "https://h.example/{{x}}?key=canary{{x}}",
		} {
			data, err := json.Marshal(f.wrap(secret))
			if err != nil {
				t.Fatal(err)
			}
			file, list := config.Parse([]config.Source{{Name: "config.yaml", Data: data}}, options)
			_, err = file.Document()
			if _, refused := errors.AsType[*config.PlainSecretError](err); stored.MatchString(path) && !refused && !list.HasErrors() {
				t.Errorf("%s: %q is stored (%v)", path, secret, err)
			}
			found, _ := json.Marshal(list)
			masked := config.MaskDocument(data, options)
			texts := map[string]string{"diagnostics": string(found), "document": string(masked), "source": string(file.Source("config.yaml")), "error": fmt.Sprint(err)}
			if !strings.Contains(secret, "{") && !strings.Contains(secret, "of-user") && !strings.Contains(secret, "without") {
				texts["log"] = file.Redact(`Get "` + secret + `": dial tcp: lookup h.example: no such host`)
			}
			for what, text := range texts {
				if strings.Contains(text, "canary") {
					t.Errorf("%s: the %s shows %q: %s", path, what, secret, text)
				}
			}
		}
		for _, reference := range []string{"https://h.example/p?key=${KEY}&x={{x}}&limit=10&api-version=2024-10-01", "https://h.example/p?key=${file:key.txt}#top", "https://git@h.example/p"} {
			data, _ := json.Marshal(f.wrap(reference))
			file, _ := config.Parse([]config.Source{{Name: "config.yaml", Data: data}}, options)
			if _, err := file.Document(); path != ".tools.x.query" && errors.As(err, new(*config.PlainSecretError)) {
				t.Errorf("%s: %q is not stored: %v", path, reference, err)
			}
			if shown := string(config.MaskDocument(data, options)); path != ".tools.x.query" && strings.Contains(reference, "${KEY}") && !strings.Contains(shown, "?key=${KEY}") {
				t.Errorf("%s: references of %q are not shown: %s", path, reference, shown)
			}
		}
	}
}

// unremarkable are variable and header names that do not sound like secrets.
var unremarkable = []string{"PGPASSWORD", "DB_PASS", "X-Auth", "OPENAIKEY", "DATABASE_URL", "Ocp-Apim-Subscription-Key", "Accept", "X", "MODE"}

// stored matches the configuration sections that revisions and overlays store.
var stored = regexp.MustCompile(`^\.(providers|models|tools|plugins|agent_providers|agents|workflows|remote_agents|defaults)\b`)

// TestPlainValuesAreNeitherStoredNorShown covers every field that may hold secrets.
func TestPlainValuesAreNeitherStoredNorShown(t *testing.T) {
	t.Parallel()
	fields := findSecretFields(t).found
	if len(fields) < 15 {
		t.Fatalf("only %d fields are found: %v", len(fields), slices.Sorted(maps.Keys(fields)))
	}
	parts := shipped.Components()
	parse := func(document any) (*config.File, string, string) {
		data, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		file, list := config.Parse([]config.Source{{Name: "config.yaml", Data: data}}, config.Options{Kinds: parts.ConfigKinds()})
		shown, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return file, string(data), string(shown)
	}
	for path, f := range fields {
		names := []string{""}
		if f.isMapping {
			names = unremarkable
		}
		for _, name := range names {
			document := func(value string) any {
				if f.isMapping {
					return f.wrap(map[string]string{name: value})
				}
				return f.wrap(value)
			}
			const canary = "correct horse canary"
			for _, plain := range []string{canary, canary + "${X}", "${X:-" + canary + "}", "$${X}" + canary, "Bearer " + canary, "{{x}} " + canary} {
				file, data, found := parse(document(plain))
				_, err := file.Document()
				if _, refused := errors.AsType[*config.PlainSecretError](err); stored.MatchString(path) && !refused {
					t.Errorf("%s %s: %q is stored (%v)", path, name, plain, err)
				}
				if masked := string(config.MaskDocument([]byte(data), config.Options{Kinds: parts.ConfigKinds()})); strings.Contains(masked, "canary") {
					t.Errorf("%s %s: a stored %q is shown: %s", path, name, plain, masked)
				}
				if err != nil && strings.Contains(err.Error(), "canary") || strings.Contains(found, "canary") {
					t.Errorf("%s %s: %q is shown: %v %s", path, name, plain, err, found)
				}
				if shown := string(file.Source("config.yaml")); strings.Contains(shown, "canary") {
					t.Errorf("%s %s: the source shows %q: %s", path, name, plain, shown)
				}
				if plain == canary && strings.Contains(file.Redact(data), "canary") {
					t.Errorf("%s %s: %q is not redacted", path, name, plain)
				}
			}
			for _, reference := range []string{"${NAME}", "${file:key.txt}", "Bearer ${NAME}", "${A}:${B}", "${NAME:-none}", ""} {
				file, _, _ := parse(document(reference))
				if _, err := file.Document(); err != nil && errors.As(err, new(*config.PlainSecretError)) {
					t.Errorf("%s %s: %q is not stored: %v", path, name, reference, err)
				}
			}
		}
	}
}

// secretFieldName matches fields that hold secrets by their kind.
var secretFieldName = regexp.MustCompile(`^(env|headers)$|(^|_)(key|token|secret|password)$`)

// notSecret are fields with matching names that hold no secret.
var notSecret = map[string]string{
	"session_key": "names a conversation", "secret": "in a variable, whether it is a secret",
}

// isMarked reports whether a field, or each of its variants except null, is marked as secret.
func isMarked(field map[string]any) bool {
	forms, _ := field["anyOf"].([]any)
	for _, form := range forms {
		form, _ := form.(map[string]any)
		if form["enum"] != nil {
			return true // a format keyword
		}
		if form["type"] != "null" && !isMarked(form) {
			return false
		}
	}
	return len(forms) > 0 || field["writeOnly"] == true
}

// TestFieldsForSecretsAreMarked fails for a new secret field without the tag.
func TestFieldsForSecretsAreMarked(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(readAll(t, "../docs/runtime.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	for def, s := range schema.Defs {
		for name, field := range s.Properties {
			if secretFieldName.MatchString(name) && !isMarked(field) && notSecret[name] == "" {
				t.Errorf("%s.%s is not marked as secret: %v", def, name, field)
			}
		}
	}
}
