package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// strictServer rejects requests with unknown fields, in its dialect's wording.
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

// TestRejectedFieldsAreLeftOut calls servers that know few fields. The first request discovers the
// rejected fields, and later requests, including after a reload, omit them.
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
		"details that repeat the request": func(unknown []string) string {
			return `{"detail":[{"type":"extra_forbidden","loc":["body","` + unknown[0] + `"],"msg":"Extra inputs are not permitted","input":{"messages":"` + strings.Repeat("x", 2<<20) + `"}}]}`
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
		_, _ = vendortest.Ask(t, e, req) // rejected when seen
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

// TestTheNameOfTheOutputLimitIsLearned simulates a gateway whose models use different names for the
// limit, and the servers' error messages for a wrong name.
func TestTheNameOfTheOutputLimitIsLearned(t *testing.T) {
	names := []string{"max_tokens", "max_completion_tokens"}
	for i, refuse := range []string{
		`{"error":{"message":"Unsupported parameter: '%s' is not supported with this model. Use '%s' instead.","type":"invalid_request_error","param":null,"code":"unsupported_parameter"}}`,
		`{"error":{"message":"Unsupported parameter.","param":"%s","code":"unsupported_parameter"}}`,
		`{"detail":[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted"}]}`,
		`{"error":"%s must not be set, please use %s"}`,
	} {
		for _, dialect := range []string{"openai", "compatible"} {
			config := Config{API: ChatCompletions, Dialect: dialect, BaseURL: fmt.Sprintf("http://renames-%d-%s.example/v1", i, dialect)}
			asked := 0
			answer := func(r *http.Request) (*http.Response, error) {
				asked++
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					return nil, err
				}
				wanted := slices.Index(names, body["model"].(string))
				status, text := http.StatusOK, doneAnswer
				if other := names[1-wanted]; body[other] != nil {
					status, text = http.StatusBadRequest, strings.Replace(strings.Replace(refuse, "%s", other, 1), "%s", names[wanted], 1)
				} else if body[names[wanted]] != 7.0 {
					t.Errorf("the limit is lost: %v", body)
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
			}
			for range 2 { // the second time after a reload
				e := offline(t, config, answer)
				for range 2 {
					for _, name := range names {
						req := hello()
						req.Model, req.MaxOutputTokens = name, 7
						if _, failure := vendortest.Ask(t, e, req); failure != nil {
							t.Errorf("%s, %s: %v", dialect, refuse, failure)
						}
					}
				}
			}
			if rejected := asked - 8; rejected < 1 || rejected > 2 {
				t.Errorf("%s, %s: %d requests are rejected", dialect, refuse, rejected)
			}
		}
	}
}

// TestAnOutputLimitThatIsSetReplacesOurs sets and omits the limit under each of its names.
func TestAnOutputLimitThatIsSetReplacesOurs(t *testing.T) {
	for _, dialect := range []string{"openai", "compatible"} {
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			for _, edits := range []*spec.RequestEdits{{Set: map[string]json.RawMessage{name: json.RawMessage("5")}}, {Omit: []string{name}}} {
				var bodies []map[string]any
				e := offline(t, Config{API: ChatCompletions, Dialect: dialect, BaseURL: "http://limit-set.example/v1", Request: edits}, strictServer(&bodies, nil, func([]string) string { return "{}" }))
				req := hello()
				req.MaxOutputTokens = 7
				_, _ = vendortest.Ask(t, e, req)
				got := map[string]any{}
				for _, limit := range []string{"max_tokens", "max_completion_tokens"} {
					if bodies[0][limit] != nil {
						got[limit] = bodies[0][limit]
					}
				}
				if len(got) != len(edits.Set) || len(got) == 1 && got[name] != 5.0 {
					t.Errorf("%s, %+v: the limits are %v", dialect, edits, got)
				}
			}
		}
	}
}

// TestOmissionsAreMatched omits fields by several names: in full, alone, and misspelled.
func TestOmissionsAreMatched(t *testing.T) {
	for path, matches := range map[string]bool{
		"strict": true, "tools.function.strict": true, "stream_options": true, "max_tokens": true, "max_output_tokens": true, "reasoning_content": true,
		"messages.content.cache_control": true, "response_format.json_schema.strict": true, "seed": true,
		"strct": false, "tools.strict": false, "stream_option": false, "tools.function.strickt": false, "thinking": false, "cache_control.type": false,
	} {
		c := Config{API: ChatCompletions, Request: &spec.RequestEdits{Omit: []string{path}}}
		if found := c.Validate(); (len(found) == 0) != matches || found.HasErrors() {
			t.Errorf("omit %s: %v", path, found)
		}
	}
	c := Config{API: ChatCompletions, Request: &spec.RequestEdits{Set: map[string]json.RawMessage{"thinking": json.RawMessage(`{}`)}}}
	e := offline(t, c, nil)
	if found := e.CheckEdits("m", &spec.RequestEdits{Omit: []string{"thinking", "thinkin"}}); len(found) != 1 || found[0].Path != "omit[1]" {
		t.Errorf("after a field was set: %v", found)
	}
	if !strings.Contains((&Config{API: ChatCompletions, Request: &spec.RequestEdits{Omit: []string{"tools.strict"}}}).Validate()[0].Hint, "omit: [strict]") {
		t.Error("the hint does not name strict")
	}
}

// TestStrictIsOmittedEverywhere omits strict from tools and the output schema.
func TestStrictIsOmittedEverywhere(t *testing.T) {
	for _, api := range []API{ChatCompletions, Responses} {
		var sent string
		e := offline(t, Config{API: api, Request: &spec.RequestEdits{Omit: []string{"strict"}}}, func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			sent = string(body)
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, err
		})
		req := askWeather()
		req.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
		_, _ = vendortest.Ask(t, e, req)
		if !strings.Contains(sent, `"tools"`) || !strings.Contains(sent, "json_schema") || strings.Contains(sent, "strict") {
			t.Errorf("%s: sent %s", api, sent)
		}
	}
}
