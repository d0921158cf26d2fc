package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/nearest"
)

// A foreignName is another system's name for a field.
type foreignName struct {
	// names are the other names, in snake case, separated by spaces.
	names string
	// field is the record's name for it; empty if it has no such field.
	field string
	// hint is the text to show; if empty, it is "did you mean" with the field.
	hint string
}

// foreignFields are field names of other systems, by the record in which people write them: agent
// SDKs and frameworks, editors' lists of MCP servers, agent cards, and cluster manifests.
var foreignFields = map[string][]foreignName{
	"agent": {
		{"model llm model_name model_client llm_config chat_model language_model", "model_id", "write model_id: the id of an entry under models"},
		{"instructions instruction prompt system system_message system_instruction system_instructions developer_message backstory role goal persona preamble state_modifier", "system_prompt", "write system_prompt"},
		{"tools functions tool_ids toolset toolsets tool_names available_tools function_tools", "allowed_tools", "write allowed_tools: a list of ids of entries under the top-level tools"},
		{"disallowed_tools denied_tools blocked_tools forbidden_tools disabled_tools", "excluded_tools", "write excluded_tools"},
		{"max_turns max_iterations max_iter max_steps recursion_limit max_loops max_consecutive_auto_reply", "max_rounds", "write max_rounds"},
		{"sub_agents subagents agents team crew managed_agents children workers allow_delegation", "delegates", "write delegates: a list of ids of agents that this one may call"},
		{"transfers transfer_to", "handoffs", "write handoffs: a list of ids of agents"},
		{"output_type response_format response_model output_pydantic output_json text_format result_type", "output_schema", "write output_schema: {schema: …} with a JSON Schema"},
		{"plugins middleware middlewares hooks callbacks", "plugin_ids", "write plugin_ids: a list of ids of plugins"},
		{"permissions permission permission_mode guardrails input_guardrails output_guardrails human_in_the_loop interrupt_on interrupt_before human_input_mode", "", "write plugin_ids: [permission] and the rules under sections: {permission: …}"},
		{"mcp mcps mcp_servers mcp_server", "", "declare servers under the top-level tools with type: mcp; allowed_tool_patterns: [\"mcp__<id>__*\"] allows their tools"},
		{"memory checkpointer session session_service state knowledge", "", "conversations are kept by the top-level store; a tool or a plugin gives access to anything else"},
		{"top_k frequency_penalty presence_penalty model_settings model_kwargs generate_content_config extra_body", "request", "write request: {set: …} with fields of the vendor's requests"},
		{"max_tokens max_completion_tokens max_output_tokens", "", "write max_output_tokens in the entry under models, or budgets: {max_tokens: …} for a whole turn"},
		{"timeout max_execution_time timeout_seconds deadline", "", "write budgets: {max_duration: 5m}"},
		{"budget max_budget max_budget_usd max_cost limits usage_limits", "budgets", "write budgets: {max_cost: …}"},
		{"url base_url card card_url agent_card address", "endpoint", "for an agent of a peer, write endpoint: {base_url: …}"},
		{"parallel_tool_calls parallel_tools", "tool_execution", "write tool_execution: parallel or sequential"},
		{"reasoning thinking effort thinking_budget model_reasoning_effort", "reasoning_effort", "write reasoning_effort: low, medium or high"},
		{"retry retries max_retries retry_policy", "", "write sections: {retry: {max_retries: …}}, here or under defaults"},
		{"name id key agent_id", "", "an agent's name is its key under agents"},
		{"type kind class agent_type", "", "agents have no type: one with model_id runs here, one with endpoint at a peer"},
		{"verbose debug", "", "\"runtime run -v\" and the plugin of type log show what an agent does"},
		{"inherits inherit inherits_from base base_agent parent from template prototype based_on", "extends", "write extends: the id of the agent to inherit from"},
		{"skills capabilities expertise tags", "", "write what the agent is for into description"},
	},
	"model": {
		{"provider vendor model_provider api_type client custom_llm_provider", "provider_id", "write provider_id: the id of an entry under providers"},
		{"model name model_name deployment deployment_name azure_deployment engine model_id upstream slug", "upstream_model", "write upstream_model: the provider's own name of the model"},
		{"max_tokens max_completion_tokens max_output max_new_tokens num_predict", "max_output_tokens", "write max_output_tokens"},
		{"context_length context_size max_context_tokens max_input_tokens num_ctx model_context_window n_ctx", "context_window", "write context_window"},
		{"cost costs price prices input_cost_per_token", "pricing", "write pricing: {input_per_million: …, output_per_million: …}"},
		{"api_key base_url api_base endpoint url organization headers", "", "set this in the entry under providers that provider_id names"},
		{"fallback fallbacks", "", "write an entry under model_pools, whose members stand in for each other"},
		{"type kind", "provider_id", "write provider_id: the id of an entry under providers"},
		{"top_k frequency_penalty presence_penalty model_kwargs extra_body", "request", "write request: {set: …} with fields of the vendor's requests"},
		{"reasoning_effort", "", "reasoning_effort is a field of agents"},
	},
	"pool": {
		{"models pool targets deployments", "members", "write members: [{model_id: …}, …]"},
		{"strategy policy load_balancing routing_strategy", "routing", "write routing: {home: …}"},
		{"fallback fallbacks failover", "switch", "every member is a fallback of the others; switch says when to move on"},
	},
	"pool_member": {
		{"model id name", "model_id", "write model_id"},
		{"backup fallback failover", "role", "write role: failover_only"},
	},
	"provider": {
		{"key token api_token auth_token secret api_key_env env_key bearer_token openai_api_key", "api_key", "write api_key: ${NAME} with the name of a variable"},
		{"url endpoint api_base host base api_url server azure_endpoint openai_api_base", "base_url", "write base_url"},
		{"org organization_id openai_organization", "organization", "write organization"},
		{"project_id", "project", "write project"},
		{"wire_api api_type api_format protocol mode", "api", "write api: responses or chat_completions"},
		{"extra_headers http_headers default_headers", "headers", "write headers"},
		{"model models deployment model_name default_model", "", "write an entry under models with this provider_id"},
		{"timeout max_retries retries request_timeout", "", "write sections: {retry: …} in an agent or in defaults"},
		{"path file replies", "script", "write script: the path of a file with replies"},
	},
	"tool": {
		{"desc summary instruction instructions help", "description", "write description"},
		{"input_schema schema args_schema json_schema params parameters_schema properties inputs", "parameters", "write parameters: a JSON Schema of type object"},
		{"endpoint uri address server_url base_url http_url", "url", "write url"},
		{"http_method verb", "method", "write method"},
		{"payload data json request_body", "body", "write body"},
		{"cmd run exec shell program executable entrypoint script", "command", "write command: a list of the program and its arguments"},
		{"args arguments argv", "", "write the arguments after the program: command: [program, argument]"},
		{"cwd working_dir working_directory workdir work_dir", "dir", "write dir"},
		{"environment env_vars envs", "env", "write env"},
		{"include_tools tools allowed_tools enabled_tools exclude_tools disabled_tools tool_filter", "filter", "write filter: {allow: […], deny: […]}"},
		{"token bearer_token authorization bearer_token_env_var", "auth", "write auth: {type: bearer, token: ${NAME}}"},
		{"startup_timeout startup_timeout_sec startup_timeout_ms", "connect_timeout", "write connect_timeout: 30s"},
		{"timeout_sec timeout_seconds tool_timeout_sec tool_timeout_seconds read_timeout", "timeout", "write timeout: 60s"},
		{"namespace tool_prefix tool_name_prefix", "prefix", "write prefix"},
		{"transport transport_type", "", "command reaches a server over its standard input, url over HTTP"},
		{"disabled enabled", "", "remove the tool, or list it under excluded_tools of the agents that must not use it"},
		{"idempotent is_idempotent read_only readonly destructive side_effects annotations", "effect", "write effect: read, idempotent or once"},
		{"requires_approval needs_approval require_approval approval confirm require_confirmation", "", "write a rule with behavior: ask under sections: {permission: …} of the agents"},
		{"name id", "", "a tool's name is its key under tools"},
		{"handler function module import class entry code source", "", "a tool is a request (type: http), a program (type: command) or an MCP server (type: mcp)"},
	},
	"plugin": {
		{"config settings options", "", "write the settings beside type; those of an agent belong under its sections"},
	},
	"endpoint": {
		{"url address card_url agent_card agent_card_url uri host", "base_url", "write base_url"},
		{"agent agent_id name", "target", "write target: the agent's id at the peer"},
		{"protocol type kind transport", "backend", "write backend: a2a, or leave it out"},
		{"token headers api_key bearer_token authorization", "auth", "write auth: {type: bearer, token: ${NAME}}"},
	},
	"remote_source": {
		{"url endpoint address card_url registry_url", "base_url", "write base_url"},
		{"id key", "name", "write name"},
		{"token headers api_key bearer_token authorization", "auth", "write auth: {type: bearer, token: ${NAME}}"},
	},
	"budgets": {
		{"tokens max_total_tokens total_tokens total_tokens_limit", "max_tokens", "write max_tokens"},
		{"cost usd max_usd max_budget_usd max_budget", "max_cost", "write max_cost"},
		{"duration timeout time max_execution_time", "max_duration", "write max_duration: 5m"},
		{"requests llm_calls max_requests request_limit model_calls", "max_model_calls", "write max_model_calls"},
		{"tool_calls tool_calls_limit", "max_tool_calls", "write max_tool_calls"},
	},
	"output_schema": {
		{"json_schema type properties format", "schema", "write schema: the JSON Schema of the answer"},
		{"strict", "on_mismatch", "write on_mismatch: fail"},
	},
	"server": {
		{"host port addr address bind listen_addr", "listen", "write listen: host:port"},
		{"api_keys tokens auth", "keys", "write keys: [{id: …, hash: …}]"},
		{"cors allowed_origins", "cors_origins", "write cors_origins"},
		{"ssl https certificate", "tls", "write tls: {cert_file: …, key_file: …}"},
	},
	"store": {
		{"type kind backend engine provider", "driver", "write driver"},
		{"url uri connection connection_string path database file", "dsn", "write dsn"},
	},
	"schedule": {
		{"schedule when interval every", "cron", "write cron: 0 9 * * 1-5, or @every 10m"},
		{"tz timezone", "time_zone", "write time_zone"},
		{"input message text", "prompt", "write prompt"},
		{"agent_id", "agent", "write agent"},
	},
}

// foreignTop are the top-level keys of other systems.
var foreignTop = []foreignName{
	{"api_version schema_version file_version", "version", "write version: 1"},
	{"kind metadata spec", "", "a file has no kind, metadata and spec: providers, models, tools and agents stand at its top level, under version: 1"},
	{"llms llm model models_config chat_models model_list", "models", "write models, and providers that serve them"},
	{"mcp mcps mcp_servers servers", "tools", "declare MCP servers under tools, as in tools: {files: {type: mcp, command: [npx, …]}}"},
	{"functions toolsets", "tools", "write tools"},
	{"pool pools model_pool fallbacks", "model_pools", "write model_pools: a mapping of ids to pools with members"},
	{"model_providers vendors credentials clients", "providers", "write providers"},
	{"sub_agents subagents assistants crew crews", "agents", "write agents: a mapping of ids to agents"},
	{"tasks task workflow graph nodes edges flow flows steps chain", "workflows", "write workflows: a mapping of ids to steps; agents call each other by delegates, and hand conversations over by handoffs"},
	{"permissions guardrails policies policy security", "", "write plugin_ids: [permission] and sections: {permission: …} in an agent or in defaults"},
	{"env environment secrets vars variables", "", "variables come from the environment: write ${NAME} in a value"},
	{"globals global common base", "defaults", "write defaults"},
	{"patch overlay overlays override overrides", "patches", "write patches: {agents: {<id>: {…}}}"},
	{"hooks middleware middlewares extensions callbacks", "plugins", "write plugins"},
	{"database db storage persistence memory sessions checkpointer", "store", "write store: {driver: sqlite}"},
	{"http api listen port host", "server", "write server: {listen: …}"},
	{"cron jobs triggers", "schedules", "write schedules"},
	{"peers remotes a2a remote_agent registries", "remote_agents", "write remote_agents"},
	{"name title description", "", "a file has no name: write it as a comment"},
	{"log logging log_level telemetry tracing observability", "", "\"runtime run -v\" shows the log; OpenTelemetry is set up by its environment variables"},
}

// foreignKinds are the types of components in other systems.
var foreignKinds = map[string][]foreignName{
	"providers": {
		{"azure azureopenai azure_ai", "azure_openai", "write type: azure_openai and base_url: https://<resource>.openai.azure.com; upstream_model is the name of the deployment"},
		{"ollama", "openai", "write type: openai, base_url: http://localhost:11434/v1 and api: chat_completions"},
		{"vllm lmstudio lm_studio llamacpp llama_cpp localai sglang tgi litellm openrouter groq together togetherai mistral mistralai deepseek xai grok fireworks perplexity cerebras nvidia nim huggingface cohere openai_compatible openai_like", "openai", "write type: openai, base_url: the server's OpenAI-compatible URL, and api: chat_completions"},
		{"chatgpt gpt openai_chat openai_responses oai", "openai", "write type: openai"},
		{"claude anthropic_claude", "anthropic", "write type: anthropic"},
		{"gemini google_genai google_ai googleai genai google_gemini", "google", "write type: google"},
		{"aws aws_bedrock amazon_bedrock bedrock_converse", "bedrock", "write type: bedrock and region; upstream_model is the ID of a model or of an inference profile"},
		{"vertexai vertex_ai google_vertexai", "vertex", "write type: vertex, project and location"},
		{"mock fake echo test dummy stub", "scripted", "write type: scripted"},
	},
	"tools": {
		{"mcp_server mcp_servers stdio sse streamable_http remote", "mcp", "write type: mcp, with command or url"},
		{"rest api openapi webhook request url fetch", "http", "write type: http, one entry for each request"},
		{"function python shell bash script exec program cli local builtin", "command", "write type: command, with command: [program, argument]"},
	},
	"plugins": {
		{"logger logging audit stdout", "log", "write type: log"},
		{"permission permissions guardrail", "", "the plugin permission needs no declaration: name it in plugin_ids, and write its rules under sections"},
	},
}

// recordKind returns the key of the foreignFields table for a record.
func recordKind(p *place, t reflect.Type) string {
	switch t {
	case agentType, defaultsType:
		return "agent"
	}
	if p != nil && p.parent != nil && p.parent.parent == nil {
		switch p.parent.key {
		case "providers":
			return "provider"
		case "tools":
			return "tool"
		case "plugins":
			return "plugin"
		case "agent_providers":
			return "agent_provider"
		}
	}
	return recordName(t)
}

// findForeign finds a name of another system. It ignores case and tolerates small misspellings.
func findForeign(table []foreignName, name string) (foreignName, bool) {
	if len(name) > maxForeign {
		return foreignName{}, false
	}
	name = snakeCase(name)
	for _, f := range table {
		if contains(strings.Fields(f.names), name) {
			return f, true
		}
	}
	if near := nearestForeign(table, name, nil); near != "" && len(name) > 4 {
		return findForeign(table, near)
	}
	return foreignName{}, false
}

// nearestForeign returns the table's name nearest to name, or one of own that is at least as near;
// empty if none is near.
func nearestForeign(table []foreignName, name string, own []string) string {
	all := slices.Clone(own)
	for _, f := range table {
		all = append(all, strings.Fields(f.names)...)
	}
	near, _ := nearest.Of(name, all)
	return near
}

// maxForeign limits the looked-up names, in bytes.
const maxForeign = 64

// snakeCase converts a name to lower case with underscores between words.
func snakeCase(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			if i > 0 && (name[i-1] >= 'a' && name[i-1] <= 'z') {
				b.WriteByte('_')
			}
			b.WriteRune(c - 'A' + 'a')
		case c == '-' || c == ' ':
			b.WriteByte('_')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// hintText returns the hint.
func (f foreignName) hintText() string {
	if f.hint == "" {
		return didYouMean(f.field)
	}
	return f.hint
}
