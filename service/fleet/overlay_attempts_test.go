package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/tools"
	httptool "github.com/agentruntime/agentruntime/tools/http"
)

// limitedBase has an agent with every limit and a workflow with its own limits.
const limitedBase = `
version: 1
providers: {p: {type: fake}}
models:
  m: {provider_id: p, upstream_model: up}
  big: {provider_id: p, upstream_model: big}
tools:
  extra: {type: http, description: Finds., url: "https://extra.example/"}
agents:
  clerk:
    model_id: m
    description: Limited.
    system_prompt: base
    variables: {type: object, properties: {n: {type: string, maxLength: 9}}, required: [n]}
    max_rounds: 3
    on_max_rounds: fail
    max_continuation_retries: 1
    on_truncation: fail
    stop_conditions:
      - {type: max_rounds, rounds: 3}
      - {type: timeout, timeout: 1m}
      - {type: token_budget, max_total: 1000}
      - {type: consecutive_errors, max: 2}
      - {type: stop_on_tool, tool_name: risky}
      - {type: content_match, pattern: done}
      - {type: loop_detection, window: 3}
    reasoning_effort: low
    plugin_ids: [cautious, permission]
    allowed_tools: [risky, agent_run_other, hand_off_to_other]
    excluded_tools: [extra]
    budgets: {max_tokens: 1000, max_cost: 1, currency: USD, max_duration: 1m, max_model_calls: 5, max_tool_calls: 5}
    loop_detection: {consecutive_threshold: 2, hard_cutoff_threshold: 3}
    tool_budgets: {risky: {max_calls: 1}}
    output_schema: {schema: {type: object, properties: {ok: {type: boolean}}, required: [ok]}}
    delegates: [other]
    handoffs: [other]
    max_handoffs: 1
    context_policy: {max_context_tokens: 5000, max_output_tokens: 500, min_recent_messages: 2, summary_max_tokens: 100}
    sections:
      retry: {max_retries: 1}
      permission: {default_behavior: ask, rules: [{tool: risky, behavior: ask}, {tool: "*_other", behavior: ask}, {tool: "/^pay_/", behavior: deny}]}
    session_start: [{id: hook, command: ["true"]}]
    a2a: {reply: message}
  other: {model_id: m, system_prompt: other, description: Other., allowed_tools: []}
  third: {model_id: m, system_prompt: third, description: Third., allowed_tools: []}
workflows:
  nightly:
    tenant: acme
    timeout: 1m
    concurrency: {limit: 1}
    steps: [{id: ask, agent: {agent: other, prompt: x}}]
tenants: {may: {kinds: [http], workflows: {max: 2, max_schedules: 3, min_every: 5m}}}
`

// attempts are values that allow more than limitedBase, by the field that a change widens. A test
// expects some for every field that is not neutral.
var attempts = map[string][]string{
	"variables":                            {`{"variables":null}`, `{"variables":{"required":null}}`, `{"variables":{"properties":{"n":{"maxLength":10}}}}`, `{"variables":{"properties":null}}`},
	"max_rounds":                           {`{"max_rounds":0}`, `{"max_rounds":null}`, `{"max_rounds":4}`},
	"on_max_rounds":                        {`{"on_max_rounds":null}`, `{"on_max_rounds":"stop"}`, `{"on_max_rounds":"finalize"}`},
	"max_continuation_retries":             {`{"max_continuation_retries":null}`, `{"max_continuation_retries":1000}`},
	"on_truncation":                        {`{"on_truncation":null}`, `{"on_truncation":"accept"}`},
	"stop_conditions.type":                 {`{"stop_conditions":[]}`, `{"stop_conditions":null}`, `{"stop_conditions":[{"type":"max_rounds","rounds":3}]}`},
	"stop_conditions.rounds":               {withCondition(0, `"rounds":0`), withCondition(0, `"rounds":4`)},
	"stop_conditions.timeout":              {withCondition(1, `"timeout":"0s"`), withCondition(1, `"timeout":"1h"`), withCondition(1, `"seconds":3600`)},
	"stop_conditions.max_total":            {withCondition(2, `"max_total":0`), withCondition(2, `"max_total":1001`)},
	"stop_conditions.max":                  {withCondition(3, `"max":0`), withCondition(3, `"max":3`)},
	"stop_conditions.tool_name":            {withCondition(4, `"tool_name":""`), withCondition(4, `"tool_name":"other"`)},
	"stop_conditions.pattern":              {withCondition(5, `"pattern":""`), withCondition(5, `"pattern":"never"`)},
	"stop_conditions.window":               {withCondition(6, `"window":0`), withCondition(6, `"window":4`)},
	"reasoning_effort":                     {`{"reasoning_effort":"max"}`, `{"reasoning_effort":null}`, `{"reasoning_effort":100}`, `{"reasoning_effort":{"budget":1}}`, `{"reasoning_effort":"medium"}`},
	"service_tier":                         {`{"service_tier":"priority"}`},
	"request":                              {`{"request":{"set":{"n":2}}}`, `{"request":{"omit":["store"]}}`},
	"plugin_ids":                           {`{"plugin_ids":null}`, `{"plugin_ids":[]}`},
	"active_hook_filter":                   {`{"active_hook_filter":["x"]}`},
	"allowed_tools":                        {`{"excluded_tools":[],"allowed_tools":["risky","extra"]}`, `{"allowed_tools":["agent_run_third"],"delegates":["third"]}`},
	"allowed_tool_patterns":                {`{"allowed_tool_patterns":["*"],"delegates":["third"]}`},
	"excluded_tools":                       {`{"excluded_tools":[],"allowed_tools":["extra"]}`, `{"excluded_tools":null,"allowed_tools":["extra"]}`},
	"excluded_tool_patterns":               {`{"excluded_tool_patterns":[],"allowed_tool_patterns":["*"],"delegates":["other","third"]}`},
	"budgets.max_tokens":                   {`{"budgets":null}`, `{"budgets":{"max_tokens":null}}`, `{"budgets":{"max_tokens":1001}}`},
	"budgets.max_cost":                     {`{"budgets":{"max_cost":null}}`, `{"budgets":{"max_cost":1.5}}`},
	"budgets.currency":                     {`{"budgets":{"currency":"JPY"}}`, `{"budgets":{"currency":null}}`},
	"budgets.max_duration":                 {`{"budgets":{"max_duration":null}}`, `{"budgets":{"max_duration":"2m"}}`},
	"budgets.max_model_calls":              {`{"budgets":{"max_model_calls":null}}`, `{"budgets":{"max_model_calls":6}}`},
	"budgets.max_tool_calls":               {`{"budgets":{"max_tool_calls":null}}`, `{"budgets":{"max_tool_calls":6}}`},
	"loop_detection.enabled":               {`{"loop_detection":null}`, `{"loop_detection":{"enabled":false}}`},
	"loop_detection.consecutive_threshold": {`{"loop_detection":{"consecutive_threshold":3,"hard_cutoff_threshold":4}}`},
	"loop_detection.hard_cutoff_threshold": {`{"loop_detection":{"hard_cutoff_threshold":100}}`, `{"loop_detection":{"hard_cutoff_threshold":null}}`},
	"tool_budgets.max_calls":               {`{"tool_budgets":null}`, `{"tool_budgets":{"risky":null}}`, `{"tool_budgets":{"risky":{"max_calls":1000}}}`},
	"output_schema.schema":                 {`{"output_schema":null}`, `{"output_schema":{"schema":{"required":null}}}`, `{"output_schema":{"schema":{"type":"string","properties":null,"required":null}}}`},
	"output_schema.on_mismatch":            {`{"output_schema":{"on_mismatch":"accept"}}`},
	"delegates":                            {`{"delegates":["other","third"],"allowed_tools":["agent_run_third"]}`},
	"handoffs":                             {`{"handoffs":["third"],"allowed_tools":["hand_off_to_third"]}`},
	"max_handoffs":                         {`{"max_handoffs":null}`, `{"max_handoffs":100}`},
	"context_policy.max_context_tokens":    {`{"context_policy":null}`, `{"context_policy":{"max_context_tokens":null}}`, `{"context_policy":{"max_context_tokens":1000000}}`},
	"context_policy.max_output_tokens":     {`{"context_policy":{"max_output_tokens":null,"max_context_tokens":4000}}`, `{"context_policy":{"max_output_tokens":501}}`},
	"context_policy.min_recent_messages":   {`{"context_policy":{"min_recent_messages":null}}`, `{"context_policy":{"min_recent_messages":1000}}`},
	"context_policy.summary_max_tokens":    {`{"context_policy":{"summary_max_tokens":null}}`, `{"context_policy":{"summary_max_tokens":101}}`},
	"sections":                             {`{"sections":null}`, `{"sections":{"retry":null}}`, `{"sections":{"retry":{"max_retries":9}}}`, `{"sections":{"permission":{"default_behavior":"allow"}}}`, `{"sections":{"permission":{"rules":[{"tool":"risky","behavior":"ask"}]}}}`, `{"sections":{"permission":{"rules":[{"tool":"/^pay_/","behavior":"deny"},{"tool":"client_*","behavior":"allow"}]}}}`, `{"sections":{"compaction":{}}}`},
	"session_start":                        {`{"session_start":null}`, `{"session_start":[]}`, `{"session_start":[{"id":"hook","command":["sh"]}]}`},
	"endpoint":                             {`{"endpoint":{"base_url":"https://elsewhere.example"}}`, `{"endpoint":{"backend":"provider","target":"x","timeout":"1h","options":{},"auth":{"type":"bearer","token":"t"}}}`},
}

// withCondition returns a patch with the stop conditions of limitedBase, one of which has another
// setting.
func withCondition(at int, setting string) string {
	list := []string{`"type":"max_rounds","rounds":3`, `"type":"timeout","timeout":"1m"`, `"type":"token_budget","max_total":1000`, `"type":"consecutive_errors","max":2`, `"type":"stop_on_tool","tool_name":"risky"`, `"type":"content_match","pattern":"done"`, `"type":"loop_detection","window":3`}
	typ, _, _ := strings.Cut(list[at], ",")
	list[at] = typ + "," + setting
	return `{"stop_conditions":[{` + strings.Join(list, `},{`) + `}]}`
}

// refusal returns the first error of a rejected overlay.
func (p *process) refusal(document string) *diag.Diagnostic {
	p.t.Helper()
	_, err := p.publishFor("acme", document)
	invalid, ok := errors.AsType[*fleet.InvalidError](err)
	if !ok {
		p.t.Errorf("%s: the error is %v", document, err)
		return nil
	}
	return &invalid.Findings.Errors()[0]
}

func startLimited(t *testing.T) *process {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone(), tools: []tools.Kind{httptool.Kind()}}
	return p.start(t, limitedBase)
}

// routes are the ways to add a patch of the agent clerk to an overlay.
var routes = map[string]func(p *process, patch string) error{
	"a document with the patch": func(p *process, patch string) error {
		_, err := p.publishFor("acme", `{"version":1,"patches":{"agents":{"clerk":`+patch+`}}}`)
		return err
	},
	"an agent that extends the other": func(p *process, patch string) error {
		_, err := p.publishFor("acme", `{"version":1,"agents":{"own":`+strings.Replace(patch, "{", `{"extends":"clerk",`, 1)+`}}`)
		return err
	},
	"the patch alone": func(p *process, patch string) error {
		_, err := p.fleet.Tenant("acme").PublishPatch(p.t.Context(), &fleet.PatchChange{Registry: "agents", ID: "clerk", Value: []byte(patch)})
		return err
	},
	"a dry run": func(p *process, patch string) error {
		_, err := p.fleet.Tenant("acme").PublishPatch(p.t.Context(), &fleet.PatchChange{Registry: "agents", ID: "clerk", Value: []byte(patch), Change: fleet.Change{DryRun: true}})
		return err
	},
	"validate": func(p *process, patch string) error {
		found, _, err := p.fleet.Tenant("acme").Validate(p.t.Context(), []byte(`{"version":1,"patches":{"agents":{"clerk":`+patch+`}}}`))
		if found.HasErrors() {
			return &fleet.InvalidError{Findings: found}
		}
		return err
	},
}

func TestOverlaysCannotLiftLimits(t *testing.T) {
	t.Parallel()
	one := startLimited(t)
	for field, patches := range attempts {
		top, _, _ := strings.Cut(field, ".")
		for _, patch := range patches {
			for route, try := range routes {
				err := try(one, patch)
				invalid, ok := errors.AsType[*fleet.InvalidError](err)
				if !ok {
					t.Errorf("%s as %s: the error is %v", patch, route, err)
					continue
				}
				d := &invalid.Findings.Errors()[0]
				if d.Code != diag.WidenedAccess || !strings.Contains(d.Path, top) && !strings.Contains(patch, strings.TrimPrefix(d.Path[strings.LastIndexByte(d.Path, '.'):], ".")) {
					t.Errorf("%s as %s is rejected by %s at %s: %s", patch, route, d.Code, d.Path, d.Message)
				}
			}
		}
	}
}

// Rolling back to an overlay that an earlier base allowed fails once the overlay widens.
func TestRollingBackCannotLiftLimits(t *testing.T) {
	t.Parallel()
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone(), tools: []tools.Kind{httptool.Kind()}}
	one := p.start(t, strings.Replace(limitedBase, "may: {", "may: {fields: [max_rounds], ", 1))
	lax := one.mustPublishFor("acme", `{"version":1,"patches":{"agents":{"clerk":{"max_rounds":0}}}}`)
	strict := one.mustPublishFor("acme", `{"version":1}`)
	if _, err := one.change(limitedBase); err != nil {
		t.Fatal(err)
	}
	_, err := one.fleet.Tenant("acme").Rollback(t.Context(), lax.Hash, &fleet.Change{Expected: strict.Hash})
	if invalid, ok := errors.AsType[*fleet.InvalidError](err); !ok || invalid.Findings.Errors()[0].Code != diag.WidenedAccess {
		t.Errorf("the error is %v", err)
	}
}

func TestEveryLimitIsAttempted(t *testing.T) {
	t.Parallel()
	for _, f := range access.Fields() {
		if f.Class != access.Neutral && len(attempts[f.Path]) == 0 && len(attempts[f.Top()]) == 0 {
			t.Errorf("no overlay tries to widen %s", f.Path)
		}
	}
}

// Fields that an overlay omits, because it rewrites an agent or extends another, count as removed.
func TestOverlaysCannotLeaveLimitsOut(t *testing.T) {
	t.Parallel()
	one := startLimited(t)
	for _, overlay := range []string{
		`"agents":{"clerk":{"model_id":"m","system_prompt":"mine","allowed_tools":[]}}`,
		`"agents":{"clerk":{"extends":"other"}}`,
		`"agents":{"own":{"model_id":"m","system_prompt":"mine","allowed_tools":[]}}`,
		`"agents":{"clerk":{}}`,
		`"agents":{"mid":{"extends":"clerk"},"own":{"extends":"mid","max_rounds":0}}`,
		`"agents":{"own":{"extends":"clerk"}},"patches":{"agents":{"own":{"tool_budgets":null}}}`,
		`"agents":{"own":{"extends":"clerk"}},"patches":{"agents":{"own":{"extends":"other"},"clerk":{"max_rounds":9}}}`,
	} {
		if d := one.refusal(`{"version":1,` + overlay + `}`); d != nil && d.Hint == "" {
			t.Errorf("%s is refused without a hint: %s", overlay, d.Message)
		}
	}
}

func TestOverlaysCannotLiftLimitsOfWorkflowsAndTools(t *testing.T) {
	t.Parallel()
	one := startLimited(t)
	step := `"steps":[{"id":"ask","agent":{"agent":"other","prompt":"x"}}]`
	for overlay, path := range map[string]string{
		`"patches":{"workflows":{"nightly":{"concurrency":null}}}`:                                                                                          "patches.workflows.nightly.concurrency",
		`"patches":{"workflows":{"nightly":{"concurrency":{"limit":2}}}}`:                                                                                   "workflows.nightly.concurrency",
		`"patches":{"workflows":{"nightly":{"timeout":null}}}`:                                                                                              "patches.workflows.nightly.timeout",
		`"patches":{"workflows":{"nightly":{"timeout":"1h"}}}`:                                                                                              "patches.workflows.nightly.timeout",
		`"patches":{"workflows":{"nightly":{"tenant":null}}}`:                                                                                               "patches.workflows.nightly.tenant",
		`"workflows":{"own":{"schedules":[{"cron":"* * * * *"}],` + step + `}}`:                                                                             "workflows.own.schedules[0].cron",
		`"workflows":{"own":{"schedules":[{"cron":"*/4 * * * *"}],` + step + `}}`:                                                                           "workflows.own.schedules[0].cron",
		`"workflows":{"own":{"schedules":[{"id":"a","cron":"58 23 * * *"},{"id":"b","cron":"0,58 0 * * *"},{"id":"c","cron":"0,3 1 * * *"}],` + step + `}}`: "workflows.own.schedules[2].cron",
		`"patches":{"workflows":{"nightly":{"schedules":[{"cron":"1-2 0 1 1 *"}]}}}`:                                                                        "patches.workflows.nightly.schedules[0].cron",
		`"workflows":{"own":{"schedules":[` + strings.Repeat(`{"cron":"@daily"},`, 3) + `{"cron":"@daily"}],` + step + `}}`:                                 "workflows",
		`"patches":{"workflows":{"nightly":{"schedules":[` + strings.Repeat(`{"cron":"@daily"},`, 3) + `{"cron":"@daily"}]}}}`:                              "patches.workflows",
		`"tools":{"extra":{"type":"http","description":"x","url":"https://a.example"}}`:                                                                     "tools.extra",
		`"tools":{"risky":{"type":"http","description":"x","url":"https://a.example"}}`:                                                                     "tools.risky",
		`"patches":{"tools":{"extra":{"url":"https://a.example"}}}`:                                                                                         "patches.tools.extra.url",
		`"models":{"m":{"provider_id":"p","upstream_model":"big"}}`:                                                                                         "models",
		`"model_pools":{"x":{"members":[{"model_id":"big"}]}}`:                                                                                              "model_pools",
		`"patches":{"models":{"m":{"max_output_tokens":1000000}}}`:                                                                                          "patches.models",
		`"patches":{"agents":{"clerk":{"model_id":"big"}}}`:                                                                                                 "patches.agents.clerk.model_id",
		`"patches":{"agents":{"clerk":{"context_policy":{"summary_model_id":"big"}}}}`:                                                                      "patches.agents.clerk.context_policy",
		`"defaults":{"max_rounds":0}`:                                                                                                                       "defaults",
		`"patches":{"defaults":{"max_rounds":0}}`:                                                                                                           "patches.defaults",
		`"schedules":{"x":{"cron":"@daily"}}`:                                                                                                               "schedules",
	} {
		if d := one.refusal(`{"version":1,` + overlay + `}`); d != nil && d.Path != path {
			t.Errorf("%s is refused at %s: %s", overlay, d.Path, d.Message)
		}
	}
}

// An overlay may make every limit stricter.
func TestOverlaysMayNarrow(t *testing.T) {
	t.Parallel()
	one := startLimited(t)
	for _, patch := range []string{
		`{"variables":{"properties":{"n":{"maxLength":8},"m":{"type":"string"}},"additionalProperties":false}}`,
		`{"max_rounds":2,"max_continuation_retries":0,"max_handoffs":0,"reasoning_effort":"off"}`,
		withCondition(0, `"rounds":2`), withCondition(1, `"timeout":"1s"`),
		`{"allowed_tools":[]}`, `{"excluded_tools":["risky"]}`, `{"delegates":[],"handoffs":[]}`,
		`{"budgets":{"max_tokens":10,"max_tool_calls":0}}`,
		`{"loop_detection":{"consecutive_threshold":2}}`, `{"tool_budgets":{"risky":{"max_calls":0},"other":{"max_calls":1}}}`,
		`{"output_schema":{"name":"form","schema":{"additionalProperties":false}}}`,
		`{"context_policy":{"max_context_tokens":4000,"enable_prompt_cache":false,"compaction_mode":"compact_to_safe_frontier","tool_result_preview":{"max_chars":9}}}`,
		`{"system_prompt":"mine","description":"Mine.","tool_execution":"sequential"}`,
	} {
		for _, overlay := range []string{
			`{"version":1,"patches":{"agents":{"clerk":` + patch + `}}}`,
			`{"version":1,"agents":{"own":` + strings.Replace(patch, "{", `{"extends":"clerk",`, 1) + `}}`,
		} {
			if _, err := one.publishFor("acme", overlay); err != nil {
				t.Errorf("%s: %v", overlay, err)
			}
		}
	}
}

func TestTheBaseMayLetTenantsRaiseSomeLimits(t *testing.T) {
	t.Parallel()
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone(), tools: []tools.Kind{httptool.Kind()}}
	one := p.start(t, strings.Replace(limitedBase, "may: {", "may: {fields: [max_rounds, context_policy.*], ", 1))
	for patch, allowed := range map[string]bool{
		`{"max_rounds":0}`: true, `{"context_policy":null}`: true, `{"max_handoffs":9}`: false, `{"max_rounds":0,"on_max_rounds":"stop"}`: false, `{"plugin_ids":[]}`: false,
	} {
		_, err := one.publishFor("acme", `{"version":1,"patches":{"agents":{"clerk":`+patch+`}}}`)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

func TestOverlaysHaveLimitedEntries(t *testing.T) {
	t.Parallel()
	entries := func(n int, value string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"x%d":%s`, i, value))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	one := startLimited(t)
	for overlay, path := range map[string]string{
		`"agents":` + entries(101, `{"extends":"other"}`):                                                      "agents",
		`"agents":` + entries(10_000, `{"extends":"other"}`):                                                   "agents",
		`"patches":{"agents":` + entries(101, `{"max_rounds":1}`) + `}`:                                        "patches.agents",
		`"agents":` + entries(60, `{"extends":"other"}`) + `,"patches":{"agents":` + entries(60, `null`) + `}`: "patches.agents",
		`"tools":` + entries(51, `{"type":"http","url":"https://a.example"}`):                                  "tools",
		`"workflows":` + entries(4, `{}`):                                                                      "workflows",
		`"patches":{"workflows":` + entries(4, `{}`) + `}`:                                                     "patches.workflows",
	} {
		if d := one.refusal(`{"version":1,` + overlay + `}`); d != nil && (d.Path != path || !strings.Contains(d.Hint, "tenants.may.")) {
			t.Errorf("it is refused at %s: %s (%s)", d.Path, d.Message, d.Hint)
		}
	}
	if _, err := one.publishFor("acme", `{"version":1,"agents":`+entries(100, `{"extends":"other"}`)+`}`); err != nil {
		t.Error(err)
	}
}
