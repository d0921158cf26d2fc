package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

func TestSettingsOfModelsAreSent(t *testing.T) {
	for api, want := range map[API]map[string]string{
		ChatCompletions: {"temperature": "0.5", "top_p": "0.9", "seed": "7", "stop": `["END"]`, "service_tier": `"flex"`, "verbosity": `"low"`, "user": `"u"`, "stream": "true"},
		Responses:       {"temperature": "0.5", "top_p": "0.9", "service_tier": `"flex"`, "text": `{"verbosity":"low"}`, "user": `"u"`},
	} {
		req := hello()
		req.Params = model.Params{Temperature: new(0.5), TopP: new(0.9), Seed: new(7), Stop: []string{"END"}, ServiceTier: "flex", Verbosity: "low"}
		req.Edits = &spec.RequestEdits{Set: map[string]json.RawMessage{"user": json.RawMessage(`"u"`)}, Omit: []string{"stream_options"}}
		var sent map[string]json.RawMessage
		send := func() {
			e := offline(t, Config{API: api}, func(r *http.Request) (*http.Response, error) {
				sent = nil
				if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
					return nil, err
				}
				return nil, errors.New("the request has been seen")
			})
			_, _ = vendortest.Ask(t, e, req) // rejected when seen
		}
		send()
		for name, value := range want {
			if string(sent[name]) != value {
				t.Errorf("%s: %s is %s, want %s", api, name, sent[name], value)
			}
		}
		if sent["stream_options"] != nil {
			t.Errorf("%s: stream_options is sent", api)
		}
		req.Output = &spec.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)}
		if api == Responses {
			send()
			var text map[string]json.RawMessage
			if json.Unmarshal(sent["text"], &text) != nil || string(text["verbosity"]) != `"low"` || text["format"] == nil {
				t.Errorf("with a form, the text is %s", sent["text"])
			}
		}
	}
}

func TestParametersThatADialectLacksAreNamed(t *testing.T) {
	set := model.Params{Temperature: new(0.5), Seed: new(7), Stop: []string{"END"}, ServiceTier: "flex", Verbosity: "low"}
	for _, tt := range []struct {
		config Config
		want   int
	}{{Config{}, 2}, {Config{API: ChatCompletions}, 0}, {Config{Dialect: "mistral"}, 2}, {Config{Dialect: "deepseek"}, 3}, {Config{Dialect: "groq"}, 1}} {
		if got := offline(t, tt.config, nil).CheckParams("", &set); len(got) != tt.want {
			t.Errorf("%+v lacks %v", tt.config, got)
		}
	}
}

func TestRejectedSamplingIsLeftOutForTheModel(t *testing.T) {
	req := hello()
	req.Temperature, req.TopP = new(0.2), new(0.9)
	for message, want := range map[string]concessions{
		`{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}`: {noTemperature: true},
		`{"error":{"message":"Unsupported parameter: 'top_p' is not supported with this model.","param":"top_p","code":"unsupported_parameter"}}`:                                                  {noTopP: true},
		`{"detail":[{"loc":["body","temperature"],"msg":"Extra inputs are not permitted"}]}`:                                                                                                       {noTemperature: true},
		`{"error":{"message":"temperature must be at most 1","param":"temperature"}}`:                                                                                                              {},
		`{"error":{"message":"Unsupported parameter: 'seed'","param":"seed"}}`:                                                                                                                     {},
	} {
		r := parseRefusal([]byte(message))
		r.status = http.StatusBadRequest
		got, more := (concessions{}).afterRefusal(r.modelError(), req)
		if got != want || more != (want != concessions{}) {
			t.Errorf("%s: conceded %+v", message, got)
		}
		for api, v := range vendors {
			sent := body(t, api, req, got)
			if strings.Contains(sent, `"temperature"`) == got.noTemperature || strings.Contains(sent, `"top_p"`) == got.noTopP {
				t.Errorf("%s is sent %s with %+v (%s)", api, sent, got, v.Type)
			}
		}
	}
}
