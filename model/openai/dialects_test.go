package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

const doneAnswer = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"done\"}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n"

// strictServer rejects requests with other fields than it knows, as its dialect words it.
func strictServer(bodies *[]map[string]any, known []string, refuse func(unknown []string) string) vendortest.RoundTrip {
	return func(r *http.Request) (*http.Response, error) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		*bodies = append(*bodies, body)
		var unknown []string
		for name := range body {
			if !slices.Contains(known, name) {
				unknown = append(unknown, name)
			}
		}
		slices.Sort(unknown)
		status, text := http.StatusOK, doneAnswer
		if len(unknown) > 0 {
			status, text = http.StatusUnprocessableEntity, refuse(unknown)
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

// TestRejectedFieldsAreLeftOut asks servers that know few fields. The first request finds out
// what they reject, and later ones and those after a reload leave it out.
func TestRejectedFieldsAreLeftOut(t *testing.T) {
	known := []string{"model", "messages", "stream", "max_tokens"}
	for name, refuse := range map[string]func(unknown []string) string{
		"a message": func(unknown []string) string {
			return `{"error":{"message":"Extra inputs are not permitted: ` + strings.Join(unknown, ", ") + `","type":"invalid_request_error"}}`
		},
		"a param": func(unknown []string) string {
			return `{"error":{"message":"Unknown parameter.","type":"invalid_request_error","param":"` + unknown[0] + `"}}`
		},
		"Mistral's details": func(unknown []string) string {
			return `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","` + unknown[0] + `"],"msg":"Extra inputs are not permitted","input":{}}]},"type":"invalid_request_error"}`
		},
		"FastAPI's details": func(unknown []string) string {
			return `{"detail":[{"type":"extra_forbidden","loc":["body","` + unknown[0] + `"],"msg":"Extra inputs are not permitted"}]}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []map[string]any
			config := Config{API: ChatCompletions, BaseURL: "http://" + strings.ReplaceAll(name, " ", "-") + ".example/v1"}
			var log bytes.Buffer
			e, err := newExecutor(model.Settings{ID: vendortest.Provider, Logger: slog.New(slog.NewTextHandler(&log, nil))}, &config, strictServer(&bodies, known, refuse))
			if err != nil {
				t.Fatal(err)
			}
			req := hello()
			req.SessionID, req.MaxOutputTokens = "s", 7
			for range 2 {
				if events, err := vendortest.Ask(t, e, req); err != nil || vendortest.Assemble(t, events).Text() != "done" {
					t.Fatal(events, err)
				}
			}
			want := []string{"max_completion_tokens", "prompt_cache_key", "stream_options"}
			if got := slices.Sorted(slices.Values(e.RejectedFields())); !slices.Equal(got, want) {
				t.Errorf("learned %v, want %v", got, want)
			}
			for _, field := range want {
				line := "level=WARN msg=\"the model server rejects a field; requests leave it out from now on\" provider=" + vendortest.Provider + " field=" + field + " "
				if strings.Count(log.String(), line) != 1 {
					t.Errorf("the log does not have once %q: %s", line, log.String())
				}
			}
			asked := len(bodies)
			reloaded := offline(t, config, strictServer(&bodies, known, refuse))
			if _, err := vendortest.Ask(t, reloaded, req); err != nil || len(bodies) != asked+1 {
				t.Errorf("%d requests after a reload: %v", len(bodies)-asked, err)
			}
			if last := bodies[len(bodies)-1]; last["max_tokens"] != 7.0 {
				t.Errorf("the limit is lost: %v", last)
			}
		})
	}
}

func TestFieldsThatAConfigurationSetsAreNotGivenUp(t *testing.T) {
	var bodies []map[string]any
	e := offline(t, Config{API: ChatCompletions, BaseURL: "http://insists.example/v1", Request: &spec.RequestEdits{
		Set: map[string]json.RawMessage{"stream_options": json.RawMessage(`{"include_usage":false}`)},
	}}, strictServer(&bodies, []string{"model", "messages", "stream"}, func([]string) string {
		return `{"error":{"message":"unknown field stream_options"}}`
	}))
	if _, err := vendortest.Ask(t, e, hello()); err == nil || len(bodies) != 1 {
		t.Errorf("%d requests, error %v", len(bodies), err)
	}
}

func TestDialectsDecideWhatIsSent(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		url        string
		has, lacks string
	}{
		{Config{Dialect: "mistral"}, "https://api.mistral.ai/v1/chat/completions", "max_tokens", "stream_options prompt_cache_key max_completion_tokens"},
		{Config{BaseURL: "https://api.mistral.ai/v1", API: ChatCompletions}, "https://api.mistral.ai/v1/chat/completions", "max_tokens", "stream_options"},
		{Config{Dialect: "deepseek"}, "https://api.deepseek.com/v1/chat/completions", "max_tokens stream_options", "prompt_cache_key"},
		{Config{Dialect: "ollama"}, "http://localhost:11434/v1/chat/completions", "max_tokens stream_options", "prompt_cache_key"},
		{Config{Dialect: "openrouter"}, "https://openrouter.ai/api/v1/chat/completions", "max_tokens stream_options prompt_cache_key", "max_completion_tokens"},
		{Config{Dialect: "groq"}, "https://api.groq.com/openai/v1/chat/completions", "max_completion_tokens stream_options", "prompt_cache_key"},
		{Config{Dialect: "xai"}, "https://api.x.ai/v1/responses", "max_output_tokens prompt_cache_key", "stream_options"},
		{Config{Dialect: "xai", API: ChatCompletions}, "https://api.x.ai/v1/chat/completions", "max_completion_tokens stream_options", "service_tier"},
		{Config{Dialect: "vllm", BaseURL: "http://gpu:8000/v1"}, "http://gpu:8000/v1/chat/completions", "max_completion_tokens", "prompt_cache_key"},
		{Config{Dialect: "compatible", BaseURL: "http://gpu:8000/v1"}, "http://gpu:8000/v1/chat/completions", "max_tokens stream_options", "prompt_cache_key"},
		{Config{Dialect: "openai"}, "https://api.openai.com/v1/responses", "prompt_cache_key max_output_tokens", ""},
	} {
		var sent map[string]any
		var url string
		e := offline(t, tt.config, func(r *http.Request) (*http.Response, error) {
			url = r.URL.String()
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
		})
		req := hello()
		req.SessionID, req.MaxOutputTokens = "s", 7
		_, _ = vendortest.Ask(t, e, req) // refused once it is seen
		if url != tt.url {
			t.Errorf("%+v asks %s, want %s", tt.config, url, tt.url)
		}
		for _, name := range strings.Fields(tt.has) {
			if sent[name] == nil {
				t.Errorf("%+v sends no %s: %v", tt.config, name, sent)
			}
		}
		for _, name := range strings.Fields(tt.lacks) {
			if sent[name] != nil {
				t.Errorf("%+v sends %s: %v", tt.config, name, sent)
			}
		}
	}
}

func TestDialectsAreChecked(t *testing.T) {
	for _, c := range []Config{
		{Dialect: "mistrl"}, {Dialect: "compatible"},
		{Request: &spec.RequestEdits{Omit: []string{"messages"}}}, {Request: &spec.RequestEdits{Omit: []string{"a..b"}}},
		{Request: &spec.RequestEdits{Set: map[string]json.RawMessage{"stream": json.RawMessage("false")}}},
	} {
		if !c.Validate().HasErrors() {
			t.Errorf("%+v is accepted", c)
		}
	}
}
