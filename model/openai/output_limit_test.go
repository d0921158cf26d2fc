package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// TestRejectedOutputLimitsAreLowered simulates servers that reject 16384 output tokens.
func TestRejectedOutputLimitsAreLowered(t *testing.T) {
	for message, want := range map[string]int{
		"max_tokens is too large: 16384. This model supports at most 4096 completion tokens, whereas you provided 16384.":                                              4096, // OpenAI
		"`max_completion_tokens` must be less than or equal to `8192`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model": 8192, // Groq
		"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]":                                                                                         8192, // DeepSeek
		"max_tokens: the limit is 4,096":                                                     4096,
		"max_tokens must be positive":                                                        0,
		"max_tokens 16384 exceeds the limit":                                                 0,
		"the tool name is longer than the maximum of 64":                                     0,
		"max_tokens is too large: 16384. This model's maximum context length is 8192 tokens": 0,
	} {
		for _, api := range []API{ChatCompletions, Responses} {
			var sent []int
			e := offline(t, Config{API: api, BaseURL: "http://limited.example/v1"}, func(r *http.Request) (*http.Response, error) {
				var body struct {
					MaxTokens           int `json:"max_tokens"`
					MaxCompletionTokens int `json:"max_completion_tokens"`
					MaxOutputTokens     int `json:"max_output_tokens"`
				}
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					return nil, err
				}
				n := body.MaxTokens + body.MaxCompletionTokens + body.MaxOutputTokens
				sent = append(sent, n)
				status, text := http.StatusOK, doneAnswer
				if n > max(want, 1) {
					quoted, _ := json.Marshal(message)
					status, text = http.StatusBadRequest, `{"error":{"message":`+string(quoted)+`}}`
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
			})
			req := hello()
			req.MaxOutputTokens = 16384
			for range 2 {
				_, _ = vendortest.Ask(t, e, req)
			}
			req.MaxOutputTokens = 10
			_, _ = vendortest.Ask(t, e, req)
			expected := []int{16384, want, want, 10}
			if want == 0 {
				expected = []int{16384, 16384, 10}
			}
			if len(sent) != len(expected) {
				t.Errorf("%s, %s: sent %v, want %v", message, api, sent, expected)
				continue
			}
			for i := range sent {
				if sent[i] != expected[i] {
					t.Errorf("%s, %s: sent %v, want %v", message, api, sent, expected)
				}
			}
		}
	}
}

// TestAnswersShrinkToTheRoomOfTheConversation simulates servers with a window of 8192 tokens.
func TestAnswersShrinkToTheRoomOfTheConversation(t *testing.T) {
	for message, want := range map[string]int{
		"'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 500 input tokens (16384 > 8192 - 500).":                      7692, // vLLM
		"This model's maximum context length is 8192 tokens. However, you requested 16384 output tokens and your prompt contains at least 1000 input tokens, for a total of at least 17384 tokens.":        7192, // vLLM
		"This model's maximum context length is 8192 tokens. However, you requested 17384 tokens (1000 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.": 7192, // OpenAI
		"This endpoint's maximum context length is 8192 tokens. However, you requested about 17384 tokens (1000 of text input, 16384 in the output).":                                                      7192, // OpenRouter
		"This model's maximum context length is 8192 tokens. However, you requested 24384 tokens (8000 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.": 0,
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.":                                                                                              0,
	} {
		var sent []int
		e := offline(t, Config{API: ChatCompletions, BaseURL: "http://window.example/v1"}, func(r *http.Request) (*http.Response, error) {
			var body struct {
				Limit int `json:"max_completion_tokens"`
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				return nil, err
			}
			sent = append(sent, body.Limit)
			status, text := http.StatusOK, doneAnswer
			if body.Limit > max(want, 1) {
				quoted, _ := json.Marshal(message)
				status, text = http.StatusBadRequest, `{"message":`+string(quoted)+`,"type":"BadRequestError","code":400}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})
		req := hello()
		req.MaxOutputTokens = 16384
		for range 2 { // the next conversation may be shorter
			_, failure := vendortest.Ask(t, e, req)
			if want == 0 && (failure == nil || failure.Class != model.ContextOverflow) || want > 0 && failure != nil {
				t.Errorf("%s: %v", message, failure)
			}
		}
		expected := []int{16384, want, 16384, want}
		if want == 0 {
			expected = []int{16384, 16384}
		}
		if !slices.Equal(sent, expected) {
			t.Errorf("%s: sent %v, want %v", message, sent, expected)
		}
	}
}

// TestRejectedReasoningAndSamplingAreLeftOut simulates servers whose models do not reason or have a
// fixed temperature.
func TestRejectedReasoningAndSamplingAreLeftOut(t *testing.T) {
	for message, field := range map[string]string{
		`\"qwen2.5:0.5b\" does not support thinking`:              "reasoning_effort", // Ollama
		`think value \"low\" is not supported for this model`:     "reasoning_effort",
		`Argument not supported on this model: reasoningEffort`:   "reasoning_effort", // xAI
		`invalid temperature: only 1 is allowed for this model`:   "temperature",      // Kimi
		`invalid temperature: only 0.6 is allowed for this model`: "temperature",
		`temperature must be 1`:                                   "temperature",
		`temperature must be set to 1 when thinking is enabled`:   "temperature",
		`temperature must be less than or equal to 1`:             "",
		`temperature must be between 0 and 1`:                     "",
		`temperature must be 0 to 1`:                              "",
	} {
		asked := 0
		e := offline(t, Config{API: ChatCompletions, BaseURL: "http://plain.example/v1"}, func(r *http.Request) (*http.Response, error) {
			asked++
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				return nil, err
			}
			status, text := http.StatusOK, doneAnswer
			if field == "" || body[field] != nil {
				status, text = http.StatusBadRequest, `{"error":{"message":"`+message+`"}}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})
		req := hello()
		req.Temperature, req.ReasoningEffort = new(0.5), &spec.Effort{Level: "low"}
		_, failure := vendortest.Ask(t, e, req)
		if field == "" && asked == 1 && failure != nil {
			continue
		}
		if _, failure = vendortest.Ask(t, e, req); failure != nil || asked != 3 {
			t.Errorf("%s: %d requests, %v", message, asked, failure)
		}
	}
}
