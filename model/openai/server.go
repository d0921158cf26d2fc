package openai

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// defaultBaseURL is the address of the vendor's own API.
const defaultBaseURL = "https://api.openai.com/v1"

// API is one of the two HTTP APIs for calling a model.
type API string

// The APIs.
const (
	// Responses is the vendor's newer API; it keeps a model's reasoning across
	// tool calls.
	Responses API = "responses"
	// ChatCompletions is the older API that most other vendors imitate.
	ChatCompletions API = "chat_completions"
)

// server has the known properties of a dialect's servers.
type server struct {
	dialect string
	// baseURL is the default address of the vendor's API or a local server; empty if it has no
	// default.
	baseURL string
	// api is the API to use if none is configured; empty means Chat Completions.
	api API
	// takes describes the differences from the vendor's own requests.
	takes vendorhttp.Dialect
	// ids describes the call IDs that the server accepts.
	ids callIDs
}

var maxTokens = map[string]string{"max_completion_tokens": "max_tokens"}

// servers are the dialects, the vendor's own first. Mistral rejects unknown fields, such as
// max_completion_tokens (eca#231), stream_options (chatlas#145) and reasoning_content (crush#1590).
var servers = []server{
	{dialect: "openai", baseURL: defaultBaseURL},
	{dialect: "compatible", takes: vendorhttp.Dialect{Omit: []string{"prompt_cache_key", "strict"}, Names: maxTokens}},
	{dialect: "mistral", baseURL: "https://api.mistral.ai/v1", ids: mistralIDs, takes: vendorhttp.Dialect{
		Omit:  []string{"stream_options", "prompt_cache_key", "extra_content", "reasoning_content", "reasoning", "reasoning_text", "service_tier", "verbosity"},
		Names: map[string]string{"max_completion_tokens": "max_tokens", "seed": "random_seed"},
	}},
	// DeepSeek's reference has no seed; strict is a feature of its beta address.
	{dialect: "deepseek", baseURL: "https://api.deepseek.com/v1", takes: vendorhttp.Dialect{
		Omit: []string{"prompt_cache_key", "strict", "parallel_tool_calls", "seed", "service_tier", "verbosity"}, Names: maxTokens,
	}},
	// docs.ollama.com/api/openai-compatibility lists the fields that have an effect.
	{dialect: "ollama", baseURL: "http://localhost:11434/v1", takes: vendorhttp.Dialect{
		Omit: []string{"prompt_cache_key", "strict", "parallel_tool_calls", "service_tier", "verbosity"}, Names: maxTokens,
	}},
	{dialect: "openrouter", baseURL: "https://openrouter.ai/api/v1", takes: vendorhttp.Dialect{Names: maxTokens}},
	// console.groq.com/docs/openai: mostly compatible; unknown fields of messages are rejected.
	{dialect: "groq", baseURL: "https://api.groq.com/openai/v1", takes: vendorhttp.Dialect{
		Omit: []string{"prompt_cache_key", "strict", "extra_content", "reasoning_content", "reasoning_text", "verbosity"},
	}},
	// docs.x.ai, best practices: Chat Completions is deprecated and has no encrypted reasoning,
	// and each conversation has its own prompt_cache_key.
	{dialect: "xai", baseURL: "https://api.x.ai/v1", api: Responses, takes: vendorhttp.Dialect{
		Omit: []string{"strict", "service_tier", "verbosity"},
	}},
	{dialect: "vllm", baseURL: "http://localhost:8000/v1", takes: vendorhttp.Dialect{
		Omit: []string{"prompt_cache_key", "strict", "service_tier", "verbosity"},
	}},
}

// azureHosts are the suffixes of Azure's host names.
var azureHosts = []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"}

// vendorAt returns the vendor that serves the models at an address.
func vendorAt(baseURL string) string {
	if u, err := url.Parse(baseURL); err == nil {
		host := strings.ToLower(u.Hostname())
		if slices.ContainsFunc(azureHosts, func(end string) bool { return strings.HasSuffix(host, end) }) {
			return "azure-openai"
		}
	}
	return "openai"
}
