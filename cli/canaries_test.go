package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// canaries are distinct texts in the fields of a configuration.
type canaries struct {
	// fields has the field of each text, such as agents.clerk.description.
	fields map[string]string
	// document is the configuration, as JSON.
	document string
}

// plantCanaries returns testdata/canaries.yaml with its texts, and sets the variables that
// it refers to.
func plantCanaries(t *testing.T) *canaries {
	t.Helper()
	var document any
	if err := yaml.Unmarshal([]byte(readAll(t, "testdata/canaries.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	c := &canaries{fields: map[string]string{annKey: "server.keys.0.key", botSecret: "server.oauth.clients.0.secret", encryptionKey: "server.encryption_key"}}
	data, err := json.Marshal(c.plant(t, "", document))
	if err != nil {
		t.Fatal(err)
	}
	c.document = string(data)
	return c
}

func (c *canaries) plant(t *testing.T, path string, value any) any {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(key, "id-") && c.fields[key] == "" {
				c.fields[key] = path + "." + "id"
			}
			out[key] = c.plant(t, strings.TrimPrefix(path+"."+key, "."), v[key])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.plant(t, fmt.Sprintf("%s.%d", path, i), v[i])
		}
		return out
	case string:
		if !strings.Contains(v, "@") {
			return v
		}
		canary := fmt.Sprintf("cny%03dx", len(c.fields))
		c.fields[canary] = path
		if name := strings.ToUpper(canary); strings.HasPrefix(v, "${") {
			t.Setenv(name, strings.Repeat(canary, 5)) // keys have a least length
			return "${" + name + "}"
		}
		return strings.ReplaceAll(v, "@", canary)
	default:
		return value
	}
}

// canaryText matches a text that plantCanaries makes up.
var canaryText = regexp.MustCompile(`cny\d{3}x`)

// in returns the canaries that a text contains.
func (c *canaries) in(text string) []string {
	found := canaryText.FindAllString(text, -1)
	for canary := range c.fields {
		if !strings.HasPrefix(canary, "cny") && strings.Contains(text, canary) {
			found = append(found, canary)
		}
	}
	return found
}

// textFields walks the schema of the configuration for the fields that can hold any text.
type textFields struct {
	defs  map[string]any
	found map[string]bool
}

func (f *textFields) walk(schema any, path string, seen []string) {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		if slices.Contains(seen, name) {
			return
		}
		f.walk(f.defs[name], path, append(slices.Clip(seen), name))
	}
	if schema == true || holdsText(s) {
		f.found[path] = true
	}
	properties, _ := s["properties"].(map[string]any)
	for name, sub := range properties {
		f.walk(sub, strings.TrimPrefix(path+"."+name, "."), seen)
	}
	if sub, ok := s["additionalProperties"]; ok && sub != false {
		f.walk(sub, path+".*", seen)
	}
	if sub, ok := s["items"]; ok {
		f.walk(sub, path+".*", seen)
	}
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[union].([]any)
		for _, one := range list {
			f.walk(one, path, seen)
		}
	}
	for _, branch := range []string{"then", "else"} {
		if sub, ok := s[branch]; ok {
			f.walk(sub, path, seen)
		}
	}
}

// holdsText reports whether a schema accepts any text, or any value.
func holdsText(s map[string]any) bool {
	types, _ := json.Marshal(s["type"])
	pattern, limited := s["pattern"].(string)
	if s["enum"] != nil || s["const"] != nil || limited && !regexp.MustCompile(pattern).MatchString("cny000x") {
		return false
	}
	if strings.Contains(string(types), `"string"`) {
		return true
	}
	for keyword := range s {
		switch keyword {
		case "description", "default", "title", "writeOnly":
		default:
			return false
		}
	}
	return s != nil
}

// TestEveryConfigurationFieldHasACanary fails for a new field that holds text: it belongs
// into testdata/canaries.yaml, or into noCanary with the reason.
func TestEveryConfigurationFieldHasACanary(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(readAll(t, "../docs/runtime.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	defs, _ := schema["$defs"].(map[string]any)
	f := &textFields{defs: defs, found: map[string]bool{}}
	f.walk(schema, "", nil)
	planted := slices.Collect(maps.Values(plantCanaries(t).fields))
	for _, field := range slices.Sorted(maps.Keys(f.found)) {
		matches := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(field), `\*`, `[^.]+`) + `(\.|$)`).MatchString
		has := slices.ContainsFunc(planted, matches)
		var reasons []string
		for pattern, reason := range noCanary {
			if regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(field) {
				reasons = append(reasons, reason)
			}
		}
		if has == (len(reasons) > 0) && !strings.HasPrefix(field, "patches.") {
			t.Errorf("%s: has a canary: %v, reasons to have none: %q", field, has, reasons)
		}
	}
}

// noCanary are the fields that hold texts and have no canary, with the reason.
var noCanary = map[string]string{
	`patches\..*`: "changes a field of another record, which has one",
	`workflows\.((schedules|eventTriggers)\..*|\*\.(timezone|(invokes|match|permissions)\..*|target\.(app|plugin|steps)\..*|target\.agent\.(model|provider|sessionKey|tools\.\*\.(app|operation|plugin))))`: "spells another field, which has one, as Gestalt does",
	`defaults\.[^v].*`: "is inherited by agents, whose field has one",
	`(.*\.)?(\$dir|dir|cwd|root|script|catalog|.*_?file|data_dir|prepared_roots\.\*)`:                                                                                                "is a path of the machine",
	`agents\.\*\.([a-z_.]*model(_id)?|extends|(delegates|handoffs|plugin_ids|active_hook_filter|sections\.tool_search\.always)\.\*|stop_conditions\.\*\.tool_name|endpoint\.target)`: "names another entry",
	`(schedules|model_pools|models|workflows)\.(.*\.)?(agent|model_id|provider_id|tools\.\*|tool|tool\.name)`:                                                                        "names another entry",
	`server\.(.*\.)?(agent|aliases\.\*|default_model|default_agent|tools\.\*|agents\.\*)`:                                                                                            "names another entry",
	`providers\.\*\.location`: "is a region of the vendor",
	`(agents|models)\.\*\.(stop\.\*|service_tier|request\.(omit|set)\.\*)`: "is part of requests alone, as the request of a provider, which has one",
	`.*\.host_connection`:                                                                                               "names another entry",
	`tools\.\*\.auth\.(private_key|redirect_url)`:                                                                       "has a grammar",
	`(agents\.\*\.endpoint|remote_agents\.\*)\.(backend|options\.\*)`:                                                   "is a word or a number of the protocol",
	`agents\.\*\.sections\.(compaction|knowledge_cutoff_context|retry|tool_search)`:                                     "has a schema of its own",
	`.*\.(cron|time_zone|expires|knowledge_cutoff|currency|signal_metadata|agent_output)`:                               "has a grammar",
	`remote_agents\.\*\.(auth\.[^t].*|auth\.token_url|name)`:                                                            "is the same record as the endpoint of an agent",
	`(workflows|schedules)\.\*\.(tenant|subject)`:                                                                       "is the owner, which is a caller here",
	`(server\.(a2a\.grpc_(address|listen)|listen|jwt\.(jwks_url|tenant))|store\.dsn|agent_providers\.\*\.host_address)`: "is where the server listens or connects to",
	`tenants\.may\.(fields|workflows\.tools)\.\*`:                                                                       "names fields or tools",
	`server\..*scopes\.\*`:                          "has a grammar",
	`tools\.\*\.(prefix|(programs|allow_dash)\.\*)`: "is part of names of tools, or names a program or an argument",
}
