package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

// TestConcessions simulates models of other generations that reject requests accepted by ours. Each
// call must succeed, and the learned limits of the model must be remembered.
func TestConcessions(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	effort := func(level string) func(*model.Request) {
		return func(r *model.Request) { r.ReasoningEffort = &spec.Effort{Level: level} }
	}
	report := func(r *model.Request) {
		r.Model = reportModel
		r.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
	}
	thought := func(r *model.Request) {
		r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			reasoning("x", thinkingMark+"sig"), model.Text("a"),
		}}, model.User("b"))
	}
	const adaptive = `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
	noBudget := func(r *apiRequest) string {
		if r.Thinking != nil && r.Thinking.Type == "enabled" {
			return adaptive
		}
		return ""
	}
	noEffort := func(level string) func(*apiRequest) string {
		return func(r *apiRequest) string {
			if r.OutputConfig != nil && (level == "" || r.OutputConfig.Effort == level) {
				return "This model does not support the effort level."
			}
			return noBudget(r)
		}
	}
	forced := func(r *apiRequest) bool {
		return r.ToolChoice != nil && (r.ToolChoice.Type == "tool" || r.ToolChoice.Type == "any")
	}
	const forcing = "Thinking may not be enabled when tool_choice forces tool use."
	for nth, tt := range []struct {
		name   string
		change func(*model.Request)
		refuse func(*apiRequest) string // why, empty for not
		// first and later are the numbers of requests of two calls: 0 if they fail immediately,
		// negative if they finally fail.
		first, later int
	}{
		{"no budgets", effort("high"), noBudget, 2, 1},
		{"no highest effort", effort("max"), noEffort("max"), 3, 1},
		{"no effort", effort("max"), noEffort(""), 5, 1},
		{"no thinking", effort("low"), func(r *apiRequest) string {
			if r.Thinking != nil {
				return "'claude-3-haiku' does not support thinking."
			}
			return ""
		}, 2, 1},
		{"thinking that is unknown", effort("low"), func(r *apiRequest) string {
			if r.Thinking != nil {
				return "thinking: Extra inputs are not permitted"
			}
			return ""
		}, 2, 1},
		{"thinking off that is unknown", effort("off"), func(r *apiRequest) string {
			if r.Thinking != nil {
				return "thinking: Extra inputs are not permitted"
			}
			return ""
		}, 2, 1},
		{"no end of thinking", effort("off"), func(r *apiRequest) string {
			if r.Thinking != nil && r.Thinking.Type == "disabled" {
				return `"thinking.type.disabled" is not supported for this model.`
			}
			return ""
		}, 2, 1},
		{"thinking unless told otherwise", report, func(r *apiRequest) string {
			if forced(r) && r.Thinking == nil {
				return forcing
			}
			return ""
		}, 2, 1},
		{"thinking always", report, func(r *apiRequest) string {
			switch {
			case r.Thinking != nil && r.Thinking.Type == "disabled":
				return `"thinking.type.disabled" is not supported for this model.`
			case forced(r):
				return forcing
			}
			return ""
		}, 3, 1},
		{"no forcing", report, func(r *apiRequest) string {
			if forced(r) {
				return "tool_choice: this model cannot be made to call a tool"
			}
			return ""
		}, 3, 1},
		{"no temperature", func(r *model.Request) { r.Temperature = number(0.5) }, func(r *apiRequest) string {
			if r.Temperature != nil {
				return "`temperature` is deprecated for this model."
			}
			return ""
		}, 2, 1},
		{"temperature or top_p", func(r *model.Request) { r.Temperature, r.TopP = number(0.5), number(0.5) }, func(r *apiRequest) string {
			if r.Temperature != nil && r.TopP != nil {
				return "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
			}
			return ""
		}, 2, 1},
		{"temperature out of range", func(r *model.Request) { r.Temperature = number(1.5) }, func(*apiRequest) string {
			return "temperature: range: 0..1"
		}, 0, 0},
		{"short answers", func(*model.Request) {}, func(r *apiRequest) string {
			if r.MaxTokens > 4096 {
				return fmt.Sprintf("max_tokens: %d > 4096, which is the maximum allowed number of output tokens for claude-3-haiku", r.MaxTokens)
			}
			return ""
		}, 2, 1},
		{"a limit in other words", func(*model.Request) {}, func(r *apiRequest) string {
			if r.MaxTokens > 8000 {
				return "max_tokens must be less than or equal to 8,000 for claude-3-5"
			}
			return ""
		}, 2, 1},
		{"a limit that is not named", func(*model.Request) {}, func(r *apiRequest) string {
			if r.MaxTokens > 5000 {
				return "max_tokens: value is too large for claude-3"
			}
			return ""
		}, 2, 1},
		{"a set limit, and none that is named", func(r *model.Request) { r.MaxOutputTokens = 9000 }, func(*apiRequest) string {
			return "max_tokens: value is too large"
		}, 0, 0},
		{"short answers to a set limit", func(r *model.Request) { r.MaxOutputTokens = 9000 }, func(r *apiRequest) string {
			if r.MaxTokens > 4096 {
				return fmt.Sprintf("max_tokens: %d > 4096, which is the maximum allowed number of output tokens for claude-3-haiku", r.MaxTokens)
			}
			return ""
		}, 2, 1},
		{"little room for the answer", func(r *model.Request) { r.Messages[0] = model.User("long") }, func(r *apiRequest) string {
			if r.MaxTokens > 1000 {
				return fmt.Sprintf("input length and `max_tokens` exceed context limit: 199000 + %d > 200000, decrease input length or `max_tokens` and try again", r.MaxTokens)
			}
			return ""
		}, 2, 2},
		{"no room for the answer", func(r *model.Request) { r.Messages[0] = model.User("long") }, func(r *apiRequest) string {
			if r.MaxTokens > 8192 {
				return fmt.Sprintf("max_tokens: %d > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku", r.MaxTokens)
			}
			return "input length and `max_tokens` exceed context limit: 199900 + 8192 > 200000"
		}, -2, -1},
		{"foreign reasoning", thought, func(r *apiRequest) string {
			if len(r.Messages) > 1 && r.Messages[1].Content[0].Type == "thinking" {
				return "messages.1.content.0: Invalid `signature` in `thinking` block"
			}
			return ""
		}, 2, 2},
		{"calls without a thought", effort("high"), func(r *apiRequest) string {
			if r.Thinking != nil {
				return "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
			}
			return ""
		}, 2, 2},
		{"something else", effort("high"), func(*apiRequest) string { return "messages: odd" }, 0, 0},
	} {
		status := []int{http.StatusBadRequest, http.StatusUnprocessableEntity}[nth%2] // the latter of gateways
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
				asked++
				if why := tt.refuse(checkBody(t, readBody(t, r))); why != "" {
					res := refusalResponse(r, why)
					res.StatusCode = status
					return res, nil
				}
				return vendortest.StreamResponse(r, streamOf(t, "text")), nil
			})
			for i, want := range []int{tt.first, tt.later} {
				asked = 0
				req := hello()
				tt.change(req)
				_, failure := vendortest.Ask(t, e, req)
				if want < 0 {
					if failure == nil || failure.Class != model.ContextOverflow || asked != -want {
						t.Errorf("call %d: asked %d times, then %v", i, asked, failure)
					}
				} else if want == 0 {
					if failure == nil || failure.Class != model.InvalidRequest || asked != 1 {
						t.Errorf("call %d: asked %d times, then %v", i, asked, failure)
					}
				} else if failure != nil || asked != want {
					t.Errorf("call %d: asked %d times, then %v; want %d times", i, asked, failure, want)
				}
			}
		})
	}
}

// TestConcessionsComeToAnEnd uses a server that rejects everything, each time for another reason.
func TestConcessionsComeToAnEnd(t *testing.T) {
	reasons := []string{
		"Invalid `signature` in `thinking` block", "Expected `thinking`, but found `tool_use`",
		"max_tokens: 9 > 8192", "max_tokens: 9 > 4096", "exceed context limit: 9000 + 9 > 10000 max_tokens", "exceed context limit: 9500 + 9 > 10000 max_tokens", "max_tokens is odd", "tool_choice is not supported", "effort is not supported",
		"thinking is not supported", `use "thinking.type.adaptive"`, "temperature and top_p cannot both be specified", "temperature is deprecated",
	}
	rapid.Check(t, func(r *rapid.T) {
		asked := 0
		e := offline(t, Config{}, func(req *http.Request) (*http.Response, error) {
			asked++
			return refusalResponse(req, rapid.SampledFrom(reasons).Draw(r, "reason")), nil
		})
		req := conversation()
		req.ReasoningEffort, req.MaxOutputTokens = &spec.Effort{Level: "max"}, rapid.SampledFrom([]int{0, 64000}).Draw(r, "limit")
		req.ToolChoice.Mode = rapid.SampledFrom([]model.ToolMode{model.ToolsAuto, model.ToolsRequired}).Draw(r, "mode")
		if _, failure := vendortest.Ask(t, e, req); failure == nil || asked > 16 {
			r.Fatalf("asked %d times, then %v", asked, failure)
		}
	})
}
