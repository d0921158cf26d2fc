package agentruns

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// noop is a tool that does nothing.
type noop struct{}

func (noop) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (noop) Call(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// bundle is a server of tools.
type bundle struct {
	noop
	ids []string
}

func (b bundle) Members() ([]tools.Member, diag.List) {
	list := make([]tools.Member, len(b.ids))
	for i, id := range b.ids {
		list[i] = tools.Member{ID: id, Tool: noop{}}
	}
	return list, nil
}

func (bundle) Prefix() string { return "" }

var anybody service.Caller

// guardsNothing is what composers have whose agents guard no tools.
func guardsNothing() (map[string]string, error) { return nil, nil } //nolint:nilnil // there are none

// composing composes over what catalog declares, and more.
func composing(t testing.TB, edits ...func(*registry.Draft)) *composer {
	t.Helper()
	return &composer{settings: Settings{DefaultModel: "fast", LocalToolTimeout: time.Minute, ToolBudgets: map[string]int{"recall": 4, "traverse": 3}}, guarded: guardsNothing, set: declared(t, func(d *registry.Draft) {
		catalog(d)
		for _, id := range []string{"recall", "weather", "fs_read"} {
			d.Tools.Put(id, noop{})
		}
		if err := d.AddTool("jira", bundle{ids: []string{"mcp__jira__search"}}); err != nil {
			t.Error(err)
		}
		d.Agents.Put("clerk", &spec.Agent{ID: "clerk", ModelID: "slow", SystemPrompt: "stored"})
		d.Agents.Put("strict", &spec.Agent{
			ID: "strict", ModelID: "slow", AllowedTools: spec.Names{"weather"}, ExcludedTools: spec.Names{"look", "recall"},
			LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(9), HardCutoffThreshold: new(10)}, ToolBudgets: map[string]spec.ToolBudget{"weather": {MaxCalls: 9}},
		})
		d.Agents.Put("gentle", &spec.Agent{ID: "gentle", ModelID: "slow", OnMaxRounds: spec.MaxRoundsFinalizes})
		d.Agents.Put("far", &spec.Agent{ID: "far", Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}})
		for _, edit := range edits {
			edit(d)
		}
	})}
}

func (c *composer) must(t *testing.T, text string) *service.CreateTurn {
	t.Helper()
	out, err := c.composeTurn(anybody, read(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestASpecBringsItsAgentAlong(t *testing.T) {
	t.Parallel()
	out := composing(t).must(t, `{"systemPrompt":"Be brief.","prompt":"hi","name":"helper","tools":[
		{"kind":"mantyx","id":"weather"},{"kind":"mantyx_plugin","name":"@jira/search"},{"kind":"local","name":"look"},
		{"kind":"mcp","name":"fs","url":"https://x.example"}]}`)
	turn := out
	if turn.AgentID != "" || !turn.Background || turn.InteractionTimeout != time.Minute || turn.OnTimeout != service.TimeoutFails || len(out.Before) != 0 {
		t.Errorf("the turn is %+v", turn)
	}
	agent := turn.Ephemeral.Agent
	want := spec.Agent{
		ID: spec.EphemeralAgent, Description: "helper", ModelID: "fast", SystemPrompt: "Be brief.", ReasoningEffort: &spec.Effort{Level: "off"},
		MaxContinuationRetries: new(int),
		AllowedTools:           spec.Names{"weather", "mcp__jira__search", "look"},
		AllowedToolPatterns:    spec.Names{"fs_*"}, ExcludedTools: spec.Names{"fs_read"}, Sections: spec.Sections{"retry": json.RawMessage("{}")},
	}
	if d := cmp.Diff(want, agent); d != "" {
		t.Errorf("the agent differs:\n%s", d)
	}
	if len(turn.Ephemeral.Tools) != 2 || turn.Ephemeral.Tools[0].Kind != "local" || string(turn.Ephemeral.Tools[0].Config) != `{"kind":"local","name":"look"}` {
		t.Errorf("it brings %+v", turn.Ephemeral.Tools)
	}
	if o := turn.Overrides; *o.MaxRounds != 33 || *o.LoopDetection != (spec.LoopDetection{}) || o.Output != nil || !maps.Equal(o.ToolBudgets, map[string]spec.ToolBudget{"recall": {MaxCalls: 4}}) {
		t.Errorf("its limits are %+v", o)
	}
	if len(turn.Input) != 1 || turn.Input[0].Role != model.RoleUser || turn.Input[0].Text() != "hi" {
		t.Errorf("its input is %+v", turn.Input)
	}
}

func TestASpecWithoutToolsHasNone(t *testing.T) {
	t.Parallel()
	agent := composing(t).must(t, `{"systemPrompt":"s","prompt":"p","tools":[]}`).Ephemeral.Agent
	kept, err := json.Marshal(agent)
	if err != nil {
		t.Fatal(err)
	}
	var back spec.Agent
	if err := json.Unmarshal(kept, &back); err != nil || back.AllowedTools == nil || len(back.AllowedTools) != 0 {
		t.Errorf("it is kept as %s", kept)
	}
}

func TestTheLimitsOfASpec(t *testing.T) {
	t.Parallel()
	o := composing(t).must(t, `{"systemPrompt":"s","prompt":"p","reasoningLevel":37,"budgets":{"maxToolTurns":1},"loopDetection":{"hardCutoffThreshold":4},
		"toolBudgets":{"recall":{"maxCalls":0},"look":{"maxCalls":7}},"outputSchema":{"schema":{"type":"object"}},"tools":[{"kind":"local","name":"traverse"}]}`)
	over := o.Overrides
	if *over.MaxRounds != 2 || *over.LoopDetection.ConsecutiveThreshold != 3 || *over.LoopDetection.HardCutoffThreshold != 4 || string(over.Output.Schema) != `{"type":"object"}` {
		t.Errorf("they are %+v", over)
	}
	if want := map[string]spec.ToolBudget{"recall": {}, "look": {MaxCalls: 7}, "traverse": {MaxCalls: 3}}; !maps.Equal(over.ToolBudgets, want) {
		t.Errorf("the tool budgets are %v", over.ToolBudgets)
	}
	if *o.Params.ReasoningEffort != (spec.Effort{Percent: 37}) {
		t.Errorf("the effort is %v", o.Params.ReasoningEffort)
	}
	over = composing(t).must(t, `{"systemPrompt":"s","prompt":"p","loopDetection":false,"toolBudgets":{}}`).Overrides
	if *over.LoopDetection.Enabled || over.ToolBudgets == nil || len(over.ToolBudgets) != 0 {
		t.Errorf("they are %+v", over)
	}
}

func TestABudgetHoldsForAToolByTheNameThatItsServerGivesIt(t *testing.T) {
	t.Parallel()
	budgets := composing(t).must(t, `{"systemPrompt":"s","prompt":"p","toolBudgets":{"dir.list":{"maxCalls":1},"other.one":{"maxCalls":2}},
		"tools":[{"kind":"mcp_local","name":"fs","tools":[{"name":"dir.list"}]}]}`).Overrides.ToolBudgets
	if budgets["dir_list"].MaxCalls != 1 || budgets["other.one"].MaxCalls != 2 {
		t.Errorf("the tool budgets are %v", budgets)
	}
}

func TestAllToolBudgetsTogetherAreNotTooMany(t *testing.T) {
	t.Parallel()
	list := repeated(maxToolBudgets, func(i int) string { return fmt.Sprintf(`"t%d":{"maxCalls":1}`, i) })
	out := composing(t).must(t, with("toolBudgets", "{"+list+"}"))
	agent := spec.Agent{ModelID: "m", ToolBudgets: out.Overrides.ToolBudgets}
	if found := agent.Validate(); found.HasErrors() {
		t.Error(found)
	}
}

func TestADeclaredAgentRunsAsItIs(t *testing.T) {
	t.Parallel()
	c := composing(t)
	for id, want := range map[string]service.CreateTurn{"clerk": {AgentID: "clerk"}, "far": {AgentID: "far"}} {
		turn := c.must(t, `{"agentId":"`+id+`","prompt":"p","tools":[]}`)
		if turn.AgentID != want.AgentID || turn.Ephemeral != nil || turn.Params.ReasoningEffort != nil || turn.Overrides.MaxRounds != nil {
			t.Errorf("the turn is %+v", turn)
		}
	}
	own := resolve.Overrides{OnMaxRounds: spec.MaxRoundsFails, OnTruncation: spec.TruncationFails}
	if o := c.must(t, `{"agentId":"strict","prompt":"p"}`).Overrides; !cmp.Equal(o, own) {
		t.Errorf("its limits are replaced by %+v", o)
	}
	if far := c.must(t, `{"agentId":"far","prompt":"p"}`); !far.Overrides.Empty() {
		t.Errorf("one that runs elsewhere is asked for %+v", far.Overrides)
	}
	o := c.must(t, `{"agentId":"strict","prompt":"p","toolBudgets":{"look":{"maxCalls":1}},"budgets":{"maxToolTurns":3,"maxToolTurnsExceeded":"finalize"}}`).Overrides
	if want := map[string]spec.ToolBudget{"weather": {MaxCalls: 9}, "look": {MaxCalls: 1}}; !maps.Equal(o.ToolBudgets, want) || o.OnMaxRounds != spec.MaxRoundsFinalizes {
		t.Errorf("over its limits come %+v", o)
	}
	for exceeded, want := range map[string]spec.OnMaxRounds{"": spec.MaxRoundsFinalizes, `,"budgets":{"maxToolTurnsExceeded":"error"}`: spec.MaxRoundsFails} {
		if o := c.must(t, `{"agentId":"gentle","prompt":"p"`+exceeded+`}`).Overrides; o.OnMaxRounds != want {
			t.Errorf("with %s its last round is to %s", exceeded, o.OnMaxRounds)
		}
	}
	if o := c.must(t, `{"agentId":"clerk","prompt":"p"}`).Overrides; o.LoopDetection == nil || o.ToolBudgets == nil {
		t.Errorf("it has no limits: %+v", o)
	}
}

func TestWhatARequestAddsToADeclaredAgent(t *testing.T) {
	t.Parallel()
	c := composing(t)
	agent := c.must(t, `{"agentId":"strict","prompt":"p","systemPrompt":"inline","modelId":"fast","tools":[{"kind":"local","name":"look"},{"kind":"mantyx","id":"recall"}]}`).Ephemeral.Agent
	if agent.ID != "strict" || agent.ModelID != "fast" || agent.SystemPrompt != "inline" || agent.ReasoningEffort != nil {
		t.Errorf("it is %+v", agent)
	}
	if !slices.Equal(agent.AllowedTools, spec.Names{"weather", "look", "recall"}) || len(agent.ExcludedTools) != 0 {
		t.Errorf("it may use %v but %v", agent.AllowedTools, agent.ExcludedTools)
	}
	agent = c.must(t, `{"agentId":"clerk","prompt":"p","systemPrompt":"inline","tools":[{"kind":"local","name":"look"}]}`).Ephemeral.Agent
	if agent.SystemPrompt != "stored" || agent.ModelID != "slow" || agent.AllowedTools != nil || agent.AllowedToolPatterns != nil {
		t.Errorf("it is %+v", agent)
	}
	kept, _ := c.set.Agent("strict")
	if len(kept.AllowedTools) != 1 || len(kept.ExcludedTools) != 2 {
		t.Errorf("what is declared has changed: %+v", kept)
	}
}

func TestWhatATurnBringsAlongIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	timeout := spec.Duration(time.Minute)
	c := composing(t, func(d *registry.Draft) {
		d.Agents.Put("rich", &spec.Agent{
			ID: "rich", ModelID: "slow", SystemPrompt: "a\nb", MaxRounds: new(0), ReasoningEffort: &spec.Effort{Budget: 9}, PluginIDs: []string{"p"},
			StopConditions: []spec.StopCondition{{Type: spec.StopMaxRounds, Timeout: &timeout}}, Budgets: &spec.Budgets{MaxDuration: &timeout},
			ContextPolicy: &spec.ContextPolicy{}, Sections: spec.Sections{"s": json.RawMessage(`{"a":1}`)}, Delegates: []string{"clerk"},
			AllowedToolPatterns: spec.Names{"*"}, ExcludedToolPatterns: spec.Names{}, OutputSchema: &spec.OutputSchema{Schema: json.RawMessage(`{}`)},
		})
	})
	e := c.must(t, `{"agentId":"rich","prompt":"p","tools":[{"kind":"local","name":"look","own":[1]}]}`).Ephemeral
	kept, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	back := new(service.Ephemeral)
	if err := json.Unmarshal(kept, back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, back); d != "" {
		t.Errorf("it comes back changed:\n%s", d)
	}
}

func TestTheDefaultsHoldForWhatARequestBrings(t *testing.T) {
	t.Parallel()
	c := composing(t, func(d *registry.Draft) {
		d.Defaults = &spec.Defaults{Agent: spec.Agent{ExcludedTools: spec.Names{"weather"}, PluginIDs: []string{"permission"}, AllowedTools: spec.Names{"weather"}}}
	})
	agent := c.must(t, `{"systemPrompt":"s","prompt":"p","tools":[{"kind":"mcp","name":"fs","url":"https://x.example"}]}`).Ephemeral.Agent
	if !slices.Equal(agent.ExcludedTools, spec.Names{"weather", "fs_read"}) || len(agent.AllowedTools) != 0 || !slices.Equal(agent.PluginIDs, []string{"permission"}) {
		t.Errorf("it is %+v", agent)
	}
	agent = c.must(t, `{"agentId":"clerk","prompt":"p","tools":[{"kind":"local","name":"look"}]}`).Ephemeral.Agent
	if !slices.Equal(agent.AllowedTools, spec.Names{"weather", "look"}) {
		t.Errorf("it may use %v", agent.AllowedTools)
	}
}

// limitedTo is a caller that may use some agents only.
func limitedTo(agents ...string) service.Caller {
	return service.Caller{Agents: service.NewAgentSet(agents)}
}

func TestWhatCannotBeComposed(t *testing.T) {
	t.Parallel()
	c := composing(t)
	limited := limitedTo("clerk")
	for text, want := range map[string]requestError{
		`{"agentId":"gone","prompt":"p"}`:   {Code: codeForbidden, Message: `agent "gone" is not available with this credential`},
		`{"agentId":"strict","prompt":"p"}`: {Code: codeForbidden, Message: `agent "strict" is not available with this credential`},
		with("modelId", `"gone"`):           {Code: codeInvalidModel, Message: `modelId "gone" is not known`},
		tool(`{"kind":"mantyx","id":"wether"}`): {
			Code: codeInvalidRequest, Message: `there is no tool "wether"`, Hint: `did you mean "weather"?`, Candidates: []string{"weather"},
		},
		tool(`{"kind":"mantyx_plugin","name":"@gone/tool"}`):   {Code: codeInvalidPlugin, Message: `the tool "@gone/tool" of a plugin is not installed`},
		tool(`{"kind":"mantyx_plugin","name":"@jira/create"}`): {Code: codeInvalidPlugin, Message: `the tool "@jira/create" of a plugin is not installed`},
	} {
		_, err := c.composeTurn(limited, read(t, text))
		e := refused(t, err)
		if e.Code != want.Code || e.Message != want.Message || want.Hint != "" && (e.Hint != want.Hint || !slices.Equal(e.Candidates, want.Candidates)) {
			t.Errorf("%s: %+v", text, e)
		}
	}
	for _, more := range []string{`"tools":[{"kind":"local","name":"a"}]`, `"modelId":"fast"`, `"systemPrompt":"x"`} {
		_, err := c.composeTurn(anybody, read(t, `{"agentId":"far","prompt":"p",`+more+`}`))
		if e := refused(t, err); e.Code != codeInvalidRequest || !strings.Contains(e.Message, "runs elsewhere") {
			t.Errorf("%s: %+v", more, e)
		}
	}
	_, err := c.composeTurn(anybody, read(t, `{"agentId":"far","prompt":"p","reasoningLevel":"high","loopDetection":{},"toolBudgets":{},`+
		`"budgets":{"maxToolTurns":3,"maxToolTurnsExceeded":"error"},"outputSchema":{"name":"o","schema":{"type":"object"}}}`))
	want := `agent "far" runs elsewhere, which alone decides about reasoningLevel, budgets.maxToolTurns, budgets.maxToolTurnsExceeded, ` +
		`loopDetection, toolBudgets, outputSchema`
	if e := refused(t, err); e.Code != codeInvalidRequest || e.Message != want {
		t.Errorf("limits are refused with %+v", e)
	}
}

func TestThePluginOfAToolMayBeLeftOut(t *testing.T) {
	t.Parallel()
	agent := composing(t).must(t, tool(`{"kind":"mantyx_plugin","name":"weather"}`)).Ephemeral.Agent
	if !slices.Equal(agent.AllowedTools, spec.Names{"weather"}) {
		t.Errorf("it may use %v", agent.AllowedTools)
	}
}

func TestToolsThatSpecsMayNotNameLookAsIfThereWereNone(t *testing.T) {
	t.Parallel()
	c := composing(t, func(d *registry.Draft) {
		d.Agents.Put("narrow", &spec.Agent{ID: "narrow", ModelID: "slow", AllowedToolPatterns: spec.Names{"re*"}})
		d.Agents.Put("bare", &spec.Agent{ID: "bare", ModelID: "slow", AllowedTools: spec.Names{}})
	})
	refs := []string{`{"kind":"mantyx","id":"recall"}`, `{"kind":"mantyx","id":"weather"}`, `{"kind":"mantyx_plugin","name":"weather"}`, `{"kind":"mantyx_plugin","name":"@jira/search"}`, `{"kind":"mantyx","id":"wether"}`}
	for name, tt := range map[string]struct {
		who service.Caller
		may int // of the first refs
	}{
		"anybody":                    {anybody, 4},
		"an agent that has all":      {limitedTo([]string{"clerk"}...), 4},
		"an agent that has some":     {limitedTo([]string{"narrow"}...), 1},
		"several that have some":     {limitedTo([]string{"narrow", "strict"}...), 3},
		"an agent that has none":     {limitedTo([]string{"bare"}...), 0},
		"one that runs elsewhere":    {limitedTo([]string{"far"}...), 0},
		"no agent":                   {limitedTo([]string{}...), 0},
		"one that is not there":      {limitedTo([]string{"gone"}...), 0},
		"agents by a pattern of ids": {limitedTo([]string{"nar*"}...), 1},
	} {
		for i, ref := range refs {
			for _, spec := range []string{tool(ref), `{"systemPrompt":"s","prompt":"p","tools":[` + ref + `]}`} {
				_, err := c.composeTurn(tt.who, read(t, spec))
				if i < tt.may {
					if err != nil {
						t.Errorf("%s: %s: %v", name, ref, err)
					}
					continue
				}
				if e := refused(t, err); tt.may == 0 && (e.Hint != "" || len(e.Candidates) != 0) {
					t.Errorf("%s: %s: %+v", name, ref, e)
				}
			}
		}
	}
}

func TestASessionIsComposedWithoutInput(t *testing.T) {
	t.Parallel()
	r, err := readRequest(body(t, `{"systemPrompt":"s"}`), forSession)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := composing(t).composeTurn(anybody, r); err != nil || len(out.Input) != 0 {
		t.Errorf("it is %+v, %v", out, err)
	}
}

func TestWhatWasSaidBeforeIsNoInput(t *testing.T) {
	t.Parallel()
	out := composing(t).must(t, `{"systemPrompt":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"},{"role":"user","content":"d"}]}`)
	texts := func(list []model.Message) (all []string) {
		for i := range list {
			all = append(all, string(list[i].Role)+" "+list[i].Text())
		}
		return all
	}
	if h, in := texts(out.Before), texts(out.Input); !slices.Equal(h, []string{"user a", "assistant b"}) || !slices.Equal(in, []string{"system c", "user d"}) {
		t.Errorf("it parts into %v and %v", h, in)
	}
}

func BenchmarkCompose(b *testing.B) {
	text := []byte(`{"systemPrompt":"s","prompt":"p","tools":[{"kind":"local","name":"look","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]}`)
	set := declared(b, catalog)
	b.ReportAllocs()
	for b.Loop() {
		f, err := decodeBody(text)
		if err != nil {
			b.Fatal(err)
		}
		r, err := readRequest(f, forRun)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (&composer{set: set, settings: Settings{DefaultModel: "fast"}, guarded: guardsNothing}).composeTurn(anybody, r); err != nil {
			b.Fatal(err)
		}
	}
}
