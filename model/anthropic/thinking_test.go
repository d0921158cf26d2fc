package anthropic

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

func TestEffort(t *testing.T) {
	percent := func(n int) *spec.Effort { e := spec.EffortPercent(n); return &e }
	level := func(l string) *spec.Effort { return &spec.Effort{Level: l} }
	for _, tt := range []struct {
		name      string
		effort    *spec.Effort
		limit     int
		budget    int // 0 is no thinking, -1 disabled
		maxTokens int
		adaptive  string
	}{
		{"none given", nil, 0, 0, 16384, ""},
		{"off", level("off"), 0, -1, 16384, ""},
		{"none", level("none"), 0, -1, 16384, ""},
		{"0", percent(0), 500, -1, 500, ""},
		{"low", level("low"), 0, 1024, 17408, "low"},
		{"medium", level("medium"), 0, 4000, 20384, "medium"},
		{"high", level("high"), 0, 8000, 24384, "high"},
		{"max", level("max"), 0, 32000, 48384, "max"},
		{"1 %", percent(1), 0, 1024, 17408, "low"},
		{"50 %", percent(50), 0, 4000, 20384, "medium"},
		{"100 %", percent(100), 0, 8000, 24384, "high"},
		{"small budget", &spec.Effort{Budget: 10}, 0, 1024, 17408, "low"},
		{"budget", &spec.Effort{Budget: 3000}, 0, 3000, 19384, "medium"},
		{"large budget", &spec.Effort{Budget: 50000}, 0, 50000, 66384, "high"},
		{"limit above the budget", level("high"), 9000, 8000, 9000, "high"},
		{"limit at the budget", level("high"), 8000, 4000, 8000, "high"},
		{"limit too small", level("high"), 2000, 0, 2000, "high"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := hello()
			req.ReasoningEffort, req.MaxOutputTokens = tt.effort, tt.limit
			body, _ := encoded(t, req, concessions{})
			if got := budgetOf(body); got != tt.budget || body.MaxTokens != tt.maxTokens {
				t.Errorf("the budget is %d of %d, want %d of %d", got, body.MaxTokens, tt.budget, tt.maxTokens)
			}
			body, _ = encoded(t, req, concessions{adaptive: true})
			switch {
			case tt.adaptive == "" && budgetOf(body) == tt.budget && body.OutputConfig == nil:
			case tt.adaptive == "" || body.Thinking == nil || body.Thinking.Type != "adaptive" || body.OutputConfig.Effort != tt.adaptive:
				t.Errorf("a newer model is asked to think as %+v %+v, want %s", body.Thinking, body.OutputConfig, tt.adaptive)
			}
		})
	}
}

func budgetOf(body *apiRequest) int {
	switch {
	case body.Thinking == nil:
		return 0
	case body.Thinking.Type == "disabled":
		return -1
	default:
		return body.Thinking.BudgetTokens
	}
}

// TestMaxOutputTokens checks which limit applies.
func TestMaxOutputTokens(t *testing.T) {
	for _, tt := range []struct{ request, provider, known, want int }{
		{0, 0, 0, defaultMaxOutputTokens},
		{0, 4096, 0, 4096},
		{100, 4096, 0, 100},
		{0, 0, 8192, 8192},
		{0, 4096, 8192, 4096},
		{10000, 0, 8192, 8192},
		{1000, 0, 8192, 1000},
	} {
		req := hello()
		req.MaxOutputTokens = tt.request
		p, err := offline(t, Config{MaxOutputTokens: tt.provider}, nil).planRequest(req, concessions{outputLimit: tt.known})
		if err != nil || p.params.MaxTokens != int64(tt.want) {
			t.Errorf("%+v: max_tokens is %d (%v)", tt, p.params.MaxTokens, err)
		}
	}
}

func TestSampling(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	think := &spec.Effort{Level: "low"}
	for _, tt := range []struct {
		name                   string
		temperature, topP      *float64
		effort                 *spec.Effort
		conceded               concessions
		sentTemperature, sentP bool
	}{
		{"both", number(0.2), number(0.9), nil, concessions{}, true, true},
		{"one", number(0.2), number(0.9), nil, concessions{oneSampling: true}, true, false},
		{"top_p alone", nil, number(0.9), nil, concessions{oneSampling: true}, false, true},
		{"none", number(0.2), number(0.9), nil, concessions{noSampling: true}, false, false},
		{"thinking", number(0.2), number(0.9), think, concessions{}, false, false},
		{"thinking with top_p", number(0.2), number(0.97), think, concessions{}, false, true},
		{"zero", number(0), number(0), nil, concessions{}, true, true},
	} {
		req := hello()
		req.Temperature, req.TopP, req.ReasoningEffort = tt.temperature, tt.topP, tt.effort
		body, _ := encoded(t, req, tt.conceded)
		if (body.Temperature != nil) != tt.sentTemperature || (body.TopP != nil) != tt.sentP {
			t.Errorf("%s: temperature %v and top_p %v are sent", tt.name, body.Temperature, body.TopP)
		}
	}
}

// TestThinkingDoesNotBeginBetweenCallsAndResults: with thinking, the API requires a thought before
// the calls of an answer.
func TestThinkingDoesNotBeginBetweenCallsAndResults(t *testing.T) {
	call := model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("a", "look", `{}`)}}
	thought := model.Message{Role: model.RoleAssistant, Parts: []model.Part{reasoning("x", thinkingMark+"s"), vendortest.ToolCall("a", "look", `{}`)}}
	redacted := model.Message{Role: model.RoleAssistant, Parts: []model.Part{reasoning("", redactedMark+"s"), vendortest.ToolCall("a", "look", `{}`)}}
	result := model.Message{Role: model.RoleTool, Parts: []model.Part{toolResultPart("a", false, model.Text("x"))}}
	for _, tt := range []struct {
		name     string
		messages []model.Message
		thinks   bool
	}{
		{"with a thought", []model.Message{model.User("a"), thought, result}, true},
		{"with a hidden thought", []model.Message{model.User("a"), redacted, result}, true},
		{"without", []model.Message{model.User("a"), call, result}, false},
		{"a thought in the step before", []model.Message{model.User("a"), thought, result, call, result}, true},
		{"a thought in the turn before", []model.Message{model.User("a"), thought, result, model.Assistant("b"), model.User("c"), call, result}, false},
		{"calls in the turn before", []model.Message{model.User("a"), call, result, model.Assistant("b"), model.User("c")}, true},
		{"an answer to continue", []model.Message{model.User("a"), model.Assistant("b ")}, false},
	} {
		req := hello()
		req.Messages, req.ReasoningEffort = tt.messages, &spec.Effort{Level: "high"}
		body, _ := encoded(t, req, concessions{})
		if got := budgetOf(body) > 0; got != tt.thinks {
			t.Errorf("%s: the model thinks is %v", tt.name, got)
		}
	}
}

// TestEveryPlanIsOneTheAPITakes checks all combinations of requests and concessions.
func TestEveryPlanIsOneTheAPITakes(t *testing.T) {
	e := offline(t, Config{}, nil)
	tools := someTools(3)
	rapid.Check(t, func(r *rapid.T) {
		flag := func(name string) bool { return rapid.Bool().Draw(r, name) }
		number := func(name string) *float64 {
			if !flag(name) {
				return nil
			}
			n := rapid.Float64Range(0, 1).Draw(r, name+" value")
			return &n
		}
		req := conversation()
		req.Messages = req.Messages[:rapid.SampledFrom([]int{4, 8, len(req.Messages)}).Draw(r, "messages")]
		req.Tools = tools[:rapid.IntRange(0, 3).Draw(r, "tools")]
		req.Cache, req.Temperature, req.TopP = flag("cache"), number("temperature"), number("top_p")
		req.MaxOutputTokens = rapid.SampledFrom([]int{0, 1, 1024, 2048, 9000}).Draw(r, "limit")
		req.ReasoningEffort = rapid.SampledFrom([]*spec.Effort{
			nil, {Level: "off"}, {Level: "low"}, {Level: "max"}, {Percent: 70}, {Budget: 1}, {Budget: 100000},
		}).Draw(r, "effort")
		if flag("output") {
			req.Model = rapid.SampledFrom([]string{testModel, reportModel}).Draw(r, "model")
			req.Output = &spec.OutputSchema{Schema: []byte(rapid.SampledFrom([]string{citySchema, listSchema}).Draw(r, "schema"))}
		}
		modes := []model.ToolMode{model.ToolsAuto, model.ToolsNone}
		if len(req.Tools) > 0 {
			modes = append(modes, model.ToolsRequired, model.ToolsNamed)
			req.ToolChoice.Name = tools[0].Name
		}
		req.ToolChoice.Mode = rapid.SampledFrom(modes).Draw(r, "mode")
		p, err := e.planRequest(req, concessions{
			adaptive: flag("adaptive"), neverThinks: flag("neverThinks"), alwaysThinks: flag("alwaysThinks"), thinksUnasked: flag("thinksUnasked"),
			unforced: flag("unforced"), noEffort: flag("noEffort"), effortSteps: rapid.IntRange(0, 2).Draw(r, "steps"),
			oneSampling: flag("oneSampling"), noSampling: flag("noSampling"), forgetReasoning: flag("forgetReasoning"), pauseThinking: flag("pauseThinking"),
			outputLimit: rapid.SampledFrom([]int{0, 1000, 4096, 64000}).Draw(r, "known limit"), outputRoom: rapid.SampledFrom([]int{0, 256, 2000}).Draw(r, "room"),
		})
		if err != nil {
			r.Fatal(err)
		}
		body, err := p.encodeBody()
		if err != nil {
			r.Fatal(err)
		}
		checkBody(t, body)
		if t.Failed() {
			r.FailNow()
		}
	})
}
