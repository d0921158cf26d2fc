package resolve_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// model adds a model with a price in a currency; without one it has no price.
func priced(id, currency string, change ...func(*spec.Model)) draft {
	m := &spec.Model{ID: id, ProviderID: "p", UpstreamModel: "up"}
	if currency != "" {
		m.Pricing = &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 2, Currency: currency}
	}
	for _, c := range change {
		c(m)
	}
	return func(d *registry.Draft) { d.Models.Put(id, m) }
}

// runsOn returns the agent's model, and limits what a turn of it may cost.
func runsOn(model string, limit *spec.Budgets) func(*spec.Agent) {
	return func(a *spec.Agent) { a.ModelID, a.Budgets = model, limit }
}

func cost(currency string) *spec.Budgets { return &spec.Budgets{MaxCost: new(0.5), Currency: currency} }

const costWarning = "no-effect: agents.a.budgets.max_cost: max_cost cannot be measured: "
const costHint = " (give the models pricing in one currency, or limit max_tokens)"

// A limit of cost holds for what has a price in its currency.
func TestACostThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	pool := func(d *registry.Draft) {
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "usd"}, {ModelID: "m"}}})
	}
	delegates := func(id string) func(*spec.Agent) {
		return func(a *spec.Agent) { a.Delegates = []string{id} }
	}
	runWarnings(t, map[string]warningCase{
		"a price in the currency": {[]draft{priced("usd", "USD"), agent("a", runsOn("usd", cost("USD")))}, nil},
		"a price in any currency": {[]draft{priced("eur", "EUR"), agent("a", runsOn("eur", cost("")))}, nil},
		"no limit":                {[]draft{agent("a")}, nil},
		"no price":                {[]draft{agent("a", runsOn("m", cost("")))}, []string{costWarning + `model "m" has no pricing` + costHint}},
		"another currency": {
			[]draft{priced("eur", "EUR"), agent("a", runsOn("eur", cost("USD")))},
			[]string{costWarning + `model "eur" has prices in EUR, not in USD` + costHint},
		},
		"one member of a pool": {
			[]draft{priced("usd", "USD"), pool, agent("a", runsOn("pool", cost("")))},
			[]string{costWarning + `model "m" has no pricing` + costHint},
		},
		"a delegate of a delegate": {
			[]draft{
				priced("usd", "USD"), agent("a", runsOn("usd", cost("")), delegates("b")),
				agent("b", runsOn("usd", nil), delegates("c")), agent("c"),
			},
			[]string{costWarning + `model "m" of agent "c" has no pricing` + costHint},
		},
		"the model that writes summaries": {
			[]draft{priced("usd", "USD"), agent("a", runsOn("usd", cost("")), func(a *spec.Agent) {
				a.ContextPolicy = &spec.ContextPolicy{SummaryModelID: "m", AutocompactThreshold: new(1000)}
			})},
			[]string{costWarning + `model "m" has no pricing` + costHint},
		},
		"a currency of nothing": {
			[]draft{agent("a", runsOn("m", &spec.Budgets{Currency: "USD"}))},
			[]string{"no-effect: agents.a.budgets.currency: currency has no effect without max_cost"},
		},
	})
}

// A limit that a turn brings along is refused where it could not be measured. The
// agent's own, which publishing has warned of, refuses no turn.
func TestATurnWithACostThatCannotBeMeasuredIsRefused(t *testing.T) {
	t.Parallel()
	rev := revision(t, priced("usd", "USD"), agent("a", runsOn("m", cost(""))), agent("b", runsOn("usd", nil)),
		agent("c", runsOn("usd", nil), func(a *spec.Agent) { a.Delegates = []string{"a"} }))
	for _, tt := range []struct {
		agent   string
		limits  *spec.Budgets
		refused bool
	}{
		{"a", nil, false},
		{"a", cost(""), false},
		{"a", &spec.Budgets{MaxCost: new(0.25)}, true},
		{"b", cost("USD"), false},
		{"b", cost("EUR"), true},
		{"c", cost("USD"), true},
		{"c", &spec.Budgets{MaxTokens: new(1000)}, false},
	} {
		_, err := resolve.Resolve(t.Context(), rev, tt.agent, resolve.Options{Overrides: resolve.Overrides{Budgets: tt.limits}})
		if _, is := errors.AsType[*resolve.UnmeasuredCostError](err); is != tt.refused || !tt.refused && err != nil {
			t.Errorf("agent %s with %+v: %v, want refused %t", tt.agent, tt.limits, err, tt.refused)
		}
	}
}

// What an agent says and what cannot take effect is a warning; what it inherits is
// not.
func TestSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	window := func(m *spec.Model) { m.ContextWindow, m.MaxOutputTokens = new(8000), new(1000) }
	small := priced("small", "", window)
	policy := func(p *spec.ContextPolicy) func(*spec.Agent) {
		return func(a *spec.Agent) { a.ModelID, a.ContextPolicy = "small", p }
	}
	stops := func(c ...spec.StopCondition) func(*spec.Agent) {
		return func(a *spec.Agent) { a.StopConditions = c }
	}
	retry := func(section string) func(*spec.Agent) {
		return func(a *spec.Agent) { a.Sections = spec.Sections{"retry": []byte(section)} }
	}
	runWarnings(t, map[string]warningCase{
		"a delegate that the catalog filters out": {
			[]draft{tool("wc"), agent("b"), agent("a", func(a *spec.Agent) { a.Delegates, a.AllowedTools = []string{"b"}, spec.Names{"wc"} })},
			[]string{`no-effect: agents.a.delegates[0]: the catalog filters out "agent_run_b", the tool that calls agent "b" (add it to allowed_tools, and remove it from excluded_tools and excluded_tool_patterns)`},
		},
		"a handoff that the catalog filters out": {
			[]draft{tool("wc"), agent("b"), agent("a", func(a *spec.Agent) { a.Handoffs, a.ExcludedToolPatterns = []string{"b"}, spec.Names{"hand_off_*"} })},
			[]string{`no-effect: agents.a.handoffs[0]: the catalog filters out "hand_off_to_b", the tool that hands over to agent "b" (add it to allowed_tools, and remove it from excluded_tools and excluded_tool_patterns)`},
		},
		"a limit of handoffs without any": {
			[]draft{agent("a", func(a *spec.Agent) { a.MaxHandoffs = new(2) })},
			[]string{"no-effect: agents.a.max_handoffs: max_handoffs limits nothing: the agent has no handoffs"},
		},
		"compaction that fits": {[]draft{small, agent("a", policy(&spec.ContextPolicy{AutocompactThreshold: new(7000)}))}, nil},
		"compaction above the window": {
			[]draft{small, agent("a", policy(&spec.ContextPolicy{AutocompactThreshold: new(7001)}))},
			[]string{"no-effect: agents.a.context_policy.autocompact_threshold: autocompact_threshold is 7001, but a request has room for 7000 tokens, at which the conversation is summarized"},
		},
		"limits above those of the model": {
			[]draft{small, agent("a", policy(&spec.ContextPolicy{MaxContextTokens: new(9000), MaxOutputTokens: new(2000)}))},
			[]string{
				"no-effect: agents.a.context_policy.max_context_tokens: max_context_tokens is 9000, but the context window has 8000 tokens",
				"no-effect: agents.a.context_policy.max_output_tokens: max_output_tokens is 2000, but an answer of the model has at most 1000 tokens",
			},
		},
		"summaries that are never written": {
			[]draft{small, agent("a", policy(&spec.ContextPolicy{CompactionMode: "compact_to_safe_frontier", SummaryMaxTokens: new(100)}))},
			[]string{
				"no-effect: agents.a.context_policy.compaction_mode: compaction_mode has no effect: without autocompact_threshold nothing is summarized",
				"no-effect: agents.a.context_policy.summary_max_tokens: summary_max_tokens has no effect: without autocompact_threshold nothing is summarized",
			},
		},
		"what comes after unlimited rounds": {
			[]draft{agent("a", func(a *spec.Agent) { a.MaxRounds, a.OnMaxRounds = new(0), spec.MaxRoundsFails })},
			[]string{"no-effect: agents.a.on_max_rounds: on_max_rounds never applies: max_rounds is 0, which is unlimited"},
		},
		"thresholds of a detection that is off": {
			[]draft{agent("a", func(a *spec.Agent) {
				a.LoopDetection = &spec.LoopDetection{Enabled: new(false), HardCutoffThreshold: new(9)}
			})},
			[]string{"no-effect: agents.a.loop_detection.hard_cutoff_threshold: loop_detection is not enabled"},
		},
		"pauses between retries that are disabled": {
			[]draft{agent("a", retry(`{"max_retries": 0, "backoff_base": "1s", "stream_idle_timeout": "1s"}`))},
			[]string{"no-effect: agents.a.sections.retry.backoff_base: backoff_base never applies: max_retries is 0"},
		},
		"conditions that never hold": {
			[]draft{tool("wc"), agent("a", stops(
				spec.StopCondition{Type: spec.StopTokenBudget}, spec.StopCondition{Type: spec.StopMaxRounds, Rounds: 17},
				spec.StopCondition{Type: spec.StopOnTool, ToolName: "wd"}, spec.StopCondition{Type: spec.StopOnTool, ToolName: "wc"},
			))},
			[]string{
				"no-effect: agents.a.stop_conditions[0]: the condition token_budget has no limit, so it never holds",
				"no-effect: agents.a.stop_conditions[1].rounds: rounds is 17, but max_rounds ends the turn after 16",
				`no-effect: agents.a.stop_conditions[2].tool_name: the agent has no tool "wd"`,
			},
		},
		"the budget of a tool that the catalog filters out": {
			[]draft{tool("wc", "rm"), agent("a", func(a *spec.Agent) {
				a.ExcludedTools, a.ToolBudgets = spec.Names{"rm"}, map[string]spec.ToolBudget{"rm": {MaxCalls: 1}}
			})},
			[]string{`no-effect: agents.a.tool_budgets.rm: the catalog filters out the tool "rm"`},
		},
		"inherited settings": {
			[]draft{agent("a", func(a *spec.Agent) { a.MaxRounds = new(0) }), func(d *registry.Draft) {
				d.Defaults = &spec.Defaults{Agent: spec.Agent{OnMaxRounds: spec.MaxRoundsFails, MaxHandoffs: new(2)}}
			}}, nil,
		},
		"a pool of one": {
			[]draft{agent("a", func(a *spec.Agent) { a.ModelID = "pool" }), func(d *registry.Draft) {
				d.Pools.Put("pool", &spec.Pool{
					ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}, Switch: &spec.Switch{},
					Routing: &spec.Routing{Home: "round_robin", StickyScope: "run"},
				})
			}},
			[]string{
				"no-effect: model_pools.pool.routing.home: home chooses nothing: sessions can begin at one member alone",
				"no-effect: model_pools.pool.routing.sticky_scope: sticky_scope keeps nothing: the pool has one member",
				"no-effect: model_pools.pool.switch: switch never applies: the pool has one member",
			},
		},
	})
}

// The limit of a model holds whether its agent has a context policy or not.
func TestTheOutputOfAModelIsLimitedWithoutAContextPolicy(t *testing.T) {
	t.Parallel()
	small := priced("small", "", func(m *spec.Model) { m.MaxOutputTokens = new(1000) })
	policy := func(tokens int) func(*spec.Agent) {
		return func(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{MaxOutputTokens: &tokens} }
	}
	rev := revision(t, small, agent("none", runsOn("small", nil)), agent("less", runsOn("small", nil), policy(500)),
		agent("more", runsOn("small", nil), policy(5000)), agent("unknown"))
	for id, want := range map[string][2]int{"none": {1000, 1000}, "less": {500, 1000}, "more": {1000, 1000}, "unknown": {0, 0}} {
		if env := plan(t, rev, id).Local; env.MaxOutput != want[0] || env.ModelOutput != want[1] {
			t.Errorf("%s: an answer has %d tokens, of %d of the model", id, env.MaxOutput, env.ModelOutput)
		}
	}
}
