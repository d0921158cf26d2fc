package settings_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
)

// settingCase is a setting of the process that has no effect in some configurations.
// In the other ones there is no warning of it.
type settingCase struct {
	without, with string
}

// always is a setting that has an effect wherever it is valid.
var always = settingCase{}

const (
	noA2A  = `{"a2a":{"enabled":false,`
	noRuns = `{"agent_runs":{"enabled":false,`

	noSessions = `{"sessions":{"enabled":false,`
)

// judged are all settings of the server, the store and turns. One that is new must
// be put here: with always, or with a configuration in which it has no effect and is
// warned of, and one in which it has.
var judged = map[string]map[string]settingCase{
	"server": {
		"listen": always, "public_url": always, "allow_unauthenticated": always, "cors_origins": always,
		"tls.cert_file": always, "tls.key_file": always,
		"keys.id": always, "keys.hash": always, "keys.key": always, "keys.tenant": always, "keys.subject": always,
		"keys.agents": always, "keys.scopes": always, "keys.expires": always,
		"oauth.clients.id": always, "oauth.clients.secret_hash": always, "oauth.clients.secret": always, "oauth.clients.tenant": always,
		"oauth.clients.subject": always, "oauth.clients.agents": always, "oauth.clients.scopes": always, "oauth.clients.expires": always,
		"oauth.token_ttl": always,
		"jwt.issuer":      always, "jwt.audience": always, "jwt.jwks_url": always, "jwt.jwks_file": always, "jwt.algorithms": always,
		"jwt.tenant_claim": always, "jwt.subject_claim": always, "jwt.scopes_claim": always,
		"jwt.tenant":            always, // beside tenant_claim it is an error
		"limits.max_body_bytes": always, "limits.max_header_bytes": always, "limits.read_header_timeout": always,
		"limits.read_timeout": always, "limits.write_timeout": always, "limits.idle_timeout": always,
		"rate.per_second": always, "rate.burst": always, "rate.concurrency": always, // burst alone is an error
		"encryption_key": {
			`{"encryption_key":"` + encryptionKey + `","agent_runs":{"enabled":false},"a2a":{"push":{"enabled":false}}}`,
			`{"encryption_key":"` + encryptionKey + `","agent_runs":{"enabled":false}}`,
		},
		"a2a.enabled":      always,
		"openai":           always,
		"agui":             always,
		"aisdk":            always,
		"mcp":              always,
		"mcp_prompts.name": always, "mcp_prompts.description": always, "mcp_prompts.text": always,
		"mcp_prompts.arguments.name": always, "mcp_prompts.arguments.description": always, "mcp_prompts.arguments.required": always,
		"mcp_resources.uri": always, "mcp_resources.name": always, "mcp_resources.description": always, "mcp_resources.mime_type": always, "mcp_resources.text": always,
		"console":                       always,
		"a2a.v0_3":                      {noA2A + `"v0_3":true}}`, `{"a2a":{"v0_3":true}}`},
		"a2a.default_agent":             {noA2A + `"default_agent":"a"}}`, `{"a2a":{"default_agent":"a"}}`},
		"a2a.unique_message_ids":        {noA2A + `"unique_message_ids":true}}`, `{"a2a":{"unique_message_ids":true}}`},
		"a2a.grpc_listen":               {noA2A + `"grpc_listen":"127.0.0.1:1"}}`, `{"a2a":{"grpc_listen":"127.0.0.1:1"}}`},
		"a2a.grpc_address":              {noA2A + `"grpc_listen":"127.0.0.1:1","grpc_address":"a.example:1"}}`, `{"a2a":{"grpc_listen":"127.0.0.1:1","grpc_address":"a.example:1"}}`},
		"a2a.organization":              {noA2A + `"organization":"A","organization_url":"https://a.example"}}`, `{"a2a":{"organization":"A","organization_url":"https://a.example"}}`},
		"a2a.organization_url":          {noA2A + `"organization":"A","organization_url":"https://a.example"}}`, `{"a2a":{"organization":"A","organization_url":"https://a.example"}}`},
		"a2a.max_wait":                  {noA2A + `"max_wait":"1s"}}`, `{"a2a":{"max_wait":"1s"}}`},
		"a2a.signing_key_file":          {noA2A + `"signing_key_file":"f"}}`, `{"a2a":{"signing_key_file":"f"}}`},
		"a2a.push.enabled":              {noA2A + `"push":{"enabled":true}}}`, `{"a2a":{"push":{"enabled":true}}}`},
		"a2a.push.allow_private":        {`{"a2a":{"push":{"enabled":false,"allow_private":["h"]}}}`, `{"a2a":{"push":{"allow_private":["h"]}}}`},
		"agent_runs.enabled":            always,
		"workflows.max_starts":          {`{"workflows":{"enabled":false,"max_starts":5}}`, `{"workflows":{"max_starts":5}}`},
		"agent_runs.local_tool_timeout": {noRuns + `"local_tool_timeout":"1s"}}`, `{"agent_runs":{"local_tool_timeout":"1s"}}`},
		"agent_runs.strict_tool_results": {
			noRuns + `"strict_tool_results":true}}`, `{"agent_runs":{"strict_tool_results":true}}`,
		},
		"agent_runs.tools":         {noRuns + `"tools":[]}}`, `{"agent_runs":{"tools":[]}}`},
		"agent_runs.tool_budgets":  {noRuns + `"tool_budgets":{"a":1}}}`, `{"agent_runs":{"tool_budgets":{"a":1}}}`},
		"agent_runs.allow_private": {noRuns + `"allow_private":["h"]}}`, `{"agent_runs":{"allow_private":["h"]}}`},
		"agents.enabled":           always,
		"agents.agents":            {`{"agents":{"enabled":false,"agents":["a"]}}`, `{"agents":{"agents":["a"]}}`},
		"agents.max_wait":          {`{"agents":{"enabled":false,"max_wait":"1s"}}`, `{"agents":{"max_wait":"1s"}}`},
		"native.enabled":           always,
		"admin.enabled":            always,
		"workflows.enabled":        always,
		"sessions.enabled":         always,
		"sessions.default_tool_narrowing_threshold": {
			noSessions + `"default_tool_narrowing_threshold":9}}`, `{"sessions":{"default_tool_narrowing_threshold":9}}`,
		},
		"sessions.legacy_metrics": {
			noSessions + `"legacy_metrics":true}}`, `{"sessions":{"legacy_metrics":true}}`,
		},
		"sessions.providers": {
			noSessions + `"providers":{"a":{}}}}`, `{"sessions":{"providers":{"a":{}}}}`,
		},
	},
	"store": {
		"driver": always, "dsn": always, // a dsn of memory is an error
		"data_dir":           {`{"driver":"memory","data_dir":"d"}`, `{"data_dir":"d"}`},
		"retention.sessions": always, "retention.events": always, "retention.keys": always, "retention.usage": always, // memory is pruned, too
	},
	"turns": {
		"concurrency": always, "per_tenant": always, "lease": always, "strikes": always, "memory_limit": always, "interaction_timeout": always,
		"on_revision_gone":       {`{"on_revision_gone":"latest","revision":"latest"}`, `{"on_revision_gone":"latest"}`},
		"on_interaction_timeout": {`{"on_interaction_timeout":"fail"}`, `{"on_interaction_timeout":"fail","interaction_timeout":"1s"}`},
		"indeterminate":          always, "grace": always, "revision": always, "handoff": always, "keep_requests": always,
	},
	"workspaces": {
		"dir":                      {`{"dir":"d"}`, `{"dir":"d","git":{"allowed_repositories":["h/*"]}}`},
		"prepare_timeout":          {`{"prepare_timeout":"1m"}`, `{"prepare_timeout":"1m","git":{"allowed_repositories":["h/*"]}}`},
		"max_bytes":                {`{"max_bytes":2000000}`, `{"max_bytes":2000000,"git":{"allowed_repositories":["h/*"]}}`},
		"git.protocols":            {`{"git":{"protocols":["https"]}}`, `{"git":{"protocols":["https"],"allowed_repositories":["h/*"]}}`},
		"git.env":                  {`{"git":{"env":{"A":"b"}}}`, `{"git":{"env":{"A":"b"},"allowed_repositories":["h/*"]}}`},
		"git.allowed_repositories": always, "prepared_roots": always,
	},
}

const encryptionKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// TestEverySettingIsJudgedForItsEffect holds the table to the settings that there are,
// and the warnings to the table.
func TestEverySettingIsJudgedForItsEffect(t *testing.T) {
	t.Parallel()
	for part, make := range map[string]func() interface{ Validate() diag.List }{
		"server": func() interface{ Validate() diag.List } { return new(settings.Server) },
		"store":  func() interface{ Validate() diag.List } { return new(settings.Store) },
		"turns":  func() interface{ Validate() diag.List } { return new(settings.Turns) },

		"workspaces": func() interface{ Validate() diag.List } { return new(settings.Workspaces) },
	} {
		there := settingsOf("", reflect.TypeOf(make()).Elem())
		for _, path := range there {
			if _, ok := judged[part][path]; !ok {
				t.Errorf("%s.%s is not judged: can it be without effect?", part, path)
			}
		}
		warned := func(text, path string) bool {
			record := make()
			if err := json.Unmarshal([]byte(text), record); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			list := record.Validate()
			if list.HasErrors() {
				t.Errorf("%s: %v", text, list)
			}
			return slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.NoEffect && d.Path == path })
		}
		for path, c := range judged[part] {
			if !slices.Contains(there, path) {
				t.Errorf("there is no %s.%s", part, path)
			}
			if c != always && (!warned(c.without, path) || warned(c.with, path)) {
				t.Errorf("%s.%s: warned of %t in %s, and %t in %s", part, path, warned(c.without, path), c.without, warned(c.with, path), c.with)
			}
		}
	}
}

// settingsOf returns the paths of the settings of a struct, and of those in it.
func settingsOf(base string, t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := strings.TrimPrefix(base+"."+name, ".")
		of := f.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[settings.Date]() {
			list = append(list, settingsOf(path, of)...)
		} else {
			list = append(list, path)
		}
	}
	return list
}
