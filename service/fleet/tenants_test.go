package fleet_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
)

var bob = service.Caller{Tenant: "other", Subject: "bob"}

const tenantBase = `
version: 1
providers: {p: {type: fake}}
models:
  m: {provider_id: p, upstream_model: up}
  big: {provider_id: p, upstream_model: big}
  secret: {provider_id: p, upstream_model: hidden}
agents:
  clerk: {model_id: m, system_prompt: base, allowed_tools: [], budgets: {max_tokens: 1000}}
  helper: {extends: clerk, description: Helps.}
  third: {model_id: m, system_prompt: third}
tenants: {may: {models: [big], tools: [agent_run_third], max_budget: {max_tokens: 5000}}}
`

func overlayOf(prompt string) string {
	return fmt.Sprintf(`{"version":1,"patches":{"agents":{"clerk":{"system_prompt":%q}}}}`, prompt)
}

// publishFor publishes a tenant's overlay over its current one.
func (p *process) publishFor(tenant, document string) (*fleet.Published, error) {
	p.t.Helper()
	c := &fleet.Change{Document: []byte(document), Author: "ann"}
	current, err := p.fleet.Tenant(tenant).Current(p.t.Context())
	if err == nil {
		c.Expected = current.Hash
	}
	return p.fleet.Tenant(tenant).Publish(p.t.Context(), c)
}

func (p *process) mustPublishFor(tenant, document string) *fleet.Published {
	p.t.Helper()
	out, err := p.publishFor(tenant, document)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// run runs a caller's turn to its end.
func (p *process) run(caller service.Caller, agent string) *service.Turn {
	p.t.Helper()
	session, err := p.service.CreateSession(p.t.Context(), caller, service.CreateSession{AgentID: agent})
	if err != nil {
		p.t.Fatal(err)
	}
	made, err := p.service.CreateTurn(p.t.Context(), caller, service.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("go")}})
	if err != nil {
		p.t.Fatal(err)
	}
	turn, err := p.service.WaitTurn(p.t.Context(), caller, made.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	return turn
}

// tenantPrompt returns the current prompt of a tenant's agent.
func (p *process) tenantPrompt(tenant, agent string) string {
	p.t.Helper()
	rev, err := p.fleet.AcquireTenant(p.t.Context(), tenant)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rev.Release()
	a, ok := rev.Set().Agents.Get(agent)
	if !ok {
		return "none"
	}
	return string(a.SystemPrompt)
}

func answersDone() *turntest.Answerer {
	return turntest.Scripts(map[string][]turntest.Answer{"up": slices.Repeat([]turntest.Answer{{Text: "done"}}, 20)})
}

func TestCallersSeeTheOverlayOfTheirTenant(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	out := one.mustPublishFor("acme", overlayOf("acme"))
	if out.Number != 1 || len(out.Diff.Agents) != 2 || out.Diff.Widened {
		t.Errorf("published %+v with %+v", out, out.Diff)
	}
	for _, caller := range []service.Caller{alice, bob} {
		if turn := one.run(caller, "helper"); turn.Status != store.Succeeded {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
		}
	}
	if got := one.prompts(); got != "acme, base" {
		t.Errorf("the prompts are %s", got)
	}
	again := one.mustPublishFor("acme", overlayOf("acme"))
	if !again.Unchanged || again.Number != 1 {
		t.Errorf("published again: %+v", again)
	}
	one.mustPublishFor("acme", overlayOf("newer"))
	if got := one.tenantPrompt("acme", "clerk"); got != "newer" {
		t.Errorf("then the prompt is %s", got)
	}
	first, err := one.fleet.Tenant("acme").Revisions(t.Context(), fleet.Page{})
	if err != nil || len(first.Revisions) != 2 {
		t.Fatalf("%+v: %v", first, err)
	}
	back, err := one.fleet.Tenant("acme").Rollback(t.Context(), first.Revisions[1].Hash, &fleet.Change{Expected: first.Revisions[0].Hash})
	if err != nil || back.Number != 3 || one.tenantPrompt("acme", "clerk") != "acme" {
		t.Errorf("rolled back to %+v: %v", back, err)
	}
	report, err := one.fleet.Tenant("acme").Diff(t.Context(), "", first.Revisions[1].Hash)
	if err != nil || len(report.Agents) != 2 {
		t.Errorf("from the base: %+v: %v", report, err)
	}
	attempts, err := one.fleet.Tenant("acme").Attempts(t.Context(), fleet.Page{})
	if err != nil || len(attempts.Attempts) != 4 {
		t.Errorf("the attempts are %+v: %v", attempts, err)
	}
}

func TestATenantThatExpectsAnotherOverlayHasAConflict(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	first := one.mustPublishFor("acme", overlayOf("acme"))
	for _, expected := range []string{"", "another"} {
		_, err := one.fleet.Tenant("acme").Publish(t.Context(), &fleet.Change{Document: []byte(overlayOf("x")), Expected: expected})
		if conflict, ok := errors.AsType[*store.RevisionConflictError](err); !ok || conflict.Current.Hash != first.Hash {
			t.Errorf("with %q expected: %v", expected, err)
		}
	}
}

// The base limits the rights of an overlay.
func TestOverlaysAreBoundedByTheBase(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone(), env: map[string]string{"SECRET": "s3cret"}}
	one := p.start(t, tenantBase)
	for _, tt := range []struct {
		name, overlay, path string
	}{
		{"a variable", `"patches":{"agents":{"clerk":{"system_prompt":"${SECRET}"}}}`, "patches.agents.clerk.system_prompt"},
		{"a later variable", `"patches":{"agents":{"clerk":{"system_prompt":"${turn.x} ${SECRET:-a}"}}}`, "patches.agents.clerk.system_prompt"},
		{"a file", `"patches":{"agents":{"clerk":{"system_prompt":"${file:/etc/passwd}"}}}`, "patches.agents.clerk.system_prompt"},
		{"a prompt in a file", `"patches":{"agents":{"clerk":{"system_prompt":{"file":"/etc/passwd"}}}}`, "patches.agents.clerk.system_prompt"},
		{"a model", `"patches":{"agents":{"clerk":{"model_id":"secret"}}}`, "patches.agents.clerk.model_id"},
		{"a model of its own", `"models":{"x":{"provider_id":"p","upstream_model":"up"}}`, "models"},
		{"a provider", `"patches":{"providers":{"p":{"key":"x"}}}`, "patches.providers"},
		{"settings", `"server":{}`, "server"},
		{"rights", `"tenants":{"may":{"models":["*"]}}`, "tenants"},
		{"widening", `"patches":{"allow_widening":true}`, "patches.allow_widening"},
		{"widening of an agent", `"patches":{"agents":{"clerk":{"allow_widening":true}}}`, "patches.agents.clerk.allow_widening"},
		{"a program", `"patches":{"agents":{"clerk":{"session_start":[{"id":"x","command":["ls"]}]}}}`, "patches.agents.clerk.session_start"},
		{"plugins", `"patches":{"agents":{"clerk":{"plugin_ids":[]}}}`, "patches.agents.clerk.plugin_ids"},
		{"a section", `"patches":{"agents":{"clerk":{"sections":{"retry":{"max_retries":9}}}}}`, "patches.agents.clerk.sections.retry"},
		{"an endpoint", `"agents":{"x":{"endpoint":{"backend":"a2a","base_url":"http://10.0.0.1"}}}`, "agents.x.endpoint"},
		{"a tool", `"tools":{"x":{"type":"http","url":"https://example.com"}}`, "tools.x.type"},
		{"a budget", `"patches":{"agents":{"clerk":{"budgets":{"max_tokens":6000}}}}`, "patches.agents.clerk.budgets"},
		{"no budget", `"patches":{"agents":{"clerk":{"budgets":null}}}`, "patches.agents.clerk.budgets"},
		{"a delegate", `"patches":{"agents":{"third":{"delegates":["helper"]}}}`, "patches.agents.third.delegates"},
		{"an agent with a larger budget", `"agents":{"x":{"extends":"clerk","budgets":{"max_tokens":6000}}}`, "agents.x.budgets"},
		{"an agent that extends none", `"agents":{"x":{"model_id":"big","system_prompt":"x","allowed_tools":[],"budgets":{"max_tokens":10}}}`, "agents.x"},
		{"agents that extend each other", `"agents":{"x":{"model_id":"big","system_prompt":"x","allowed_tools":[],"budgets":{"max_tokens":10}},"y":{"extends":"x"}}`, "agents.x"},
		{"an agent with another model", `"agents":{"x":{"extends":"clerk","model_id":"secret"}}`, "agents.x.model_id"},
		{"an agent with a delegate", `"agents":{"x":{"extends":"third","delegates":["helper"]}}`, "agents.x.delegates"},
		{"nothing to patch", `"patches":{"agents":{"clark":{"system_prompt":"x"}}}`, "patches.agents.clark"},
	} {
		_, err := one.publishFor("acme", `{"version":1,`+tt.overlay+`}`)
		invalid, ok := errors.AsType[*fleet.InvalidError](err)
		if !ok {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		errs := invalid.Findings.Errors()
		if len(errs) == 0 || errs[0].Path != tt.path || errs[0].Hint == "" {
			t.Errorf("%s: %v at %q with the hint %q", tt.name, errs, errs[0].Path, errs[0].Hint)
		}
		if strings.Contains(fmt.Sprint(errs), "s3cret") {
			t.Errorf("%s: %v shows the variable", tt.name, errs)
		}
	}
	for name, overlay := range map[string]string{
		"a model":     `"patches":{"agents":{"clerk":{"model_id":"big"}}}`,
		"a budget":    `"patches":{"agents":{"clerk":{"budgets":{"max_tokens":5000}}}}`,
		"a delegate":  `"patches":{"agents":{"third":{"delegates":["third"]}}}`,
		"an agent":    `"agents":{"x":{"extends":"clerk","model_id":"big","system_prompt":"x","budgets":{"max_tokens":10}},"y":{"extends":"x"}}`,
		"its own one": `"agents":{"x":{"extends":"clerk","system_prompt":"x"}},"patches":{"agents":{"third":{"delegates":["x"]}}}`,
		"no agent":    `"patches":{"agents":{"third":null}}`,
	} {
		if _, err := one.publishFor("acme", `{"version":1,`+overlay+`}`); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutASectionTenantsHaveNoOverlays(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone()}
	one := p.start(t, oldConfig)
	if _, err := one.publishFor("acme", overlayOf("x")); !errors.Is(err, fleet.ErrNoTenants) {
		t.Error(err)
	}
}

// Tenant variables alone do not permit overlays.
func TestVariablesAllowNoOverlays(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone()}
	one := p.start(t, strings.Replace(oldConfig, "version: 1", "version: 1\ntenants: {variables: {A: {default: a}}}", 1))
	if _, err := one.publishFor("acme", overlayOf("x")); !errors.Is(err, fleet.ErrNoTenants) || one.fleet.AnyTenants() {
		t.Error(err)
	}
}

// Rules of the base also apply to agents that a tenant adds: they extend a base agent and may do no
// more than that agent.
func TestRulesHoldForAgentsOfATenant(t *testing.T) {
	const base = `
version: 1
providers: {p: {type: fake}}
models: {m: {provider_id: p, upstream_model: up}}
agents:
  guarded: {model_id: m, system_prompt: base, plugin_ids: [cautious], allowed_tools: [risky]}
  plain: {model_id: m, system_prompt: base, allowed_tools: []}
tenants: {may: {tools: [risky], models: [m]}}
`
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
	one := p.start(t, base)
	_, err := one.publishFor("acme", `{"version":1,"agents":{"own":{"model_id":"m","system_prompt":"own","allowed_tools":["risky"]}}}`)
	invalid, ok := errors.AsType[*fleet.InvalidError](err)
	if !ok || invalid.Findings.Errors()[0].Path != "agents.own" {
		t.Fatalf("without rules: %v", err)
	}
	one.mustPublishFor("acme", `{"version":1,"agents":{"own":{"extends":"guarded","system_prompt":"own"}}}`)
	if turn := one.approve(one.wait("own")); turn.Status != store.Succeeded {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if _, err := one.change(strings.Replace(base, "models: [m]}", "models: [m], agents: true}", 1)); err != nil {
		t.Fatal(err)
	}
	one.mustPublishFor("acme", `{"version":1,"agents":{"own":{"model_id":"m","system_prompt":"own","allowed_tools":["risky"]}}}`)
}

// The configuration sets the number of tenants that are kept ready, and a change takes effect
// immediately.
func TestTheConfigurationSaysHowManyTenantsAreKept(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	base := func(cache int) string {
		return strings.Replace(tenantBase, "tenants: {", fmt.Sprintf("tenants: {cache: %d, ", cache), 1)
	}
	one := p.start(t, base(1))
	for _, tenant := range []string{"acme", "other"} {
		one.mustPublishFor(tenant, overlayOf(tenant))
	}
	acquire := func(tenant string) *registry.Revision {
		rev, err := one.fleet.AcquireTenant(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(rev.Release)
		return rev
	}
	if first := acquire("acme"); acquire("acme") != first {
		t.Error("the tenant that was used last is not kept")
	} else if acquire("other"); acquire("acme") == first {
		t.Error("two tenants are kept")
	}
	if _, err := one.change(base(2)); err != nil {
		t.Fatal(err)
	}
	first := acquire("acme")
	if acquire("other"); acquire("acme") != first {
		t.Error("then two tenants are not kept")
	}
}

// A waiting turn continues in its original overlay over its original base, even in another process.
func TestATurnIsPinnedToItsOverlay(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
	text := strings.Replace(oldConfig, "version: 1", "version: 1\ntenants: {may: {}}", 1)
	one := p.start(t, text)
	one.mustPublishFor("acme", overlayOf("first"))
	id := one.wait("clerk")
	one.mustPublishFor("acme", overlayOf("second"))
	if _, err := one.change(strings.Replace(newConfig, "version: 1", "version: 1\ntenants: {may: {}}", 1)); err != nil {
		t.Fatal(err)
	}
	one.stop()
	next := p.start(t, text)
	if got := next.tenantPrompt("acme", "clerk"); got != "second" {
		t.Errorf("now the prompt is %s", got)
	}
	if turn := next.approve(id); turn.Status != store.Succeeded || next.prompts() != "first, first" {
		t.Errorf("the turn is %s with the prompts %s: %+v", turn.Status, next.prompts(), turn.Outcome)
	}
}

func TestReplicasFollowOverlays(t *testing.T) {
	var second *process
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	p.notify = func() { second.fleet.Heard([]string{fleet.NotifyID}) }
	second = p.start(t, tenantBase)
	one := p.start(t, tenantBase)
	if got := second.tenantPrompt("acme", "clerk"); got != "base" {
		t.Errorf("at first the prompt is %s", got)
	}
	one.mustPublishFor("acme", overlayOf("acme"))
	if got := second.tenantPrompt("acme", "clerk"); got != "acme" {
		t.Errorf("with the notification the prompt is %s", got)
	}
	second.fleet.Heard([]string{"something else"})
	p.notify = nil
	cut := p.start(t, tenantBase)
	if _, err := cut.publishFor("acme", overlayOf("cut")); err != nil {
		t.Fatal(err)
	}
	second.until("it follows without a notification", func() bool { return second.tenantPrompt("acme", "clerk") == "cut" })
}

// Tenants with equal overlays have separate revisions.
func TestRevisionsOfTenantsDiffer(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	hashes := map[string]bool{}
	for _, tenant := range []string{"a", "b"} {
		one.mustPublishFor(tenant, overlayOf("same"))
		rev, err := one.fleet.AcquireTenant(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		hashes[rev.Hash()] = true
		rev.Release()
	}
	if len(hashes) != 2 {
		t.Error("two tenants share a revision")
	}
	tenants, _, err := one.fleet.Tenants(t.Context(), "", 0)
	if err != nil || len(tenants) != 2 || tenants[0].Tenant != "a" || tenants[0].Document != nil {
		t.Errorf("the tenants are %+v: %v", tenants, err)
	}
}

// An overlay is checked over the current base; explanations and diagnostics belong to the tenant.
func TestExplanationsAreThoseOfTheTenant(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	one.mustPublishFor("acme", `{"version":1,"agents":{"own":{"extends":"clerk","system_prompt":"mine"}}}`)
	summary, err := one.fleet.Tenant("acme").Explain(t.Context(), "own")
	if err != nil || !json.Valid(summary) {
		t.Errorf("%s: %v", summary, err)
	}
	_, err = one.fleet.Tenant("other").Explain(t.Context(), "own")
	if _, ok := errors.AsType[*fleet.NotFoundError](err); !ok {
		t.Errorf("of another tenant: %v", err)
	}
	findings, err := one.fleet.Tenant("acme").Diagnostics(t.Context())
	if err != nil || findings.HasErrors() {
		t.Errorf("%v: %v", findings, err)
	}
	found, report, err := one.fleet.Tenant("acme").Validate(t.Context(), []byte(`{"version":1,"agents":{"own":{"model_id":"bug"}}}`))
	if err != nil || report != nil || !slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code == diag.ModelNotFound }) {
		t.Errorf("%v %v: %v", found, report, err)
	}
}
