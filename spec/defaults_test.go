package spec_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// inherited has, for each field that defaults can give, a default and an own
// value. The key is the field's name in a configuration.
func inherited() map[string][2]func(*spec.Agent) {
	return map[string][2]func(*spec.Agent){
		"description":              {func(a *spec.Agent) { a.Description = "d" }, func(a *spec.Agent) { a.Description = "own" }},
		"model_id":                 {func(a *spec.Agent) { a.ModelID = "d" }, func(a *spec.Agent) { a.ModelID = "own" }},
		"system_prompt":            {func(a *spec.Agent) { a.SystemPrompt = "d" }, func(a *spec.Agent) { a.SystemPrompt = "own" }},
		"max_rounds":               {func(a *spec.Agent) { a.MaxRounds = new(9) }, func(a *spec.Agent) { a.MaxRounds = new(0) }},
		"max_continuation_retries": {func(a *spec.Agent) { a.MaxContinuationRetries = new(9) }, func(a *spec.Agent) { a.MaxContinuationRetries = new(0) }},
		"stop_conditions":          {func(a *spec.Agent) { a.StopConditions = []spec.StopCondition{{Type: spec.StopOnTool}} }, func(a *spec.Agent) { a.StopConditions = []spec.StopCondition{} }},
		"on_max_rounds":            {func(a *spec.Agent) { a.OnMaxRounds = spec.MaxRoundsFinalizes }, func(a *spec.Agent) { a.OnMaxRounds = spec.MaxRoundsStops }},
		"on_truncation":            {func(a *spec.Agent) { a.OnTruncation = spec.TruncationFails }, func(a *spec.Agent) { a.OnTruncation = spec.TruncationAccepted }},
		"reasoning_effort":         {func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Level: "low"} }, func(a *spec.Agent) { a.ReasoningEffort = &spec.Effort{Level: "none"} }},
		"temperature":              {func(a *spec.Agent) { a.Temperature = new(0.5) }, func(a *spec.Agent) { a.Temperature = new(0.0) }},
		"top_p":                    {func(a *spec.Agent) { a.TopP = new(0.5) }, func(a *spec.Agent) { a.TopP = new(0.0) }},
		"seed":                     {func(a *spec.Agent) { a.Seed = new(9) }, func(a *spec.Agent) { a.Seed = new(0) }},
		"stop":                     {func(a *spec.Agent) { a.Stop = []string{"d"} }, func(a *spec.Agent) { a.Stop = []string{} }},
		"service_tier":             {func(a *spec.Agent) { a.ServiceTier = "flex" }, func(a *spec.Agent) { a.ServiceTier = "auto" }},
		"verbosity":                {func(a *spec.Agent) { a.Verbosity = "low" }, func(a *spec.Agent) { a.Verbosity = "high" }},
		"request":                  {func(a *spec.Agent) { a.Request = &spec.RequestEdits{Omit: []string{"d"}} }, func(a *spec.Agent) { a.Request = &spec.RequestEdits{} }},
		"tool_execution":           {func(a *spec.Agent) { a.ToolExecution = spec.Sequential }, func(a *spec.Agent) { a.ToolExecution = spec.Parallel }},
		"plugin_ids":               {func(a *spec.Agent) { a.PluginIDs = []string{"d"} }, func(a *spec.Agent) { a.PluginIDs = []string{} }},
		"active_hook_filter":       {func(a *spec.Agent) { a.ActiveHookFilter = []string{"d"} }, func(a *spec.Agent) { a.ActiveHookFilter = []string{} }},
		"allowed_tools":            {func(a *spec.Agent) { a.AllowedTools = spec.Names{"d"} }, func(a *spec.Agent) { a.AllowedTools = spec.Names{} }},
		"allowed_tool_patterns":    {func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"d*"} }, func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{} }},
		"excluded_tools":           {func(a *spec.Agent) { a.ExcludedTools = spec.Names{"d"} }, func(a *spec.Agent) { a.ExcludedTools = spec.Names{} }},
		"excluded_tool_patterns":   {func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"d*"} }, func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{} }},
		"session_start":            {func(a *spec.Agent) { a.SessionStart = []spec.SessionHook{{ID: "d"}} }, func(a *spec.Agent) { a.SessionStart = []spec.SessionHook{} }},
		"delegates":                {func(a *spec.Agent) { a.Delegates = []string{"d"} }, func(a *spec.Agent) { a.Delegates = []string{} }},
		"budgets":                  {func(a *spec.Agent) { a.Budgets = &spec.Budgets{MaxTokens: new(9)} }, func(a *spec.Agent) { a.Budgets = &spec.Budgets{} }},
		"loop_detection":           {func(a *spec.Agent) { a.LoopDetection = &spec.LoopDetection{} }, func(a *spec.Agent) { a.LoopDetection = &spec.LoopDetection{Enabled: new(false)} }},
		"tool_budgets":             {func(a *spec.Agent) { a.ToolBudgets = map[string]spec.ToolBudget{"x": {MaxCalls: 1}} }, func(a *spec.Agent) { a.ToolBudgets = map[string]spec.ToolBudget{} }},
		"variables":                {func(a *spec.Agent) { a.Variables = []byte(`{}`) }, func(a *spec.Agent) { a.Variables = []byte(`{"type":"object"}`) }},
		"output_schema":            {func(a *spec.Agent) { a.OutputSchema = &spec.OutputSchema{Name: "d"} }, func(a *spec.Agent) { a.OutputSchema = &spec.OutputSchema{Name: "own"} }},
		"handoffs":                 {func(a *spec.Agent) { a.Handoffs = []string{"d"} }, func(a *spec.Agent) { a.Handoffs = []string{} }},
		"a2a":                      {func(a *spec.Agent) { a.A2A = &spec.AgentA2A{Reply: spec.ReplyMessage} }, func(a *spec.Agent) { a.A2A = &spec.AgentA2A{} }},
		"max_handoffs":             {func(a *spec.Agent) { a.MaxHandoffs = new(9) }, func(a *spec.Agent) { a.MaxHandoffs = new(0) }},
		"context_policy":           {func(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{MaxContextTokens: new(9)} }, func(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{} }},
		"sections":                 {func(a *spec.Agent) { a.Sections = spec.Sections{"k": []byte(`"d"`)} }, func(a *spec.Agent) { a.Sections = spec.Sections{"k": []byte(`"own"`)} }},
	}
}

// A field that the agent does not set comes from the defaults, and its place is
// there; one that it sets, even to nothing, is its own.
func TestDefaultsForEachField(t *testing.T) {
	t.Parallel()
	for name, set := range inherited() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d spec.Defaults
			set[0](&d.Agent)
			bare := &spec.Agent{ID: "a"}
			got, origin := d.Apply(bare)
			want := &spec.Agent{ID: "a"}
			set[0](want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inherited (-want +got):\n%s", diff)
			}
			at := name
			if name == "sections" {
				at = "sections.k"
			}
			if diff := cmp.Diff(spec.Origin{at: true}, origin); diff != "" {
				t.Errorf("origin (-want +got):\n%s", diff)
			}
			if path := origin.Path("agents.a", at+"[0]"); path != "defaults."+at+"[0]" {
				t.Errorf("its place is %s", path)
			}
			if !reflect.DeepEqual(bare, &spec.Agent{ID: "a"}) {
				t.Errorf("the agent itself was modified: %+v", bare)
			}

			own := &spec.Agent{ID: "a"}
			set[1](own)
			got, origin = d.Apply(own)
			if diff := cmp.Diff(own, got); diff != "" {
				t.Errorf("own (-want +got):\n%s", diff)
			}
			if len(origin) != 0 || origin.Path("agents.a", at) != "agents.a."+at {
				t.Errorf("origin %v, its place is %s", origin, origin.Path("agents.a", at))
			}
		})
	}
}

// Every field of an agent is in the table above or is the agent's alone.
func TestTheTableOfDefaultsIsComplete(t *testing.T) {
	t.Parallel()
	known := slices.Collect(maps.Keys(inherited()))
	known = append(known, "id", "endpoint", "registry")
	agent := reflect.TypeFor[spec.Agent]()
	for _, field := range reflect.VisibleFields(agent) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !slices.Contains(known, name) {
			t.Errorf("%s is neither listed as inherited nor as not inherited", name)
		}
	}
}

// The two allow fields count as one, so that a default never widens an agent that
// sets one of them.
func TestDefaultsNeverWidenACatalog(t *testing.T) {
	t.Parallel()
	d := spec.Defaults{Agent: spec.Agent{AllowedTools: spec.Names{"d"}, AllowedToolPatterns: spec.Names{"*"}, ExcludedTools: spec.Names{"rm"}}}
	for name, tt := range map[string]struct{ own, want spec.Agent }{
		"own literals":   {spec.Agent{AllowedTools: spec.Names{"x"}}, spec.Agent{AllowedTools: spec.Names{"x"}, ExcludedTools: spec.Names{"rm"}}},
		"own patterns":   {spec.Agent{AllowedToolPatterns: spec.Names{"x*"}}, spec.Agent{AllowedToolPatterns: spec.Names{"x*"}, ExcludedTools: spec.Names{"rm"}}},
		"nothing at all": {spec.Agent{AllowedTools: spec.Names{}}, spec.Agent{AllowedTools: spec.Names{}, ExcludedTools: spec.Names{"rm"}}},
		"own excludes": {
			spec.Agent{ExcludedTools: spec.Names{}},
			spec.Agent{AllowedTools: spec.Names{"d"}, AllowedToolPatterns: spec.Names{"*"}, ExcludedTools: spec.Names{}},
		},
	} {
		got, _ := d.Apply(&tt.own)
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSectionsAreInheritedPerKey(t *testing.T) {
	t.Parallel()
	d := spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{"retry": []byte(`{"a":1}`), "a.b": []byte(`1`)}}}
	a := &spec.Agent{ID: "a", Sections: spec.Sections{"retry": []byte(`{"b":2}`), "own": []byte(`3`)}}
	got, origin := d.Apply(a)
	want := spec.Sections{"retry": []byte(`{"b":2}`), "a.b": []byte(`1`), "own": []byte(`3`)}
	if diff := cmp.Diff(want, got.Sections); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	if len(a.Sections) != 2 {
		t.Errorf("the agent itself has the sections %v", a.Sections)
	}
	for rel, path := range map[string]string{
		`sections.retry.b`: "agents.a.sections.retry.b", `sections.own`: "agents.a.sections.own",
		`sections["a.b"].c[0]`: `defaults.sections["a.b"].c[0]`, "": "agents.a", "sections": "agents.a.sections", "model_id": "agents.a.model_id",
	} {
		if got := origin.Path("agents.a", rel); got != path {
			t.Errorf("%q stands at %s, want %s", rel, got, path)
		}
	}
}

func TestDefaultsLeaveRemoteAgentsAlone(t *testing.T) {
	t.Parallel()
	d := &spec.Defaults{Agent: spec.Agent{ModelID: "m", SystemPrompt: "x"}}
	a := &spec.Agent{ID: "a", Endpoint: &spec.Endpoint{}}
	if got, origin := d.Apply(a); got != a || origin != nil {
		t.Errorf("Apply = %+v, %v", got, origin)
	}
	var none *spec.Defaults
	b := &spec.Agent{ID: "b"}
	if got, origin := none.Apply(b); got != b || origin.Path("agents.b", "model_id") != "agents.b.model_id" {
		t.Errorf("Apply = %+v, %v", got, origin)
	}
}

// TestAgentsShareNothingThatTheyInherit merges the same defaults under two
// agents. What one of them is changed to later concerns no other.
func TestAgentsShareNothingThatTheyInherit(t *testing.T) {
	t.Parallel()
	d := spec.Defaults{Agent: *whole()}
	d.Endpoint = nil
	first, _ := d.Apply(&spec.Agent{ID: "a"})
	second, _ := d.Apply(&spec.Agent{ID: "b"})
	for what, other := range map[string]*spec.Agent{"another agent": second, "the defaults": &d.Agent} {
		if shared := sharing(reflect.ValueOf(first).Elem(), reflect.ValueOf(other).Elem(), "agent"); shared != "" {
			t.Errorf("an agent shares %s with %s", shared, what)
		}
	}
}
