package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

func ptr[T any](v T) *T { return &v }

func TestParseReadsEverything(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{{Name: "/etc/runtime/config.yaml", Data: []byte(lines(
		"version: 1",
		"providers:",
		"  v: {type: vendor, api_key: ${KEY}, base_url: \"http://x\", api: responses, headers: {X-A: ${KEY}}}",
		"  e: {type: echo, script: ./replies.yaml, delay: 1e1}",
		"models:",
		"  m: &m",
		"    provider_id: v",
		"    upstream_model: x",
		"    context_window: 128_000",
		"    modalities: {input: [text, image]}",
		"    knowledge_cutoff: 2024-10-01",
		"    pricing: {input_per_million: 2.5, output_per_million: 10}",
		"  n: {<<: *m, upstream_model: y}",
		"model_pools:",
		"  pool: {members: [{model_id: m}, {model_id: n, role: failover_only, weight: 2}], switch: {quota_retry_after_threshold_secs: 1.5}}",
		"tools:",
		"  t:",
		"    type: command",
		"    command: [wc, -w, $$HOME, ]",
		"    parameters: {type: object, z: [1.50, 0x10, 12345678901234567890123, null, yes, 2024-01-01], a: \"${KEY}\\n\"}",
		"    timeout_ms: 1500",
		"    mounts: [{from: data, read_only: true}, {from: /abs}]",
		"    level: high",
		"    retries: 3.0",
		"    extra: {a: [1]}",
		"plugins:",
		"  log: {type: log, level: debug}",
		"remote_agents:",
		"  - {name: cloud, base_url: \"https://x\", auth: {type: bearer, token: ${NONE:-tok}}}",
		"agents:",
		"  z:",
		"    model_id: m",
		"    allowed_tools:",
		"    excluded_tools: []",
		"    reasoning_effort: {budget: 10}",
		"    max_rounds: ~",
		"    stop_conditions: [{type: timeout, seconds: 2}, {type: max_rounds, rounds: 3}]",
		"    sections: {retry: {max_retries: 1}, none: }",
		"  a: {endpoint: {base_url: \"https://x\", timeout: 1m, options: {poll_interval: 2s}}}",
		"defaults: {model_id: m, reasoning_effort: low}",
	))}}, options(map[string]string{"KEY": "k\"ey"}))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	if f.Partial {
		t.Error("the file is partial")
	}
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("vendor", f.Providers[0].Config, &vendor{APIKey: "k\"ey", BaseURL: "http://x", API: "responses", Headers: map[string]string{"X-A": "k\"ey"}})
	check("echo", f.Providers[1].Config, &echo{Script: "/etc/runtime/replies.yaml", Delay: 10})
	check("kind", f.Providers[1].Kind.Type, "echo")
	m := spec.Model{
		ID: "m", ProviderID: "v", UpstreamModel: "x", ContextWindow: ptr(128000), KnowledgeCutoff: "2024-10-01",
		Modalities: &spec.Modalities{Input: []spec.Modality{"text", "image"}}, Pricing: &spec.Pricing{InputPerMillion: 2.5, OutputPerMillion: 10},
	}
	n := m
	n.ID, n.UpstreamModel = "n", "y"
	check("models", f.Models, []spec.Model{m, n})
	check("pools", f.Pools, []spec.Pool{{
		ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}, {ModelID: "n", Role: spec.RoleFailoverOnly, Weight: ptr(2.0)}},
		Switch: &spec.Switch{QuotaRetryAfter: ptr(second * 3 / 2)},
	}})
	check("tool", f.Tools[0].Config, &command{
		Command:    []string{"wc", "-w", "$HOME"},
		Parameters: []byte(`{"type":"object","z":[1.50,16,12345678901234567890123,null,"yes","2024-01-01"],"a":"k\"ey\n"}`),
		Timeout:    second * 3 / 2, Level: 2, Retries: 3, Extra: map[string]any{"a": []any{1.0}},
		Mounts: []mount{{From: "/etc/runtime/data", RO: true}, {From: "/abs"}},
	})
	check("plugin", f.Plugins[0].Config, &audit{Level: "debug"})
	check("sources", f.RemoteAgents[0].Auth.Token, "tok")
	check("agents", f.Agents, []*spec.Agent{
		{
			ID: "z", ModelID: "m", AllowedTools: spec.Names{}, ExcludedTools: spec.Names{}, ReasoningEffort: &spec.Effort{Budget: 10},
			StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: ptr(2 * second)}, {Type: spec.StopMaxRounds, Rounds: 3}},
			Sections:       spec.Sections{"retry": []byte(`{"max_retries":1}`), "none": []byte("null")},
		},
		{ID: "a", Endpoint: &spec.Endpoint{BaseURL: "https://x", Timeout: ptr(60 * second), Options: map[string]rawJSON{"poll_interval": rawJSON(`"2s"`)}}},
	})
	check("defaults", f.Defaults, &spec.Defaults{Agent: spec.Agent{ModelID: "m", ReasoningEffort: &spec.Effort{Level: "low"}}})
}

func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	one := config.Source{Name: "one/a.yaml", Data: []byte(lines(
		"version: 1",
		"providers: {p: {type: echo, script: x}, q: {type: echo, script: x}}",
		"agents:",
		"  a: {model_id: 3}",
		"  b: {model_id: m}",
		"remote_agents: [{name: r, base_url: \"http://x\"}]",
		"defaults: {max_rounds: 3, model_id: m, sections: {x: {a: 1}, y: {a: 1}}}",
	))}
	two := config.Source{Name: "two/b.yaml", Data: []byte(lines(
		"version: 1",
		"providers: {r: {type: echo, script: x}, p: {type: echo, script: y}}",
		"agents:",
		"  c: {max_rounds: x}",
		"  a: {}",
		"remote_agents: [{name: s, base_url: \"http://x\"}, {name: r, base_url: \"http://x\"}]",
		"defaults: {max_rounds: 4, sections: {y: {b: 1}}}",
	))}
	three := config.Source{Name: "three.yaml", Data: []byte("version: 1\nproviders: {p: {type: echo, script: z}}\nagents:\ndefaults: {sections: {z: 1}}\n")}
	f, list := config.Parse([]config.Source{one, two, three}, options(nil))
	want := []string{
		"two/b.yaml invalid-value 4:19-4:20 agents.c.max_rounds |x|",
		"two/b.yaml duplicate-id 6:57-6:58 remote_agents[2].name |r|",
	}
	var got []string
	for _, d := range list {
		got = append(got, d.File+" "+spans(string(two.Data), diag.List{d})[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if len(list) == 2 && (len(list[1].Related) != 1 || list[1].Related[0].File != "one/a.yaml" || list[1].Related[0].Path != "remote_agents[0].name") {
		t.Errorf("related: %+v", list[1].Related)
	}
	var scripts, agents []string
	for _, p := range f.Providers {
		if e, ok := p.Config.(*echo); ok {
			scripts = append(scripts, p.ID+"="+e.Script)
		}
	}
	for _, a := range f.Agents {
		agents = append(agents, a.ID)
	}
	if diff := cmp.Diff([]string{"p=z", "q=one/x", "r=two/x"}, scripts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, agents); diff != "" {
		t.Error(diff)
	}
	defaults := &spec.Defaults{Agent: spec.Agent{MaxRounds: ptr(4), ModelID: "m", Sections: spec.Sections{
		"x": rawJSON(`{"a":1}`), "y": rawJSON(`{"b":1}`), "z": rawJSON("1"),
	}}}
	if diff := cmp.Diff(defaults, f.Defaults); diff != "" {
		t.Error(diff)
	}
}

func TestOneBrokenFileOfSeveral(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{
		{Name: "a", Data: []byte("version: 1\nmodels: [")},
		{Name: "b", Data: []byte("version: 3\nbogus: 1\n")},
		{Name: "c", Data: []byte("version: 1\nagents: {a: {model_id: m, bogus: 1}}\n")},
	}, options(nil))
	if !f.Partial || len(list) != 3 || list[0].Code != diag.InvalidYAML || list[1].Code != diag.UnsupportedVersion || list[2].Code != diag.UnknownField {
		t.Errorf("partial %v: %s", f.Partial, shows(list))
	}
	build := diag.List{diag.New(diag.ModelNotFound, "agents.a.model_id", "no model")}
	if list := f.Complete(list, build); len(list) != 3 {
		t.Error(shows(list))
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	files := map[string]string{
		path:                               "version: 1\n" + oneProvider + oneModel + "agents:\n  a: {model_id: m, system_prompt: {file: prompts/a.md}}\n  b: {model_id: m, system_prompt: {file: prompts/b.md}}\n",
		filepath.Join(dir, "prompts/a.md"): "\ufeffYou are ${A}.\n",
		filepath.Join(dir, "prompts/b.md"): "\xff",
	}
	if err := os.Mkdir(filepath.Join(dir, "prompts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, list, err := config.Load([]string{path}, options(nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Path != "agents.b.system_prompt.file" || list[0].File != path {
		t.Error(shows(list))
	}
	if got := f.Agents[0].SystemPrompt; got != "You are ${A}.\n" {
		t.Errorf("the prompt is %q", got)
	}
	if string(f.Source(path)) != files[path] || f.Source("other") != nil {
		t.Error("the source differs")
	}
	if want := []string{path, filepath.Join(dir, "prompts/a.md"), filepath.Join(dir, "prompts/b.md")}; !slices.Equal(f.Files(), want) {
		t.Errorf("it consists of %v", f.Files())
	}
	missing := filepath.Join(dir, "none.yaml")
	if _, _, err := config.Load([]string{path, missing, dir}, options(nil)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
	if _, _, err := config.Load(nil, options(nil)); err == nil {
		t.Error("no file gave no error")
	}
}

// The record of a kind determines where its files are. Files that the runtime creates or uses later
// are not part of a configuration.
func TestTheFilesOfAConfiguration(t *testing.T) {
	t.Parallel()
	const text = "version: 1\n" + oneModel + `
providers:
  p: {type: echo, script: replies.yaml}
  q: {type: vendor, api_key: "${file:/run/secrets/key}"}
agents:
  a: {model_id: m, system_prompt: {file: none.md}}
store: {driver: sqlite, data_dir: state}
server:
  tls: {cert_file: tls/cert.pem, key_file: tls/key.pem}
  jwt: {issuer: "https://i.example", audience: x, jwks_file: keys.json}
  a2a: {signing_key_file: cards.pem}
`
	f, _ := config.Parse([]config.Source{{Name: "conf/one.yaml", Data: []byte(text)}, {Name: "conf/two.yaml", Data: []byte("version: 1\n")}}, options(nil))
	want := []string{
		"conf/one.yaml", "conf/two.yaml",
		"/run/secrets/key", "conf/keys.json", "conf/none.md", "conf/replies.yaml", "conf/tls/cert.pem", "conf/tls/key.pem",
	}
	if diff := cmp.Diff(want, f.Files()); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
}

func TestRequireVariables(t *testing.T) {
	t.Parallel()
	text := "version: 1\nproviders:\n  p: {type: vendor, api_key: ${KEY}}\n  q: {type: vendor, api_key: ${KEY:-x}}\n"
	for _, strict := range []bool{false, true} {
		opts := options(nil)
		opts.RequireVariables = strict
		f, list := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, opts)
		if len(list) != 1 || list[0].Code != diag.UnsetVariable || list.HasErrors() != strict {
			t.Errorf("strict %v: %s", strict, shows(list))
		}
		if f.Providers[0].Broken != strict || f.Providers[1].Broken {
			t.Errorf("strict %v: broken %v, %v", strict, f.Providers[0].Broken, f.Providers[1].Broken)
		}
	}
}

func TestBrokenEntriesAreListed(t *testing.T) {
	t.Parallel()
	f, _ := parseDocument(t, "version: 1\nproviders: {a: {type: x}, b: {type: vendor}, c: 3, \"d/e\": {type: echo}}\nagents: {x: {bogus: 1}, y: 3}\n")
	var got []string
	for _, p := range f.Providers {
		if !p.Broken {
			t.Errorf("%s is not broken", p.ID)
		}
		got = append(got, p.ID)
	}
	for _, a := range f.Agents {
		got = append(got, a.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d/e", "x", "y"}, got); diff != "" {
		t.Error(diff)
	}
}

// An agent may get required fields from the defaults; a mistake there is reported once.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"the model":         {"version: 1\ndefaults: {model_id: m}\nagents: {a: {}, b: {}}\n", nil},
		"an unset model":    {"version: 1\ndefaults: {model_id: ${M}}\nagents: {a: {}, b: {}}\n", []string{"unset-variable 2:22-2:26 defaults.model_id |${M}|"}},
		"a broken model":    {"version: 1\ndefaults: {model_id: 3}\nagents: {a: {}, b: {}}\n", []string{"invalid-value 2:22-2:23 defaults.model_id |3|"}},
		"a broken limit":    {"version: 1\ndefaults: {model_id: m, stop_conditions: [{type: loop_detection, window: 99}]}\nagents: {a: {}, b: {}}\n", []string{"invalid-value 2:74-2:76 defaults.stop_conditions[0].window |99|"}},
		"nothing":           {"version: 1\ndefaults:\nagents: {a: {model_id: m}}\n", nil},
		"nothing in agents": {"version: 1\ndefaults: {}\nagents: {a: {}}\n", []string{"missing-field 3:10-3:11 agents.a.model_id |a|"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := parseDocument(t, tt.text)
			if diff := cmp.Diff(tt.want, spans(tt.text, list)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%s", diff, shows(list))
			}
		})
	}
}

// Unquoted references also work in flow collections.
func TestReferencesInFlow(t *testing.T) {
	t.Parallel()
	text := "version: 1\nagents: {a: {model_id: ${M}, description: pre ${D:-x, y} post, delegates: [${M}, $${M}, a\uE000], bogus: 1}}\n"
	f, list := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, options(map[string]string{"M": "model"}))
	if diff := cmp.Diff([]string{"unknown-field 2:94-2:99 agents.a.bogus |bogus|"}, spans(text, list)); diff != "" {
		t.Fatal(diff)
	}
	want := &spec.Agent{ID: "a", ModelID: "model", Description: "pre x, y post", Delegates: []string{"model", "${M}", "a\uE000"}}
	if diff := cmp.Diff(want, f.Agents[0]); diff != "" {
		t.Error(diff)
	}
}

func TestRemoteAgentsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	f, _ := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(
		"version: 1\nremote_agents: [{name: a, base_url: \"http://x\"}, {name: a, base_url: \"http://y\"}, {name: c, base_url: \"http://z\"}]\n")}}, config.Options{})
	if len(f.RemoteAgents) != 3 || f.RemoteAgents[2].Name != "c" {
		t.Errorf("got %+v; a path of building must lead to its source", f.RemoteAgents)
	}
}
