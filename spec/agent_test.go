package spec_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestAgentValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent spec.Agent
		want  []string
	}{
		"a small one": {spec.Agent{ModelID: "m"}, nil},
		"a whole one": {*whole(), []string{"invalid-value session_start[0].output.additional_context: an agent with an endpoint owns its prompt, so nothing can be put before its turns"}},
		"hooks": {spec.Agent{ModelID: "m", SessionStart: []spec.SessionHook{
			{ID: "a", Command: []string{"true"}, Timeout: new(spec.Duration(0))}, {ID: "a b", Type: "script", Command: []string{""}}, {ID: "a", Command: []string{"true"}},
		}}, []string{
			"invalid-value session_start[0].timeout: timeout is 0s; it must be more than 0",
			"invalid-value session_start[1].id: the id of a hook has 1 to 64 letters, digits, _ and -",
			"invalid-value session_start[1].command: command names no program",
			`invalid-value session_start[1].type: type is "script"; allowed is command`,
			`duplicate-id session_start[2].id: hook "a" is hook 1 of the agent already`,
		}},
		"no model":                       {spec.Agent{}, []string{"missing-field model_id: model_id is required"}},
		"an endpoint instead of a model": {spec.Agent{Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}}, nil},
		"zero is unlimited":              {spec.Agent{ModelID: "m", MaxRounds: new(0), MaxContinuationRetries: new(0)}, nil},
		"negative limits": {spec.Agent{ModelID: "m", MaxRounds: new(-1), MaxContinuationRetries: new(-2)}, []string{
			"invalid-value max_rounds: max_rounds is -1; it must be 0 or more",
			"invalid-value max_continuation_retries: max_continuation_retries is -2; it must be 0 or more",
		}},
		"an unknown execution": {spec.Agent{ModelID: "m", ToolExecution: "paralel"}, []string{
			`invalid-value tool_execution: tool_execution is "paralel"; allowed are parallel and sequential`,
		}},
		"unknown ends": {spec.Agent{ModelID: "m", OnMaxRounds: "finalise", OnTruncation: "retry"}, []string{
			`invalid-value on_max_rounds: on_max_rounds is "finalise"; allowed are stop, fail and finalize`,
			`invalid-value on_truncation: on_truncation is "retry"; allowed are accept and fail`,
		}},
		"parts": {
			spec.Agent{
				ModelID: "m", StopConditions: []spec.StopCondition{{Type: spec.StopOnTool}, {}}, ReasoningEffort: &spec.Effort{},
				ContextPolicy: &spec.ContextPolicy{MaxContextTokens: new(0)}, MaxHandoffs: new(-1), Budgets: &spec.Budgets{MaxTokens: new(0)},
				LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(1)}, ToolBudgets: map[string]spec.ToolBudget{"a.b": {MaxCalls: -1}},
				OutputSchema: &spec.OutputSchema{}, Sections: spec.Sections{"b": []byte(`{`), "a.b": nil, "c": []byte(`null`)},
			},
			[]string{
				"missing-field stop_conditions[1].type: type is required",
				"invalid-value reasoning_effort.budget: budget is 0; it must be a positive number of tokens",
				"invalid-value context_policy.max_context_tokens: max_context_tokens is 0; it must be 1 or more",
				"invalid-value max_handoffs: max_handoffs is -1; it must be 0 or more",
				"invalid-value budgets.max_tokens: max_tokens is 0; it must be 1 or more",
				"invalid-value loop_detection.consecutive_threshold: consecutive_threshold is 1; it must lie between 2 and 100",
				`invalid-value tool_budgets["a.b"].max_calls: max_calls is -1; it must lie between 0 and 1000`,
				"missing-field output_schema.schema: schema is required",
				`invalid-value sections["a.b"]: section "a.b" is not valid JSON`,
				`invalid-value sections.b: section "b" is not valid JSON`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.agent.Validate(), tt.want...)
		})
	}
}

// whole returns an agent with every field set.
func whole() *spec.Agent {
	return &spec.Agent{
		ID: "a", Description: "Answers.", ModelID: "m", SystemPrompt: "You are helpful.",
		MaxRounds: new(3), OnMaxRounds: spec.MaxRoundsFinalizes, MaxContinuationRetries: new(1), OnTruncation: spec.TruncationFails,
		StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: new(spec.Duration(time.Minute))}},
		Variables:      []byte(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		ModelOptions: spec.ModelOptions{
			Temperature: new(0.5), TopP: new(0.5), Seed: new(1), Stop: []string{"END"}, ServiceTier: "flex", Verbosity: "low",
			Request: &spec.RequestEdits{Set: map[string]json.RawMessage{"user": []byte(`"u"`)}, Omit: []string{"store"}},
		},
		ReasoningEffort: &spec.Effort{Budget: 5}, ToolExecution: spec.Sequential,
		PluginIDs: []string{"permission"}, ActiveHookFilter: []string{"permission"},
		AllowedTools: spec.Names{"x"}, AllowedToolPatterns: spec.Names{"y*"}, ExcludedTools: spec.Names{"z"}, ExcludedToolPatterns: spec.Names{"w"},
		Budgets: &spec.Budgets{
			MaxTokens: new(1), MaxCost: new(0.5), Currency: "EUR", MaxDuration: new(spec.Duration(time.Minute)), MaxModelCalls: new(2), MaxToolCalls: new(3),
		},
		LoopDetection: &spec.LoopDetection{Enabled: new(true), ConsecutiveThreshold: new(4), HardCutoffThreshold: new(5)},
		ToolBudgets:   map[string]spec.ToolBudget{"x": {MaxCalls: 2}},
		OutputSchema:  &spec.OutputSchema{OnMismatch: spec.MismatchAccepted, Name: "mood", Schema: []byte(`{"type":"object"}`)},
		SessionStart: []spec.SessionHook{{
			ID: "h", Type: "command", Command: []string{"true"}, Cwd: "/", Timeout: new(spec.Duration(time.Second)), Env: map[string]string{"K": "***"},
			Output: spec.HookOutput{AdditionalContext: true, Metadata: true},
		}},
		Delegates: []string{"b"}, Handoffs: []string{"c"}, MaxHandoffs: new(1),
		ContextPolicy: &spec.ContextPolicy{
			MaxContextTokens: new(9), MaxOutputTokens: new(8), MinRecentMessages: new(1), EnablePromptCache: new(false),
			AutocompactThreshold: new(7), CompactionMode: "keep_recent_raw_suffix", CompactionRawSuffixMessages: new(2),
			SummaryModelID: "s", SummaryMaxTokens: new(6), MinSavingsRatio: new(0.5),
			ToolResultPreview: &spec.ToolResultPreview{MinTokens: new(1), MaxChars: new(2), MaxLines: new(3)},
		},
		Sections: spec.Sections{"retry": []byte(`{"max_retries":1}`)},
		A2A: &spec.AgentA2A{
			Reply: spec.ReplyMessage, DocumentationURL: "https://x.example/doc",
			Skills: []spec.AgentSkill{{ID: "s", Name: "S", Description: "Does s.", Tags: []string{"t"}, Examples: []string{"Do s."}}},
		},
		Endpoint: &spec.Endpoint{
			Backend: "a2a", BaseURL: "https://x.example", Auth: &spec.Auth{Type: "bearer", Token: "secret"}, Target: "t",
			Timeout: new(spec.Duration(time.Second)), Options: map[string]json.RawMessage{"poll": []byte(`1`)},
		},
		Registry: "cloud",
	}
}

// The tests on a whole agent look at every field that there is.
func TestAWholeAgentHasEverything(t *testing.T) {
	t.Parallel()
	if path := missing(reflect.ValueOf(whole()).Elem(), "agent"); path != "" {
		t.Errorf("whole does not set %s", path)
	}
}

// missing returns the first field that is not set. Of a stop condition, an effort
// and a credential only some can be.
func missing(v reflect.Value, path string) string {
	switch v.Type() {
	case reflect.TypeFor[spec.StopCondition](), reflect.TypeFor[spec.Effort](), reflect.TypeFor[spec.Auth]():
		return ""
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return path
		}
		return missing(v.Elem(), path)
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return path
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "_" {
				continue
			}
			if found := missing(v.Field(i), path+"."+v.Type().Field(i).Name); found != "" {
				return found
			}
		}
	case reflect.String:
		if v.Len() == 0 {
			return path
		}
	default:
	}
	return ""
}

func TestAgentsSurviveJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(whole())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "secret") {
		t.Errorf("the JSON shows a token: %s", data)
	}
	var again spec.Agent
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	want := whole()
	want.Endpoint.Auth.Token = "***"
	if diff := cmp.Diff(want, &again); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	expect(t, again.Validate(), "invalid-value session_start[0].output.additional_context: an agent with an endpoint owns its prompt, so nothing can be put before its turns",
		"invalid-endpoint endpoint.auth.token: token is the placeholder for a hidden value")
}

// A copy shares no memory that anybody would write to.
func TestCopiesShareNothing(t *testing.T) {
	t.Parallel()
	model := &spec.Model{
		ID: "m", ContextWindow: new(1), MaxOutputTokens: new(1),
		Modalities: &spec.Modalities{Input: []spec.Modality{"text"}, Output: []spec.Modality{"text"}},
		Pricing:    &spec.Pricing{CachedInputPerMillion: new(1.5)},
	}
	pool := &spec.Pool{
		ID: "p", Members: []spec.PoolMember{{ModelID: "m", Weight: new(2.0)}}, Routing: &spec.Routing{Home: "round_robin"},
		Switch: &spec.Switch{
			OnCircuitOpen: new(true), OnQuota: new(true), QuotaRetryAfter: new(spec.Duration(1)),
			OnPermanent: new(true), MaxSwitchesPerSession: new(1),
		},
	}
	for _, pair := range [][2]any{{whole(), whole().Clone()}, {model, model.Clone()}, {pool, pool.Clone()}} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("a copy differs (-original +copy):\n%s", diff)
		}
	}
	a := whole()
	for _, shared := range []string{
		sharing(reflect.ValueOf(a).Elem(), reflect.ValueOf(a.Clone()).Elem(), "agent"),
		sharing(reflect.ValueOf(model).Elem(), reflect.ValueOf(model.Clone()).Elem(), "model"),
		sharing(reflect.ValueOf(pool).Elem(), reflect.ValueOf(pool.Clone()).Elem(), "pool"),
	} {
		if shared != "" {
			t.Errorf("original and copy share %s", shared)
		}
	}
	if c := new(spec.Agent).Clone(); !reflect.DeepEqual(c, new(spec.Agent)) {
		t.Errorf("the copy of nothing is %+v", c)
	}
}

// sharing returns the first place at which two values have the same memory. The
// bytes of raw JSON may be shared.
func sharing(a, b reflect.Value, path string) string {
	if a.Type() == reflect.TypeFor[json.RawMessage]() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		empty := a.IsNil() || a.Kind() == reflect.Slice && a.Len() == 0
		if !empty && a.Pointer() == b.Pointer() {
			return path
		}
	default:
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			return sharing(a.Elem(), b.Elem(), path)
		}
	case reflect.Slice:
		for i := range a.Len() {
			if shared := sharing(a.Index(i), b.Index(i), path+"[]"); shared != "" {
				return shared
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if shared := sharing(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); shared != "" {
				return shared
			}
		}
	default:
	}
	return ""
}

func TestAnAgentIsDescribedByItsDescriptionOrItsID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agent spec.Agent
		want  string
	}{
		{spec.Agent{ID: "a", Description: "Answers.", SystemPrompt: "You are"}, "Answers."},
		{spec.Agent{ID: "a", SystemPrompt: "You are helpful.\nAnd brief."}, "a"},
	} {
		if got := tt.agent.DisplayDescription(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestTheLimitsOfAnAgentHaveDefaults(t *testing.T) {
	t.Parallel()
	var a spec.Agent
	if a.Rounds() != 16 || a.ContinuationRetries() != 2 || a.HandoffLimit() != 8 || !a.Local() {
		t.Errorf("rounds %d, continuation retries %d, handoffs %d, local %v", a.Rounds(), a.ContinuationRetries(), a.HandoffLimit(), a.Local())
	}
	a = spec.Agent{MaxRounds: new(0), MaxContinuationRetries: new(0), MaxHandoffs: new(0), Endpoint: &spec.Endpoint{}}
	if a.Rounds() != 0 || a.ContinuationRetries() != 0 || a.HandoffLimit() != 0 || a.Local() {
		t.Errorf("rounds %d, continuation retries %d, handoffs %d, local %v", a.Rounds(), a.ContinuationRetries(), a.HandoffLimit(), a.Local())
	}
}
