package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// strictFields are the values of strict in a request, or nil where absent.
type strictFields struct{ tool, form any }

// readStrict returns the strict fields of a request of either API.
func readStrict(t *testing.T, body []byte) strictFields {
	t.Helper()
	type named struct {
		Strict any `json:"strict"`
	}
	var sent struct {
		Tools []struct {
			named

			Function named `json:"function"`
		} `json:"tools"`
		ResponseFormat struct {
			JSONSchema named `json:"json_schema"`
		} `json:"response_format"`
		Text struct {
			Format named `json:"format"`
		} `json:"text"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	either := func(a, b any) any {
		if a != nil {
			return a
		}
		return b
	}
	got := strictFields{form: either(sent.ResponseFormat.JSONSchema.Strict, sent.Text.Format.Strict)}
	if len(sent.Tools) > 0 {
		got.tool = either(sent.Tools[0].Strict, sent.Tools[0].Function.Strict)
	}
	return got
}

// askStrictly returns a request with a tool and a schema that strict mode accepts.
func askStrictly() *model.Request {
	req := askWeather()
	req.Output = &spec.OutputSchema{Name: "place", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)}
	return req
}

// strictPeer records the strict fields of requests and rejects requests for which refuse returns a
// body.
func strictPeer(t *testing.T, asked *[]strictFields, refuse func(strictFields) string) vendortest.RoundTrip {
	return func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got := readStrict(t, body)
		*asked = append(*asked, got)
		status, text := http.StatusOK, doneAnswer
		if refusal := refuse(got); refusal != "" {
			status, text = http.StatusUnprocessableEntity, refusal
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

func TestDialectsDecideWhetherToolsAreStrict(t *testing.T) {
	omitted := map[string]bool{"compatible": true, "deepseek": true, "ollama": true, "groq": true, "xai": true, "vllm": true}
	for _, s := range servers {
		for _, api := range []API{ChatCompletions, Responses} {
			want := strictFields{tool: false, form: true}
			if omitted[s.dialect] {
				want.tool = nil
			}
			base := Config{Dialect: s.dialect, API: api, BaseURL: "http://" + s.dialect + "." + string(api) + ".example/v1"}
			tools, form := "tools.function.strict", "response_format.json_schema.strict"
			loose := json.RawMessage(`{"json_schema":{"strict":false}}`)
			set := map[string]json.RawMessage{"response_format": loose}
			if api == Responses {
				tools, form = "tools.strict", "text.format.strict"
				set = map[string]json.RawMessage{"text": json.RawMessage(`{"format":{"strict":false}}`)}
			}
			for name, tt := range map[string]struct {
				edits *spec.RequestEdits
				want  strictFields
			}{
				"as it is":      {nil, want},
				"tools omitted": {&spec.RequestEdits{Omit: []string{tools}}, strictFields{nil, want.form}},
				"form omitted":  {&spec.RequestEdits{Omit: []string{form}}, strictFields{want.tool, nil}},
				"form set":      {&spec.RequestEdits{Set: set}, strictFields{want.tool, false}},
			} {
				config := base
				config.Request = tt.edits
				var asked []strictFields
				e := offline(t, config, strictPeer(t, &asked, func(strictFields) string { return "" }))
				_, _ = vendortest.Ask(t, e, askStrictly())
				if len(asked) != 1 || asked[0] != tt.want {
					t.Errorf("%s, %s, %s: sent %v, want %v", s.dialect, api, name, asked, tt.want)
				}
			}
		}
	}
}

// TestStrictIsLeftOutWhereServersRejectIt checks that rejecting strict loses neither the tools nor
// the output schema.
func TestStrictIsLeftOutWhereServersRejectIt(t *testing.T) {
	for name, tt := range map[string]struct {
		refuse func(strictFields) string
		want   strictFields
	}{
		"in-tools": {func(s strictFields) string {
			if s.tool != nil {
				return `{"detail":[{"type":"extra_forbidden","loc":["body","tools",0,"function","strict"],"msg":"Extra inputs are not permitted"}]}`
			}
			return ""
		}, strictFields{nil, true}},
		"in-forms": {func(s strictFields) string {
			if s.form != nil {
				return `{"detail":[{"type":"extra_forbidden","loc":["body","response_format","json_schema","strict"],"msg":"Extra inputs are not permitted"}]}`
			}
			return ""
		}, strictFields{false, nil}},
		"anywhere": {func(s strictFields) string {
			if s != (strictFields{}) {
				return `{"error":{"message":"Unrecognized request argument supplied: strict","type":"invalid_request_error"}}`
			}
			return ""
		}, strictFields{}},
	} {
		var asked []strictFields
		e := offline(t, Config{API: ChatCompletions, BaseURL: "http://strict-" + name + ".example/v1"}, strictPeer(t, &asked, tt.refuse))
		for range 2 {
			if _, err := vendortest.Ask(t, e, askStrictly()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if last := asked[len(asked)-1]; last != tt.want {
			t.Errorf("%s: sent %v in the end, want %v", name, last, tt.want)
		}
		if n := len(asked); asked[n-2] != tt.want {
			t.Errorf("%s: the second call was refused: %v", name, asked)
		}
	}
}
