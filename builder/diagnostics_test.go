package builder_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// placeless compares diagnostics of records made in Go, which have no file position where the key
// or the value could be marked.
var placeless = cmpopts.IgnoreFields(diag.Diagnostic{}, "OfKey")

// row is a mistake and its one diagnostic.
type row struct {
	name  string
	wrong func(*builder.AgentRuntimeBuilder)
	want  diag.Diagnostic
	// typed reports whether Build's error contains the right typed error; nil if there should be no
	// error.
	typed func(error) bool
	// ask checks errors that only appear when a built runtime is used.
	ask func(*testing.T, *builder.AgentRuntimeBuilder) error
}

// found is the expected diagnostic of a row.
func found(code diag.Code, agent, path, message, hint string) diag.Diagnostic {
	return diag.Diagnostic{Code: code, Severity: code.Info().Severity, Message: message, Hint: hint, Agent: agent, Path: path}
}

// rows has every row of the diagnostics table that Go code can cause.
func rows() []row {
	return append(turnRows(), []row{
		{
			name: "missing-field: a model without a provider",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModel(spec.Model{ID: "n", UpstreamModel: "up"}).WithAgentSpec(spec.Agent{ID: "a", ModelID: "n"}).
					WithAgentSpec(spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want:  found(diag.MissingField, "", "models.n.provider_id", "provider_id is required", ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.MissingField }),
		},
		{
			name:  "missing-field: an agent without a model",
			wrong: func(b *builder.AgentRuntimeBuilder) { b.WithAgentSpecs(agent(), spec.Agent{ID: "b"}) },
			want: found(diag.MissingField, "b", "agents.b.model_id", `agent "b" has no model_id`,
				"name a model or a model pool, or give the agent an endpoint"),
			typed: is(func(d diag.Diagnostic) bool { return d.Agent == "b" }),
		},
		{
			name: "invalid-value",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.MaxRounds = new(-1) }))
			},
			want:  found(diag.InvalidValue, "a", "agents.a.max_rounds", "max_rounds is -1; it must be 0 or more", ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidValue }),
		},
		{
			name: "invalid-value: a provider that is nil gives nothing else",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithProvider("q", nil).WithModel(spec.Model{ID: "n", ProviderID: "q", UpstreamModel: "up"}).
					WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "n"})
			},
			want:  found(diag.InvalidValue, "", "providers.q", `provider "q" is nil`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Path == "providers.q" }),
		},
		{
			name:  "duplicate-id: two agents",
			wrong: func(b *builder.AgentRuntimeBuilder) { b.WithAgentSpecs(agent(), agent()) },
			want:  found(diag.DuplicateID, "", "agents.a", `agent "a" is already registered`, ""),
			typed: is(func(e *registry.DuplicateError) bool { return e.Kind == "agent" && e.ID == "a" && e.Other == "" }),
		},
		{
			name: "duplicate-id: a model and a pool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModelPool(spec.Pool{ID: "n", Members: []spec.PoolMember{{ModelID: "m"}}}).
					WithModel(spec.Model{ID: "n", ProviderID: "p", UpstreamModel: "up"}).
					WithModelPool(spec.Pool{ID: "o", Members: []spec.PoolMember{{ModelID: "n"}}}).
					WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "o"})
			},
			want:  found(diag.DuplicateID, "", "models.n", `model "n" has the id of a model pool`, ""),
			typed: is(func(e *registry.DuplicateError) bool { return e.Kind == "model" && e.Other == "model pool" }),
		},
		{
			name: "duplicate-id: two remote sources",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent()).WithBackend(peers{kind: "a2a"}).
					WithRemoteAgents(spec.RemoteSource{Name: "cloud", BaseURL: "https://a.example"}).
					WithRemoteAgents(spec.RemoteSource{Name: "cloud", BaseURL: "https://b.example"})
			},
			want:  found(diag.DuplicateID, "", "remote_agents[1].name", `remote source "cloud" is already registered`, ""),
			typed: is(func(e *registry.DuplicateError) bool { return e.Kind == "remote source" }),
		},
		{
			name: "invalid-id",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(), spec.Agent{ID: "b/c", ModelID: "m"})
			},
			want: found(diag.InvalidID, "", "agents.b/c", `agent id "b/c" is not allowed`,
				"'/' is reserved for agents of a remote source (source/agent)"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidID }),
		},
		{
			name:  "invalid-id: a tool's",
			wrong: func(b *builder.AgentRuntimeBuilder) { b.WithTool("get weather", plain{}).WithAgentSpec(agent()) },
			want: found(diag.InvalidID, "", `tools["get weather"]`, `tool id "get weather" is not allowed`,
				"a tool id is shown to models: 1 to 64 letters, digits, '_' or '-'"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidID }),
		},
		{
			name: "invalid-id: a plugin with the prefix of the runtime's own",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("runtime:mine", plugin{}).WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"runtime:mine"} }))
			},
			want: found(diag.InvalidID, "", "plugins.runtime:mine",
				`plugin id "runtime:mine" is reserved: runtime: begins the ids of the runtime's own plugins`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidID }),
		},
		{
			name: "invalid-id: an agent with the id of those that runs bring along",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.ID = spec.EphemeralAgent }))
			},
			want:  found(diag.InvalidID, "", "agents.ephemeral", `agent id "ephemeral" is reserved for agents that runs bring along`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidID }),
		},
		{
			name: "agent-not-found",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates = []string{"helpr"} }), spec.Agent{ID: "helper", ModelID: "m"})
			},
			want: found(diag.AgentNotFound, "a", "agents.a.delegates[0]", `agent "helpr" is not defined`, `did you mean "helper"?`),
			typed: is(func(e *resolve.AgentNotFoundError) bool {
				return e.ID == "helpr" && e.Agent == "a" && e.Nearest == "helper" && e.Path == "agents.a.delegates[0]"
			}),
		},
		{
			name: "agent-not-found: one that is asked for",
			want: found(diag.AgentNotFound, "", "", `agent "assistent" is not defined`, `did you mean "assistant"?`),
			ask: func(t *testing.T, b *builder.AgentRuntimeBuilder) error {
				rt, err := b.WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "m"}).Build()
				if err != nil {
					t.Fatal(err)
				}
				_, err = rt.Resolve(t.Context(), "assistent", resolve.Options{})
				return err
			},
			typed: is(func(e *resolve.AgentNotFoundError) bool { return e.ID == "assistent" && e.Agent == "" }),
		},
		{
			name: "model-not-found",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModel(spec.Model{ID: "default", ProviderID: "p", UpstreamModel: "up"}).
					WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "defualt"})
			},
			want: found(diag.ModelNotFound, "b", "agents.b.model_id", `model "defualt" is not defined`, `did you mean "default"?`),
			typed: is(func(e *resolve.ModelNotFoundError) bool {
				return e.ID == "defualt" && e.Agent == "b" && e.Nearest == "default"
			}),
		},
		{
			name: "model-not-found: a vendor's name of a model that is declared",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModel(spec.Model{ID: "default", ProviderID: "p", UpstreamModel: "gpt-4o"}).
					WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "openai/gpt-4o"})
			},
			want:  found(diag.ModelNotFound, "b", "agents.b.model_id", `model "openai/gpt-4o" is not defined`, "write default, the id of the model under models"),
			typed: is(func(e *resolve.ModelNotFoundError) bool { return e.Nearest == "default" }),
		},
		{
			name: "model-not-found: a vendor's name of a model that is not",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "gpt-4o"})
			},
			want: found(diag.ModelNotFound, "b", "agents.b.model_id", `model "gpt-4o" is not defined`,
				"that is a vendor's name of a model: declare it, as in models: {main: {provider_id: p, upstream_model: gpt-4o}}, and write its id"),
			typed: is(func(e *resolve.ModelNotFoundError) bool { return e.Nearest == "" }),
		},
		{
			name: "model-not-found: the id of a provider",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "p"})
			},
			want: found(diag.ModelNotFound, "b", "agents.b.model_id", `model "p" is not defined`,
				`"p" is a provider; write the id of one of its models, such as m`),
			typed: is(func(e *resolve.ModelNotFoundError) bool { return e.Nearest == "m" }),
		},
		{
			name: "model-not-found: a member of a pool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModelPool(spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}, {ModelID: "gone"}}}).
					WithAgentSpecs(spec.Agent{ID: "a", ModelID: "pool"}, spec.Agent{ID: "b", Description: "Helps.", ModelID: "pool"})
			},
			want:  found(diag.ModelNotFound, "", "model_pools.pool.members[1].model_id", `model "gone" is not defined`, ""),
			typed: is(func(e *resolve.ModelNotFoundError) bool { return e.ID == "gone" }),
		},
		{
			name: "provider-not-found",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithProvider("openai", says("")).WithModel(spec.Model{ID: "n", ProviderID: "opnai", UpstreamModel: "up"}).
					WithAgentSpecs(agent(), spec.Agent{ID: "b", Description: "Helps.", ModelID: "n"})
			},
			want:  found(diag.ProviderNotFound, "", "models.n.provider_id", `provider "opnai" is not defined`, `did you mean "openai"?`),
			typed: is(func(e *resolve.ProviderNotFoundError) bool { return e.ID == "opnai" && e.Nearest == "openai" }),
		},
		{
			name: "plugin-not-found",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("permission", plugin{}).
					WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"permision"} }))
			},
			want:  found(diag.PluginNotFound, "a", "agents.a.plugin_ids[0]", `plugin "permision" is not defined`, `did you mean "permission"?`),
			typed: is(func(e *resolve.PluginNotFoundError) bool { return e.ID == "permision" && e.Nearest == "permission" }),
		},
		{
			name: "ambiguous-model",
			// The builder also reports duplicate-id; a publish reports only this.
			want: found(diag.AmbiguousModel, "a", "agents.a.model_id", `"m" is both a model and a model pool`, "rename one of them"),
			ask: func(t *testing.T, b *builder.AgentRuntimeBuilder) error {
				rt, err := b.WithAgentSpec(agent()).Build()
				if err != nil {
					t.Fatal(err)
				}
				_, err = rt.Publish(t.Context(), func(d *registry.Draft) error {
					d.Pools.Put("m", &spec.Pool{ID: "m", Members: []spec.PoolMember{{ModelID: "m"}}})
					return nil
				})
				return err
			},
			typed: is(func(e *resolve.AmbiguousModelError) bool { return e.ID == "m" && e.Agent == "a" }),
		},
		{
			name: "invalid-plugin-config",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("guard", claims("guard", `{"properties": {"rules": {"items": {"required": ["tool"]}}}}`)).
					WithAgentSpec(agent(func(a *spec.Agent) {
						a.PluginIDs = []string{"guard"}
						a.Sections = spec.Sections{"guard": []byte(`{"rules": [{"tool": "x"}, {}]}`)}
					}))
			},
			want: found(diag.InvalidPluginConfig, "a", "agents.a.sections.guard.rules[1]", `section "guard": "tool" is required`, ""),
			typed: is(func(e *resolve.InvalidPluginConfigError) bool {
				return e.Agent == "a" && e.Plugin == "guard" && e.Key == "guard"
			}),
		},
		{
			name: "unsupported-backend",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a"}).WithAgentSpecs(agent(),
					spec.Agent{ID: "far", Endpoint: &spec.Endpoint{Backend: "carrier-pigeon", BaseURL: "https://x.example"}})
			},
			want: found(diag.UnsupportedBackend, "far", "agents.far.endpoint.backend",
				`no backend of kind "carrier-pigeon" is registered`, "registered: a2a"),
			typed: is(func(e *resolve.UnsupportedBackendError) bool {
				return e.Agent == "far" && e.Backend == "carrier-pigeon" && len(e.Known) == 1
			}),
		},
		{
			name: "unsupported-backend: no backend at all",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(), spec.Agent{ID: "far", Endpoint: at("https://x.example")})
			},
			want:  found(diag.UnsupportedBackend, "far", "agents.far.endpoint", `no backend of kind "a2a" is registered`, "this program has no remote backend"),
			typed: is(func(e *resolve.UnsupportedBackendError) bool { return e.Known == nil }),
		},
		{
			name: "invalid-endpoint: the record's own",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a"}).WithAgentSpecs(agent(), spec.Agent{ID: "far", Endpoint: at("ftp://x.example")})
			},
			want:  found(diag.InvalidEndpoint, "far", "agents.far.endpoint.base_url", "base_url must start with http:// or https://", ""),
			typed: is(func(e *resolve.InvalidEndpointError) bool { return e.Agent == "far" && e.Backend == "a2a" }),
		},
		{
			name: "invalid-endpoint: the backend's finding",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a", validate: func(*spec.Endpoint) diag.List {
					return diag.List{diag.New(diag.InvalidEndpoint, "options.poll", "it is no number")}
				}}).WithAgentSpecs(agent(), spec.Agent{ID: "far", Endpoint: at("https://x.example")})
			},
			want:  found(diag.InvalidEndpoint, "far", "agents.far.endpoint.options.poll", "it is no number", ""),
			typed: is(func(e *resolve.InvalidEndpointError) bool { return e.Agent == "far" }),
		},
		{
			name: "remote-not-local",
			want: found(diag.RemoteNotLocal, "far", "agents.far.endpoint", `agent "far" runs at an endpoint, which alone knows its model and tools`,
				"ask the peer, or give the agent a model_id instead of an endpoint"),
			ask: func(t *testing.T, b *builder.AgentRuntimeBuilder) error {
				rt, err := b.WithBackend(peers{kind: "a2a"}).WithAgentSpec(spec.Agent{ID: "far", Endpoint: at("https://x.example")}).Build()
				if err != nil {
					t.Fatal(err)
				}
				_, err = rt.Resolve(t.Context(), "far", resolve.Options{LocalOnly: true})
				return err
			},
			typed: is(func(e *resolve.RemoteNotLocalError) bool { return e.Agent == "far" }),
		},
		{
			name: "tool-id-conflict: global and delegate",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("agent_run_b", plain{}).WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates = []string{"b"} }), spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.ToolIDConflict, "a", "agents.a.delegates[0]",
				`tool id "agent_run_b" comes from both the global tool and the delegate b`, "rename one of them"),
			typed: conflict(toolset.Source{Kind: toolset.SourceGlobal}, toolset.Source{Kind: toolset.SourceDelegate, Name: "b"}),
		},
		{
			name: "tool-id-conflict: global and plugin",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithPlugin("text", registers("wc")).
					WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"text"} }))
			},
			want: found(diag.ToolIDConflict, "a", "agents.a.plugin_ids[0]",
				`tool id "wc" comes from both the global tool and the plugin text`, "rename one of them"),
			typed: conflict(toolset.Source{Kind: toolset.SourceGlobal}, toolset.Source{Kind: toolset.SourcePlugin, Name: "text"}),
		},
		{
			name: "tool-id-conflict: delegate and plugin",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("text", registers("agent_run_b")).WithAgentSpecs(agent(func(a *spec.Agent) {
					a.PluginIDs, a.Delegates = []string{"text"}, []string{"b"}
				}), spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.ToolIDConflict, "a", "agents.a.plugin_ids[0]",
				`tool id "agent_run_b" comes from both the delegate b and the plugin text`, "rename one of them"),
			typed: conflict(toolset.Source{Kind: toolset.SourceDelegate, Name: "b"}, toolset.Source{Kind: toolset.SourcePlugin, Name: "text"}),
		},
		{
			name: "tool-id-conflict: two delegates",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates = []string{"b.c", "b:c"} }),
					spec.Agent{ID: "b.c", Description: "Helps.", ModelID: "m"}, spec.Agent{ID: "b:c", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.ToolIDConflict, "a", "agents.a.delegates[1]",
				`tool id "agent_run_b_c" comes from both the delegate b.c and the delegate b:c`, "rename one of them"),
			typed: conflict(toolset.Source{Kind: toolset.SourceDelegate, Name: "b.c"}, toolset.Source{Kind: toolset.SourceDelegate, Name: "b:c"}),
		},
		{
			name: "invalid-pattern",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpec(agent(func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"x\\"} })).
					WithAgentSpec(spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.InvalidPattern, "a", "agents.a.excluded_tool_patterns[0]",
				`pattern "x\\" ends in a single '\', which escapes nothing`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidPattern }),
		},
		{
			name: "invalid-condition",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				type refund struct {
					Amount float64 `json:"amount"`
				}
				b.WithTool("refund", &tools.Func[refund, string]{Run: func(context.Context, refund) (string, error) { return "", nil }}).
					WithPlugin("permission", permission.New()).
					WithAgentSpec(agent(func(a *spec.Agent) {
						a.PluginIDs = []string{"permission"}
						a.Sections = spec.Sections{"permission": []byte(`{"rules": [{"tool": "refund(amout > 5)"}]}`)}
					}))
			},
			want: found(diag.InvalidCondition, "a", "agents.a.sections.permission.rules[0].tool",
				`the condition on amout looks at "amout", which tool "refund" does not have`, `did you mean "amount"?`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidCondition }),
		},
		{
			name: "invalid-schema: a tool's parameters",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{parameters: `{"type": "array"}`}).WithAgentSpec(agent())
			},
			want: found(diag.InvalidSchema, "", "tools.wc.parameters",
				`the parameters of tool "wc" are not a valid JSON Schema: its type is "array", but the arguments of a tool are an object`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidSchema }),
		},
		{
			name: "invalid-schema: a plugin's section",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("guard", claims("guard", `3`)).
					WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"guard"} }))
			},
			want: found(diag.InvalidSchema, "", "plugins.guard",
				`plugin guard: the schema of its section "guard" is not a valid JSON Schema: it must be an object or a boolean`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidSchema }),
		},
		{
			name: "invalid-schema: variables",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) {
					a.Variables = []byte(`{"type":"object","properties":{"name":3}}`)
				}))
			},
			want: found(diag.InvalidSchema, "a", "agents.a.variables",
				`variables is not a valid JSON Schema: properties.name: it is a number, but must be a boolean or object`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidSchema }),
		},
		{
			name: "undeclared-variable",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) {
					a.SystemPrompt, a.Variables = "For ${turn.nmae}.", []byte(`{"properties":{"name":{"type":"string"}}}`)
				}))
			},
			want: found(diag.UndeclaredVariable, "a", "agents.a.system_prompt",
				`the prompt uses ${turn.nmae}, which variables does not declare`, `did you mean "name"?`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UndeclaredVariable }),
		},
		{
			name: "undeclared-variable: of tenants",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.SystemPrompt = "For ${tenant.NMAE}." })).
					WithTenants(spec.Tenants{Variables: map[string]spec.TenantVariable{"NAME": {}}})
			},
			want: found(diag.UndeclaredVariable, "a", "agents.a.system_prompt",
				`tenants.variables does not declare the variable NMAE`, `did you mean "NAME"?`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UndeclaredVariable }),
		},
		{
			name: "invalid-value: a secret of tenants in a prompt",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent(func(a *spec.Agent) { a.SystemPrompt = "Your key is ${tenant.KEY}." })).
					WithTenants(spec.Tenants{Variables: map[string]spec.TenantVariable{"KEY": {Secret: true}}})
			},
			want: found(diag.InvalidValue, "a", "agents.a.system_prompt",
				`the variable KEY is a secret, which cannot be used here`, `secrets can stand in the headers, the query and the path of the url of an http or mcp tool, and in secrets of webhooks`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidValue }),
		},
		{
			name: "undeclared-variable: of tenants, in a tool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("crm", referring{path: "headers.X", name: "KEY"}).WithAgentSpec(agent())
			},
			want: found(diag.UndeclaredVariable, "", "tools.crm.headers.X",
				`tenants.variables does not declare the variable KEY`, `declare it: tenants: {variables: {KEY: {description: …}}}`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UndeclaredVariable }),
		},
		{
			name: "invalid-value: a secret with a default",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				known := "known to all"
				b.WithAgentSpec(agent()).WithTenants(spec.Tenants{Variables: map[string]spec.TenantVariable{"KEY": {Secret: true, Default: &known}}})
			},
			want: found(diag.InvalidValue, "", "tenants.variables.KEY.default",
				`a secret cannot have a default`, `each tenant sets its own: runtime tenants variables set TENANT KEY`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidValue }),
		},
		{
			name: "tool-not-found",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpec(agent()).
					WithWorkflow(workflow.Workflow{ID: "w", Steps: []workflow.Step{{ID: "s", Tool: &workflow.ToolCall{Name: "wcc"}}}})
			},
			want:  found(diag.ToolNotFound, "", "workflows.w.steps[0].tool.name", `tool "wcc" does not exist`, `did you mean "wc"?`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.ToolNotFound }),
		},
		{
			name: "invalid-template",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent()).WithWorkflow(workflow.Workflow{ID: "w", Steps: []workflow.Step{
					{ID: "s", Agent: &workflow.AgentTurn{Agent: "a", Prompt: []byte(`"${{ inputs.x }}"`)}},
				}})
			},
			want: found(diag.InvalidTemplate, "", "workflows.w.steps[0].agent.prompt",
				`${{ inputs.x }} refers to the input "x", which the step does not have`, ""),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.InvalidTemplate }),
		},
		{
			name: "unknown-step",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpec(agent()).WithWorkflow(workflow.Workflow{ID: "w", Steps: []workflow.Step{
					{ID: "s", Agent: &workflow.AgentTurn{Agent: "a", Prompt: []byte(`"${{ steps.s.outputs.text }}"`)}},
				}})
			},
			want: found(diag.UnknownStep, "", "workflows.w.steps[0].agent.prompt",
				`${{ steps.s.outputs.text }} refers to step "s", which has not run by then`, "a step can refer to those before it"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UnknownStep }),
		},
		{
			name: "env-build: Register fails",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("guard", plugin{register: func(*plugins.Registrar) error { return errRegister }}).
					WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"guard"} }))
			},
			want: found(diag.EnvBuild, "a", "agents.a.plugin_ids[0]", "plugin guard: the moon is in the wrong phase", ""),
			typed: func(err error) bool {
				e, ok := errors.AsType[*resolve.EnvBuildError](err)
				return ok && e.Plugin == "guard" && e.Agent == "a" && errors.Is(err, errRegister)
			},
		},
		{
			name: "env-build: two plugins register one handler",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				handles := plugin{register: func(r *plugins.Registrar) error {
					r.EffectHandler("notify", effect)
					return nil
				}}
				b.WithPlugin("one", handles).WithPlugin("two", handles).
					WithAgentSpec(agent(func(a *spec.Agent) { a.PluginIDs = []string{"one", "two"} }))
			},
			want:  found(diag.EnvBuild, "a", "agents.a.plugin_ids[1]", `plugins one and two both register the effect handler "notify"`, ""),
			typed: is(func(e *execution.DuplicateError) bool { return e.First == "one" && e.Second == "two" }),
		},
		{
			name: "unmatched-pattern",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpec(agent(func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"*", "mcp__*"} }))
			},
			want: found(diag.UnmatchedPattern, "a", "agents.a.allowed_tool_patterns[1]", `pattern "mcp__*" matches no registered tool`, ""),
		},
		{
			name: "unmatched-tool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("weather", plain{}).WithAgentSpec(agent(func(a *spec.Agent) { a.ExcludedTools = spec.Names{"wether"} }))
			},
			want: found(diag.UnmatchedTool, "a", "agents.a.excluded_tools[0]", `"wether" names no registered tool`, `did you mean "weather"?`),
		},
		{
			name: "permission-shaped-entry",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpec(agent(func(a *spec.Agent) { a.AllowedTools = spec.Names{"wc", "wc(-l)"} }))
			},
			want: found(diag.PermissionShapedEntry, "a", "agents.a.allowed_tools[1]",
				`"wc(-l)" looks like a permission rule; a catalog entry is only a tool id or pattern`, "write it under sections.permission.rules"),
		},
		{
			name: "orphan-permission-rule",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithTool("rm", plain{}).WithPlugin("permission", claims("permission", `true`)).
					WithAgentSpecs(agent(func(a *spec.Agent) {
						a.PluginIDs, a.ExcludedTools = []string{"permission"}, spec.Names{"rm"}
						a.Sections = spec.Sections{"permission": []byte(`{"rules": [{"tool": "rm(*)"}]}`)}
					}), spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.OrphanPermissionRule, "a", "agents.a.sections.permission.rules[0].tool",
				`the rule names tool "rm", which the catalog filtered out`, ""),
		},
		{
			name: "unknown-rule-tool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("rm", plain{}).WithPlugin("permission", claims("permission", `true`)).
					WithAgentSpecs(agent(func(a *spec.Agent) {
						a.PluginIDs = []string{"permission"}
						a.Sections = spec.Sections{"permission": []byte(`{"default_behavior": "allow", "rules": [{"tool": "rn(*)", "behavior": "deny"}]}`)}
					}))
			},
			want: found(diag.UnknownRuleTool, "a", "agents.a.sections.permission.rules[0].tool",
				`the rule names tool "rn", which does not exist, so it restricts nothing`, `did you mean "rm"?`),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UnknownRuleTool }),
		},
		{
			name: "ignored-field",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a"}).WithAgentSpecs(agent(), spec.Agent{ID: "far", Endpoint: at("https://x.example"), PluginIDs: []string{"gone"}})
			},
			want: found(diag.IgnoredField, "far", "agents.far.plugin_ids",
				`agent "far" runs at an endpoint, where plugin_ids has no effect`, "only the peer can enforce it: configure it there and remove it here"),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.IgnoredField }),
		},
		{
			name: "ignored-field: one that does not guard",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithBackend(peers{kind: "a2a"}).WithAgentSpecs(agent(), spec.Agent{ID: "far", Endpoint: at("https://x.example"), SystemPrompt: "Be brief."})
			},
			want: found(diag.IgnoredField, "far", "agents.far.system_prompt",
				`agent "far" runs at an endpoint, where system_prompt has no effect`, "remove it").WithSeverity(diag.Warning),
		},
		{
			name: "unclaimed-section: one that guards",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAvailablePlugin("permission", permission.New()).
					WithAgentSpec(agent(func(a *spec.Agent) { a.Sections = spec.Sections{"permission": []byte(`{}`)} }))
			},
			want: found(diag.UnclaimedSection, "a", "agents.a.sections.permission",
				`section "permission" guards nothing: no plugin of agent "a" claims it`, `plugin "permission" claims it: add it to plugin_ids`).WithSeverity(diag.Error),
			typed: is(func(d diag.Diagnostic) bool { return d.Code == diag.UnclaimedSection }),
		},
		{
			name: "unclaimed-section",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("permission", claims("permission", `true`)).
					WithAgentSpec(agent(func(a *spec.Agent) {
						a.PluginIDs = []string{"permission"}
						a.Sections = spec.Sections{"permissions": []byte(`{}`)}
					}))
			},
			want: found(diag.UnclaimedSection, "a", "agents.a.sections.permissions",
				`no plugin of agent "a" claims section "permissions"`, `did you mean "permission"?`),
		},
		{
			name: "unknown-hook-filter",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithPlugin("audit", plugin{}).WithAgentSpec(agent(func(a *spec.Agent) {
					a.PluginIDs, a.ActiveHookFilter = []string{"audit"}, []string{"audti"}
				}))
			},
			want: found(diag.UnknownHookFilter, "a", "agents.a.active_hook_filter[0]",
				`plugin "audti" is not loaded by this agent`, `did you mean "audit"?`),
		},
		{
			name: "delegate-cycle",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates = []string{"b"} }),
					spec.Agent{ID: "b", Description: "Helps.", ModelID: "m", Delegates: []string{"a"}})
			},
			want: found(diag.DelegateCycle, "b", "agents.b.delegates[0]", "agents can call each other in a circle: a → b → a",
				"at run time a call back into the chain is refused, and so is one deeper than 8 levels"),
		},
		{
			name: "no-description",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates, a.Handoffs = []string{"c"}, []string{"c"} }), spec.Agent{ID: "c", ModelID: "m", SystemPrompt: "Rules."})
			},
			want: found(diag.NoDescription, "c", "agents.c", `agent "c" has no description, so others see only its ID`, "describe the agent's purpose in description"),
		},
		{
			name: "no-tools",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithTool("wc", plain{}).WithAgentSpecs(agent(func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"*"} }), spec.Agent{ID: "b", Description: "Helps.", ModelID: "m"})
			},
			want: found(diag.NoTools, "a", "agents.a", `the catalog leaves agent "a" with no tool; registered: 1`, ""),
		},
		{
			name:  "no-catalog",
			wrong: func(b *builder.AgentRuntimeBuilder) { b.WithTool("x", &live{}).WithAgentSpec(agent()) },
			want:  found(diag.NoCatalog, "", "tools.x", "nobody knows", ""),
		},
		{
			name: "adapted-tool",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithProvider("q", renaming{says("hello")}).WithModel(spec.Model{ID: "n", ProviderID: "q", UpstreamModel: "up"}).
					WithTool("wc", plain{}).WithAgentSpecs(agent(), agent(func(a *spec.Agent) { a.ID, a.ModelID = "b", "n" }))
			},
			want: found(diag.AdaptedTool, "", "tools.wc", `tool "wc" is sent in another form: Renaming as wc_2`,
				"descriptions tell models the rest, and arguments are checked against the whole schema"),
		},
		{
			name: "unused-definition",
			wrong: func(b *builder.AgentRuntimeBuilder) {
				b.WithModel(spec.Model{ID: "spare", ProviderID: "p", UpstreamModel: "up"}).WithAgentSpec(agent())
			},
			want: found(diag.UnusedDefinition, "", "models.spare", `model "spare" is not used`, ""),
		},
	}...)
}

var errRegister = errors.New("the moon is in the wrong phase")

// registers returns a plugin that registers a tool.
func registers(id string) plugin {
	return plugin{register: func(r *plugins.Registrar) error {
		r.Tool(id, plain{})
		return nil
	}}
}

// effect handles an effect.
func effect(context.Context, any) error { return nil }

func conflict(first, second toolset.Source) func(error) bool {
	return is(func(e *resolve.ToolIDConflictError) bool {
		return e.Agent == "a" && e.First == first && e.Second == second
	})
}

// Each mistake causes exactly one diagnostic, as returned by Check, and its own error type if it
// has one.
func TestEachMistakeGivesOneDiagnostic(t *testing.T) {
	t.Parallel()
	for _, tt := range rows() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := demo()
			if tt.ask != nil {
				err := tt.ask(t, b)
				if diff := cmp.Diff(diag.List{tt.want}, diag.FromError(err), placeless); diff != "" {
					t.Errorf("diagnostics (-want +got):\n%s", diff)
				}
				if !tt.typed(err) {
					t.Errorf("the error %v holds none of the right type", err)
				}
				return
			}
			tt.wrong(b)
			_, list := b.Check(t.Context())
			if diff := cmp.Diff(diag.List{tt.want}, list, placeless); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
			rt, err := b.Build()
			if tt.want.Severity != diag.Error {
				if err != nil {
					t.Fatalf("Build refuses what is no error: %v", err)
				}
				if diff := cmp.Diff(diag.List{tt.want}, rt.Diagnostics(), placeless); diff != "" {
					t.Errorf("the runtime's diagnostics (-want +got):\n%s", diff)
				}
				return
			}
			built, ok := errors.AsType[*builder.BuildError](err)
			if !ok || rt != nil {
				t.Fatalf("Build = %v, %v; want a *BuildError alone", rt, err)
			}
			if diff := cmp.Diff(diag.List{tt.want}, built.Diagnostics, placeless); diff != "" {
				t.Errorf("BuildError (-want +got):\n%s", diff)
			}
			if !tt.typed(err) {
				t.Errorf("the error %v holds none of the right type", err)
			}
		})
	}
}

// Every code is either caused above or can only come from a file.
func TestTheTableOfDiagnosticsIsComplete(t *testing.T) {
	t.Parallel()
	covered := map[diag.Code]bool{
		// Only a file has a syntax, a version, unknown fields, variables, a text shown to others,
		// comments, patches, a server with credentials, and a note on the whole.
		diag.InvalidYAML: true, diag.UnsupportedVersion: true, diag.UnknownField: true, diag.UnsetVariable: true,
		diag.UnmatchedAgent: true, diag.UnknownScope: true, diag.PlainSecret: true, diag.InvalidIgnore: true, diag.UnmatchedPatch: true, diag.WidenedAccess: true,
		diag.NoRetry: true,
		// Directories and schedules are also only in files.
		diag.MissingDirectory: true, diag.UnattendedApproval: true,
	}
	for _, tt := range rows() {
		covered[tt.want.Code] = true
	}
	for _, info := range diag.Codes() {
		if !covered[info.Code] {
			t.Errorf("no row brings about %s", info.Code)
		}
		delete(covered, info.Code)
	}
	for code := range covered {
		t.Errorf("%s is not one of the codes", code)
	}
}

// renaming is a provider whose models get renamed tools.
type renaming struct{ model.Executor }

func (r renaming) ToolDialect(string) model.ToolDialect { return renaming{} }
func (renaming) Vendor() string                         { return "Renaming" }
func (renaming) MaxTools() int                          { return 0 }
func (renaming) Adapt(t *model.Tool) model.ToolChange   { return model.ToolChange{Name: t.Name + "_2"} }

// referring is a tool whose settings refer to a tenant variable.
type referring struct {
	plain

	path, name string
}

func (r referring) TenantReferences() []tools.TenantReference {
	return []tools.TenantReference{{Path: r.path, Name: r.name}}
}
