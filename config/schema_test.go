package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/agentruntime/agentruntime/config"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema(testKinds())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON converts YAML to an instance for JSON Schema.
func asJSON(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The loader and the schema accept and reject the same inputs.
func TestSchemaAndLoaderAgree(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	model := "{provider_id: p, upstream_model: x%s}"
	agent := "version: 1\nagents: {a: {model_id: m, %s}}\n"
	patch := "version: 1\nagents: {a: {model_id: m, output_schema: {schema: {}}}}\npatches: {agents: {a: {%s}}}\n"
	tool := "version: 1\ntools: {t: {type: command, command: [x], %s}}\n"
	for _, tt := range []struct {
		text  string
		valid bool
	}{
		{"version: 1\n", true},
		{"version: 1.0\n", true},
		{"version: 2\n", false},
		{"version: \"1\"\n", false},
		{"agents: {}\n", false},
		{"version: 1\nbogus: 1\n", false},
		{"version: 1\nproviders:\nmodels: {}\nmodel_pools: ~\ntools:\nplugins:\nremote_agents:\nagents:\ndefaults:\n", true},
		{"version: 1\nproviders: []\n", false},
		{"version: 1\nremote_agents: {}\n", false},

		{"version: 1\nproviders: {p: {type: vendor, api_key: x}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: \"\"}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: \"${X}\"}}\n", true},
		{"version: 1\nproviders: {p: {api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: nothing, api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: echo, api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: echo, delay: 60}}\n", true},
		{"version: 1\nproviders: {p: {type: echo, delay: 60.5}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, base_url: ftp}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, base_url: \"${X}\"}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: b}}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: 1}}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: ~}}}\n", false},
		{"version: 1\nproviders: {p: }\n", false},
		{"version: 1\nproviders: {\"a b\": {type: echo}}\n", false},
		{"version: 1\nproviders: {a.b: {type: echo}}\n", true},
		{"version: 1\ntools: {a.b: {type: command, command: [x]}}\n", false},

		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, "") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", context_window: 0") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", context_window: ~") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [text]}") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [smell]}") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [~]}") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", pricing: {input_per_million: -1}") + "}\n", false},
		{"version: 1\nmodels: {m: {provider_id: p}}\n", false},
		{"version: 1\nmodels: {m: {provider_id: , upstream_model: x}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: [{model_id: m}]}}\n", true},
		{"version: 1\nmodel_pools: {p: {members: [{weight: 2}]}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: ~}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: [{model_id: m}], switch: {quota_retry_after_threshold_secs: 2}}}\n", true},

		{fmt.Sprintf(tool, "timeout: 10s"), true},
		{fmt.Sprintf(tool, "timeout: 1h2m3.5s"), true},
		{fmt.Sprintf(tool, "timeout: \"0\""), true},
		{fmt.Sprintf(tool, "timeout: \"${X}\""), true},
		{fmt.Sprintf(tool, "timeout: 10"), false},
		{fmt.Sprintf(tool, "timeout: 10 s"), false},
		{fmt.Sprintf(tool, "timeout: -1s"), false},
		{fmt.Sprintf(tool, "timeout: ~"), true},
		{fmt.Sprintf(tool, "timeout_ms: 1.5"), true},
		{fmt.Sprintf(tool, "timeout_secs: 1"), true},
		{fmt.Sprintf(tool, "timeout_ms: -1"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1s"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1, timeout: 1s"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1, timeout_secs: 1"), false},
		{fmt.Sprintf(tool, "timeout_ms: ~, timeout: 1s"), false},
		{fmt.Sprintf(tool, "retries: 255"), true},
		{fmt.Sprintf(tool, "retries: 256"), false},
		{fmt.Sprintf(tool, "retries: -1"), false},
		{fmt.Sprintf(tool, "retries: 2.0"), true},
		{fmt.Sprintf(tool, "retries: 2.5"), false},
		{fmt.Sprintf(tool, "limits: {memory: 1}"), true},
		{fmt.Sprintf(tool, "limits: {}"), false},
		{fmt.Sprintf(tool, "limits: ~"), true},
		{fmt.Sprintf(tool, "mounts: [{from: x}]"), true},
		{fmt.Sprintf(tool, "mounts: [{from: x, to: y}]"), false},
		{fmt.Sprintf(tool, "parameters: {a: [1, ~]}"), true},
		{fmt.Sprintf(tool, "extra: 3"), true},
		{fmt.Sprintf(tool, "effect: twice"), false},
		{fmt.Sprintf(tool, "effect: \"${X}\""), true},
		{"version: 1\ntools: {t: {type: command, command: []}}\n", false},
		{"version: 1\ntools: {t: {type: command, command: x}}\n", false},
		{"version: 1\nplugins: {l: {type: log}}\n", true},
		{"version: 1\nplugins: {l: {type: log, level: loud}}\n", false},
		{"version: 1\nremote_agents: [{name: a, base_url: \"http://x\"}]\n", true},
		{"version: 1\nremote_agents: [{name: a}]\n", false},

		{fmt.Sprintf(agent, "max_rounds: 0"), true},
		{fmt.Sprintf(agent, "max_rounds: -1"), false},
		{fmt.Sprintf(agent, "max_rounds: \"1\""), false},
		{fmt.Sprintf(agent, "id: a"), false},
		{fmt.Sprintf(agent, "registry: a"), false},
		{fmt.Sprintf(agent, "allowed_tools: ~"), true},
		{fmt.Sprintf(agent, "allowed_tools: [a]"), true},
		{fmt.Sprintf(agent, "allowed_tools: [1]"), false},
		{fmt.Sprintf(agent, "allowed_tools: a"), false},
		{fmt.Sprintf(agent, "delegates: ~"), true},
		{fmt.Sprintf(agent, "description: 3"), false},
		{fmt.Sprintf(agent, "description: \"\""), true},
		{fmt.Sprintf(agent, "system_prompt: x"), true},
		{fmt.Sprintf(agent, "system_prompt: [x]"), false},
		{fmt.Sprintf(agent, "system_prompt: {file: x, more: y}"), false},
		{fmt.Sprintf(agent, "system_prompt: {}"), false},
		{fmt.Sprintf(agent, "reasoning_effort: low"), true},
		{fmt.Sprintf(agent, "reasoning_effort: lower"), false},
		{fmt.Sprintf(agent, "reasoning_effort: 3"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 101"), false},
		{fmt.Sprintf(agent, "reasoning_effort: off"), true},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 1}"), true},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 0}"), false},
		{fmt.Sprintf(agent, "reasoning_effort: ~"), true},
		{fmt.Sprintf(agent, "stop_conditions: [{type: timeout, seconds: 3}]"), true},
		{fmt.Sprintf(agent, "stop_conditions: [{type: timeout, rounds: 3}]"), false},
		{fmt.Sprintf(agent, "stop_conditions: [{rounds: 3}]"), false},
		{fmt.Sprintf(agent, "stop_conditions: [{type: never}]"), false},
		{fmt.Sprintf(agent, "sections: {retry: {max_retries: 1}, unknown: 3}"), true},
		{fmt.Sprintf(agent, "context_policy: {max_context_tokens: 0}"), false},
		{fmt.Sprintf(agent, "context_policy: {compaction_mode: x}"), false},
		{fmt.Sprintf(agent, "context_policy: {min_savings_ratio: 0.5, tool_result_preview: {max_lines: 1}}"), true},
		{fmt.Sprintf(agent, "context_policy: {min_savings_ratio: 1.01}"), false},
		{fmt.Sprintf(agent, "context_policy: {tool_result_preview: {max_lines: 0}}"), false},
		{fmt.Sprintf(agent, "context_policy: {enable_prompt_cache: maybe}"), false},
		{fmt.Sprintf(agent, "context_policy: {max_tokens: 5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 1, max_cost: 0, max_duration: 1ms, max_model_calls: 1, max_tool_calls: 0}"), true},
		{fmt.Sprintf(agent, "budgets: {}"), true},
		{fmt.Sprintf(agent, "budgets: ~"), true},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 0}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 1000000001}"), false},
		{fmt.Sprintf(agent, "budgets: {max_cost: -0.5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_cost: 1000000.5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_duration: 10}"), false},
		{fmt.Sprintf(agent, "budgets: {max_model_calls: 1000001}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tool_calls: 1000001}"), false},
		{fmt.Sprintf(agent, "budgets: {tokens: 5}"), false},
		{fmt.Sprintf(agent, "loop_detection: {}"), true},
		{fmt.Sprintf(agent, "loop_detection: {enabled: false}"), true},
		{fmt.Sprintf(agent, "loop_detection: true"), false},
		{fmt.Sprintf(agent, "loop_detection: {consecutive_threshold: 2, hard_cutoff_threshold: 3}"), true},
		{fmt.Sprintf(agent, "loop_detection: {consecutive_threshold: 1}"), false},
		{fmt.Sprintf(agent, "loop_detection: {hard_cutoff_threshold: 101}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {max_calls: 0}, read: {max_calls: 1000}}"), true},
		{fmt.Sprintf(agent, "tool_budgets: {look: 3}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {}}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {max_calls: 1001}}"), false},
		{fmt.Sprintf(agent, "tool_budgets: [look]"), false},
		{fmt.Sprintf(agent, "output_schema: {name: mood, schema: {type: object}}"), true},
		{fmt.Sprintf(agent, "output_schema: {name: a b, schema: {type: object}}"), false},
		{fmt.Sprintf(agent, "output_schema: {name: mood}"), false},
		{fmt.Sprintf(agent, "output_schema: {schema: ~}"), false},
		{fmt.Sprintf(agent, "output_schema: {type: object}"), false},
		{fmt.Sprintf(agent, "handoffs: [b], max_handoffs: 0"), true},
		{fmt.Sprintf(agent, "handoffs: b"), false},
		{fmt.Sprintf(agent, "max_handoffs: -1"), false},
		{fmt.Sprintf(agent, "reasoning_effort: 0"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 100"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 50.0"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 1.5"), false},
		{fmt.Sprintf(agent, "reasoning_effort: -1"), false},
		{fmt.Sprintf(agent, "reasoning_effort: \"50\""), false},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 1, level: low}"), false},
		{fmt.Sprintf(agent, "endpoint: {base_url: \"http://x\", timeout_ms: 5, auth: {type: bearer, token: x}}"), true},
		{fmt.Sprintf(agent, "endpoint: {}"), false},
		{fmt.Sprintf(agent, "endpoint: {base_url: \"http://x\", auth: {type: basic, token: x}}"), false},
		{"version: 1\ndefaults: {max_rounds: 3, description: x}\n", true},
		{"version: 1\ndefaults: {endpoint: {base_url: \"http://x\"}}\n", false},
		{"version: 1\ndefaults: {id: x}\n", false},
		{"version: 1\ndefaults: []\n", false},
		{"version: 1\nstore:\nturns: {}\nschedules:\n", true},
		{"version: 1\nx-shared: {anything: [1]}\nx-y: 3\n", true},
		{"version: 1\nx-: 3\n", false},
		{"version: 1\nxy: 3\n", false},
		{fmt.Sprintf(agent, "x-team: {a: 1}"), true},
		{fmt.Sprintf(agent, "budgets: {x-why: cheap}"), true},
		{fmt.Sprintf(tool, "x-owner: me"), true},
		{"version: 1\nstore: {driver: sqlite, dsn: x.db, data_dir: data, retention: {sessions: 720h, events: 168h, keys: 0s}}\n", true},
		{"version: 1\nstore: {driver: mysql}\n", false},
		{"version: 1\nstore: {retention: {turns: 1h}}\n", false},
		{"version: 1\nstore: {retention: {keys: 24}}\n", false},
		{"version: 1\nstore: sqlite\n", false},
		{"version: 1\nturns: {concurrency: 1, per_tenant: 0, lease: 1s, strikes: 1, interaction_timeout: 0s, on_interaction_timeout: fail, indeterminate: ask, revision: latest, on_revision_gone: fail, grace: 0s}\n", true},
		{"version: 1\nturns: {concurrency: 0}\n", false},
		{"version: 1\nturns: {per_tenant: -1}\n", false},
		{"version: 1\nturns: {on_interaction_timeout: ask}\n", false},
		{"version: 1\nturns: {workers: 1}\n", false},
		{oneAgent + "schedules: {s: {cron: \"@daily\", time_zone: UTC, agent: a, prompt: x, session: s, tenant: t, subject: s}}\n", true},
		{oneAgent + "schedules: {s: {cron: \"@daily\", agent: a}}\n", false},
		{oneAgent + "schedules: {s: {cron: \"\", agent: a, prompt: x}}\n", false},
		{oneAgent + "schedules: {s/t: {cron: \"@daily\", agent: a, prompt: x}}\n", false},
		{oneAgent + "schedules: []\n", false},

		{fmt.Sprintf(agent, "extends: ~"), true},
		{fmt.Sprintf(agent, "extends: [a]"), false},
		{"version: 1\nagents: {a: {model_id: m}, b: {extends: a}}\n", true},
		{"version: 1\nagents: {a: {model_id: m, tool_budgets: {t: {max_calls: 1}}, output_schema: {schema: {}}}, b: {extends: a, tool_budgets: {t: ~}, output_schema: {name: x}}}\n", true},
		{"version: 1\nagents: {a: {model_id: m, sections: {retry: {}}}, b: {extends: a, sections: {retry: ~}}}\n", true},
		{"version: 1\nagents: {a: {model_id: m}, b: {extends: a, max_rounds: -1}}\n", false},
		{"version: 1\nagents: {a: {model_id: m}, b: {extends: a, allow_widening: true}}\n", false},
		{"version: 1\npatches:\n", true},
		{"version: 1\npatches: []\n", false},
		{"version: 1\npatches: {agents: , allow_widening: true, x-why: because}\n", true},
		{"version: 1\npatches: {allow_widening: 1}\n", false},
		{"version: 1\npatches: {store: {}}\n", false},
		{"version: 1\npatches: {agents: [a]}\n", false},
		{fmt.Sprintf(patch, "max_rounds: 3, allow_widening: false"), true},
		{fmt.Sprintf(patch, "max_rounds: ~, description: ~, sections: ~, x-a: 1"), true},
		{fmt.Sprintf(patch, "max_rounds: -1"), false},
		{fmt.Sprintf(patch, "max_round: 1"), false},
		{fmt.Sprintf(patch, "allow_widening: 1"), false},
		{fmt.Sprintf(patch, "budgets: {max_tokens: 5, max_cost: ~}"), true},
		{fmt.Sprintf(patch, "budgets: {tokens: 5}"), false},
		{fmt.Sprintf(patch, "output_schema: {name: x}"), true}, // the agent has the schema
		{fmt.Sprintf(patch, "tool_budgets: {t: ~, u: {max_calls: 3}}"), true},
		{fmt.Sprintf(patch, "stop_conditions: [{type: timeout, seconds: 3}]"), true},
		{fmt.Sprintf(patch, "stop_conditions: [{rounds: 3}]"), false},
		{fmt.Sprintf(patch, "sections: {retry: ~, x: {a: 1}}"), true},
		{"version: 1\nagents: {a: {model_id: m}, b: {model_id: m}}\npatches: {agents: {b: ~}}\n", true},
		{"version: 1\nagents: {a: {model_id: m}}\npatches: {agents: {a: 3}}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, "") + "}\npatches: {models: {m: {upstream_model: y, context_window: ~}}}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, "") + "}\npatches: {models: {m: {upstream: y}}}\n", false},
		{fmt.Sprintf(tool, "") + "patches: {tools: {t: {timeout_ms: 5, effect: ~}}}\n", true},
		{fmt.Sprintf(tool, "") + "patches: {tools: {t: {type: command, command: [y, z]}}}\n", true},
		{fmt.Sprintf(tool, "") + "patches: {tools: {t: {timeouts: 5}}}\n", false},
		{fmt.Sprintf(tool, "") + "patches: {tools: {t: {type: nothing}}}\n", false},
	} {
		_, list := parseDocument(t, tt.text)
		if got := !list.HasErrors(); got != tt.valid {
			t.Errorf("%sloader: valid %v, want %v\n%s", tt.text, got, tt.valid, shows(list))
		}
		err := schema.Validate(asJSON(t, tt.text))
		if got := err == nil; got != tt.valid {
			t.Errorf("%sschema: valid %v, want %v\n%v", tt.text, got, tt.valid, err)
		}
	}
}

func TestSchemaOfSections(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for text, valid := range map[string]bool{"1": true, "-1": false, "x": false} {
		err := schema.Validate(asJSON(t, "version: 1\nagents: {a: {sections: {retry: {max_retries: "+text+"}}}}\n"))
		if (err == nil) != valid {
			t.Errorf("max_retries %s: %v", text, err)
		}
	}
}

func TestADefinitionIsCalledAsItsRecordIsWritten(t *testing.T) {
	t.Parallel()
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(testKinds()), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent", "context_policy", "tool_result_preview", "server_tls", "server_jwt", "server_oauth", "oauth_client", "server_a2a", "server_a2a_push"} {
		if doc.Defs[name] == nil {
			t.Errorf("there is no definition %s", name)
		}
	}
}

func TestSchemaIsStable(t *testing.T) {
	t.Parallel()
	one := config.Schema(testKinds())
	for range 5 {
		if !bytes.Equal(one, config.Schema(testKinds())) {
			t.Fatal("the schema differs from call to call")
		}
	}
	var doc map[string]any
	if err := json.Unmarshal(one, &doc); err != nil {
		t.Fatal(err)
	}
	closed(t, "", doc)
	for _, want := range []string{`"default": 16`, `"default": "300s"`, `"default": true`, "Maximum steps per turn"} {
		if !bytes.Contains(one, []byte(want)) {
			t.Errorf("the schema lacks %s", want)
		}
	}
	if empty := config.Schema(config.Kinds{}); !json.Valid(empty) {
		t.Error("the schema without kinds is no JSON")
	}
}

// closed checks that every record rejects unknown fields.
func closed(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if _, record := v["properties"]; record && v["type"] == "object" && v["allOf"] == nil {
			if open := v["additionalProperties"]; open != false {
				t.Errorf("%s allows unknown fields", path)
			}
		}
		for name, child := range v {
			if name != "sections" {
				closed(t, path+"/"+name, child)
			}
		}
	case []any:
		for i, child := range v {
			closed(t, path+"/"+strconv.Itoa(i), child)
		}
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	page := config.Reference(testKinds())
	for _, want := range []string{
		"| `max_rounds` | whole number, 0 or more | `16` | Maximum steps per turn, each a model answer and its tool calls. 0 means unlimited. |",
		"### provider `type: vendor`",
		"| `timeout`, `timeout_ms`, `timeout_secs` | time span | `60s` |",
		"| `api_key` | text | **required** | The key. A secret: never shown. |",
		"## stop_condition",
		"Only with type `timeout`.",
		"| `retry` | How often a model call is repeated. |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	// Server keys and clients, card skills, workflow steps in both spellings and session hooks each
	// have an id; registry entries have keys.
	if strings.Count(page, "| `id` |") != 9 || page != config.Reference(testKinds()) {
		t.Error("the page has an id, or differs from call to call")
	}
}
