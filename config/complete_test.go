package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

type rawJSON = json.RawMessage

func TestComplete(t *testing.T) {
	t.Parallel()
	text := lines(
		"version: 1",
		"providers:",
		"  p: {type: vendor, api_key: ${KEY}}",
		"tools:",
		"  t: {type: command, command: [x], timeout_ms: 5}",
		"models:",
		"  gpt-4.1: {provider_id: q, upstream_model: x}",
		"  \"bad id\": {provider_id: p, upstream_model: x}",
		"agents:",
		"  a:",
		"    model_id: nowhere",
		"    delegates: [3, b]",
		"    allowed_tools:",
		"      - t",
		"      - u",
		"  b: {model_id: m}",
	)
	f, load := parseDocument(t, text)
	build := diag.List{
		// kept
		diag.New(diag.ModelNotFound, "agents.a.model_id", "no model nowhere").ForAgent("a"),
		diag.New(diag.UnmatchedTool, "agents.a.allowed_tools[1]", "no tool u").ForAgent("a"),
		diag.New(diag.ProviderNotFound, `models["gpt-4.1"].provider_id`, "no provider q"),
		diag.New(diag.ProviderNotFound, `models["bad id"].provider_id`, "not about the id"),
		diag.New(diag.UnusedDefinition, "tools.t", "nothing uses t"),
		diag.New(diag.NoTools, "agents.b", "no tools").ForAgent("b"),
		diag.New(diag.InvalidSchema, "tools.t.parameters.x", "not there"),
		diag.New(diag.InvalidValue, "tools.t.timeout", "too short"),
		diag.New(diag.InvalidValue, "", "no place"),
		// repetitions
		diag.New(diag.ModelNotFound, "agents.a.model_id", "no model nowhere").ForAgent("a"),
		// follow from the loader's findings
		diag.New(diag.AgentNotFound, "agents.a.delegates[0]", "no agent"),
		diag.New(diag.AgentNotFound, "agents.a.delegates", "an agent is missing"),
		diag.New(diag.InvalidID, `models["bad id"]`, "again"),
		diag.New(diag.EnvBuild, "providers.p", "the key is empty"),
		diag.New(diag.InvalidValue, "providers.p.api_key", "the key is empty"),
	}
	list := f.Complete(load, build)
	want := []string{
		"unset-variable 3:30-3:36 providers.p.api_key |${KEY}|",
		"unused-definition 5:3-5:4 tools.t |t|",
		"invalid-schema 5:3-5:4 tools.t.parameters.x |t|",
		"invalid-value 5:48-5:49 tools.t.timeout |5|",
		"provider-not-found 7:26-7:27 models[\"gpt-4.1\"].provider_id |q|",
		"invalid-id 8:3-8:11 models[\"bad id\"] |\"bad id\"|",
		"provider-not-found 8:27-8:28 models[\"bad id\"].provider_id |p|",
		"no-retry 9:1-9:7 agents |agents|",
		"model-not-found 11:15-11:22 agents.a.model_id |nowhere|",
		"invalid-value 12:17-12:18 agents.a.delegates[0] |3|",
		"unmatched-tool 15:9-15:10 agents.a.allowed_tools[1] |u|",
		"no-tools 16:3-16:4 agents.b |b|",
		"invalid-value 0:0-0:0 |?|",
	}
	if diff := cmp.Diff(want, spans(text, list)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if again := f.Complete(load, build); !cmp.Equal(list, again) {
		t.Error("a second call differs")
	}
}

func TestCompleteAmbiguousModel(t *testing.T) {
	t.Parallel()
	f, load := parseDocument(t, "version: 1\nmodels: {m: {provider_id: p, upstream_model: x}}\nmodel_pools: {m: {members: [{model_id: n}]}}\nagents: {a: {model_id: m}}\n")
	list := f.Complete(load, diag.List{diag.New(diag.AmbiguousModel, "agents.a.model_id", "m is both")})
	// Both the definition and the reference are wrong: these are two places to look at.
	if len(list) != 2 || list[0].Code != diag.DuplicateID || list[1].Code != diag.AmbiguousModel {
		t.Fatal(shows(list))
	}
	related := list[0].Related
	if len(related) != 1 || related[0].Path != "models.m" || related[0].Line != 2 || related[0].Column != 10 {
		t.Errorf("related: %+v", related)
	}
}

func TestNothingSecretIsShown(t *testing.T) {
	t.Parallel()
	env := map[string]string{"LONG": "very-secret-value-of-a-variable", "SHORT": "abc", "MULTI": "line one\nline two"}
	text := lines(
		"version: 1",
		"providers:",
		"  a: {type: vendor, api_key: ${LONG}, base_url: \"ftp://${LONG}\"}",
		"  b: {type: vendor, api_key: \"literal-secret é\", headers: {Authorization: Bearer xyz, X: \"${LONG}\"}}",
		"  c: {type: vendor, api_kee: typo-secret}",
		"  d: {type: vendr, api_key: other-secret}",
		"  e: {type: vendor, api_key: 123456789}",
		"  f: {type: vendor, api_key: ${UNSET:-fallback-secret}}",
		"models: {m: {provider_id: p, upstream_model: x, knowledge_cutoff: \"${SHORT}\"}}",
		"tools: {t: {type: command, command: [x], effect: ${LONG}, level: ${MULTI}}}",
		"agents: {a: {endpoint: {base_url: \"http://x\", auth: {type: ${LONG}, token: |",
		"      block-secret",
		"      more-of-it",
		"}}}}",
	)
	text = strings.Replace(text, "token: |\n      block-secret\n      more-of-it\n}}}}", "token: block-secret}}}}", 1)
	f, load := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, options(env))
	list := f.Complete(load, diag.List{diag.New(diag.EnvBuild, "agents.a", "cannot use very-secret-value-of-a-var… nor %q nor literal-secret é", "abc")})
	shown := shows(list) + string(f.Source("c")) + f.Redact(`very-secret-value-of-a-variable "abc" line one\nline two fallback-secret`)
	for _, secret := range []string{"very-secret", "literal-secret", "xyz", "typo-secret", "other-secret", "123456789", "fallback-secret", `"abc"`, "line two", "block-secret"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in\n%s", secret, shown)
		}
	}
	if !strings.Contains(shown, "${LONG}") {
		t.Error("references are not shown")
	}
	if got, want := len([]rune(string(f.Source("c")))), len([]rune(text)); got != want {
		t.Errorf("the source has %d characters instead of %d", got, want)
	}
	if got := f.Redact("abc \"abc\" abcdef"); got != `abc "${SHORT}" abcdef` {
		t.Errorf("redacted: %s", got)
	}
	if len(list) < 5 {
		t.Error(shows(list))
	}
}

func TestAMisspelledLimitIsShown(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{{Name: "c", Data: []byte("version: 1\nmodels: {m: {provider_id: p, upstream_model: x, max_token: 10000, api_token: 4711, api_key: 4713}}\nagents: {a: {model_id: m, max_token: 20000, token: 4712}}\n")}}, options(nil))
	if shown := string(f.Source("c")); len(list) == 0 || !strings.Contains(shown, "10000") || !strings.Contains(shown, "20000") || strings.Contains(shown, "471") {
		t.Errorf("%s is shown with %v", shown, list)
	}
}

func TestSecretsOfAFileThatDoesNotParse(t *testing.T) {
	t.Parallel()
	f, list := parseDocument(t, "version: 1\nproviders: {p: {api_key: sk-123\n")
	if len(list) != 1 || strings.Contains(string(f.Source("testdata/config.yaml")), "sk-123") {
		t.Errorf("%s\n%s", shows(list), f.Source("testdata/config.yaml"))
	}
}
