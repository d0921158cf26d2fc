package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// listedModel is an entry of a list of models. Each server names the limits differently.
type listedModel struct {
	ID vendorhttp.Text `json:"id"`
	// LM Studio states the window of the loaded model and the model's maximum.
	LoadedContextLength vendorhttp.Number `json:"loaded_context_length"`
	// vLLM.
	MaxModelLen vendorhttp.Number `json:"max_model_len"`
	// OpenRouter, Together and SambaNova.
	ContextLength vendorhttp.Number                       `json:"context_length"`
	TopProvider   vendorhttp.Detail[listedModelsProvider] `json:"top_provider"`
	// Groq.
	ContextWindow       vendorhttp.Number `json:"context_window"`
	MaxCompletionTokens vendorhttp.Number `json:"max_completion_tokens"`
	// Mistral and LM Studio.
	MaxContextLength vendorhttp.Number `json:"max_context_length"`
}

// listedModelsProvider is the provider that OpenRouter prefers for a model.
type listedModelsProvider struct {
	ContextLength       vendorhttp.Number `json:"context_length"`
	MaxCompletionTokens vendorhttp.Number `json:"max_completion_tokens"`
}

// listedLimits holds the limits in providers' lists of models, and localLimits the limits that
// local servers state elsewhere for one model. They survive a reload.
var (
	listedLimits vendorhttp.Once[map[string]model.Limits]
	localLimits  vendorhttp.Once[model.Limits]
)

// Limits returns the limits in the server's list of models, or without TLS in the APIs of LM
// Studio, Ollama and llama.cpp. Each server is queried once per process, except Azure, which lists
// models by base name, and vendors that list no limits.
func (e *Executor) Limits(ctx context.Context, upstreamModel string) (model.Limits, error) {
	vendor := e.CatalogVendor()
	if e.Vendor() != "openai" || vendor == "openai" || vendor == "deepseek" || vendor == "xai" {
		return model.Limits{}, nil
	}
	key := e.api.CredentialKey()
	list, err := listedLimits.Get(ctx, key, func() (map[string]model.Limits, error) {
		data, err := e.fetchStated(ctx, "models", nil)
		return limitsInList(data), err
	})
	if found := list[upstreamModel]; err != nil || found != (model.Limits{}) || !e.maybeLocal {
		return found, err
	}
	return localLimits.Get(ctx, key+"\n"+upstreamModel, func() (model.Limits, error) { return e.askLocal(ctx, upstreamModel) })
}

// fetchStated fetches a document. It returns nil if the server rejects the request.
func (e *Executor) fetchStated(ctx context.Context, path string, body []byte) ([]byte, error) {
	data, err := e.api.Fetch(ctx, path, body)
	failure, ok := errors.AsType[*model.Error](err)
	if ok && http.StatusBadRequest <= failure.Status && failure.Status < http.StatusInternalServerError && failure.Status != http.StatusTooManyRequests {
		return nil, nil
	}
	return data, err
}

// askLocal queries the APIs of LM Studio, Ollama and llama.cpp.
func (e *Executor) askLocal(ctx context.Context, name string) (model.Limits, error) {
	body, err := rawjson.Marshal(map[string]string{"model": name})
	if err != nil {
		return model.Limits{}, err
	}
	for _, server := range []struct {
		path string
		body []byte
		read func([]byte) model.Limits
	}{
		{"../api/v0/models", nil, func(data []byte) model.Limits { return limitsInList(data)[name] }},
		{"../api/show", body, limitsOfOllama},
		{"../props", nil, limitsOfLlama},
	} {
		data, err := e.fetchStated(ctx, server.path, server.body)
		if found := server.read(data); err != nil || found != (model.Limits{}) {
			return found, err
		}
	}
	return model.Limits{}, nil
}

// limitsOfLlama returns the limits in the properties of a llama.cpp server.
func limitsOfLlama(data []byte) model.Limits {
	var properties struct {
		Settings struct {
			ContextLength vendorhttp.Number `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	_ = json.Unmarshal(data, &properties) // anything else states no limits
	return model.Limits{ContextWindow: firstPositive(properties.Settings.ContextLength)}
}

// limitsInList returns the limits in a list of models, by model.
func limitsInList(data []byte) map[string]model.Limits {
	var object struct {
		Data []json.RawMessage `json:"data"`
	}
	var list []json.RawMessage // Together
	if json.Unmarshal(data, &list) != nil {
		_ = json.Unmarshal(data, &object) // anything else states no limits
		list = object.Data
	}
	all := make(map[string]model.Limits, len(list))
	for _, entry := range list {
		var m listedModel
		if json.Unmarshal(entry, &m) != nil {
			continue
		}
		top := m.TopProvider.Value
		all[string(m.ID)] = model.Limits{
			ContextWindow:   firstPositive(m.LoadedContextLength, m.MaxModelLen, top.ContextLength, m.ContextLength, m.ContextWindow, m.MaxContextLength),
			MaxOutputTokens: firstPositive(top.MaxCompletionTokens, m.MaxCompletionTokens),
		}
	}
	return all
}

func firstPositive(numbers ...vendorhttp.Number) int {
	for _, n := range numbers {
		if n > 0 {
			return int(n)
		}
	}
	return 0
}

// limitsOfOllama returns the limits in Ollama's description of a model: its parameter num_ctx. The
// model's maximum is not the server's limit: the server loads far less by default and truncates
// longer prompts.
func limitsOfOllama(data []byte) model.Limits {
	var shown struct {
		Parameters vendorhttp.Text `json:"parameters"`
	}
	_ = json.Unmarshal(data, &shown) // only a description states limits
	var set vendorhttp.Number
	for line := range strings.Lines(string(shown.Parameters)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			_ = json.Unmarshal([]byte(words[1]), &set)
		}
	}
	return model.Limits{ContextWindow: firstPositive(set)}
}
