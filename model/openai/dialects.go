package openai

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Dialect is the variant of Chat Completions that a server accepts.
type Dialect string

// server has the known properties of a dialect's servers.
type server struct {
	dialect Dialect
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
	{dialect: "openai", baseURL: DefaultBaseURL},
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

// server returns the server of the configured dialect, or else of the configured host.
func (c *Config) server() *server {
	if c.Dialect != "" {
		for i := range servers {
			if servers[i].dialect == c.Dialect {
				return &servers[i]
			}
		}
		return &servers[0] // not reached: validated
	}
	if at, err := url.Parse(c.BaseURL); err == nil && at.Scheme == "https" {
		for i := range servers {
			if own, err := url.Parse(servers[i].baseURL); err == nil && own.Host == at.Host {
				return &servers[i]
			}
		}
	}
	return &servers[0]
}

// tools returns the tools that the server accepts. A server at another host may imitate OpenAI
// and accept more.
func (c *Config) tools() *toolschema.Dialect {
	switch {
	case c.server() != &servers[0]:
		return toolschema.Compatible
	case c.isVendorsOwn():
		return toolschema.OpenAILimited
	default:
		return toolschema.OpenAI
	}
}

// isVendorsOwn reports whether the server is OpenAI or Azure, instead of an imitator.
func (c *Config) isVendorsOwn() bool {
	at := c.apiAccess().URL()
	return c.server() == &servers[0] && (at == DefaultBaseURL || vendorAt(at) != "openai")
}

// requestDialect returns the server's restrictions; nil if it supports everything the vendor
// does.
func (c *Config) requestDialect() *vendorhttp.Dialect {
	if s := c.server(); s != &servers[0] {
		return &s.takes
	}
	return nil
}

// api returns the API to use. Most imitators support only Chat Completions.
func (c *Config) api() API {
	if c.API == "" && c.Dialect != "" && c.Dialect != servers[0].dialect {
		return cmp.Or(c.server().api, ChatCompletions)
	}
	return cmp.Or(c.API, Responses)
}

func (c *Config) checkDialect() diag.List {
	if c.Dialect == "" {
		return nil
	}
	known := make([]string, len(servers))
	for i := range servers {
		known[i] = string(servers[i].dialect)
	}
	switch {
	case !slices.Contains(known, string(c.Dialect)):
		return diag.List{diag.New(diag.InvalidValue, "dialect", "dialect is %q; allowed are %s", c.Dialect, strings.Join(known, ", "))}
	case c.server().baseURL == "" && c.BaseURL == "":
		return diag.List{diag.New(diag.InvalidValue, "base_url", "base_url is required with dialect: %s", c.Dialect)}
	}
	return nil
}
