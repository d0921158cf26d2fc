package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
)

const flowBase = `
version: 1
providers: {p: {type: fake}}
models: {m: {provider_id: p, upstream_model: up}}
agents: {clerk: {model_id: m, system_prompt: base, allowed_tools: []}}
workflows:
  shared:
    tenant: acme
    schedules: [{cron: "@daily"}]
    steps:
      - {id: ask, agent: {agent: clerk, prompt: "How are ${{ input.x }}?"}}
      - {id: act, tool: {name: risky, approval: true}}
  foreign: {tenant: other, events: [{type: x}], steps: [{id: ask, agent: {agent: clerk, prompt: x}}]}
tenants:
  variables: {HOOK: {secret: true}, PLAIN: {default: x}}
  may: {workflows: {max: 2, tools: [allowed]}}
`

// startFlows starts a process whose base has workflows.
func startFlows(t *testing.T, base string) *process {
	t.Helper()
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone(), env: map[string]string{"SECRET": "s3cret"}}
	return p.start(t, base)
}

const askStep = `"steps":[{"id":"ask","agent":{"agent":"clerk","prompt":"Do ${{ input.x }}."}}]`

// The base limits a tenant's workflows, and mistakes in them are reported at their positions in the
// overlay.
func TestWorkflowsOfTenantsAreBoundedByTheBase(t *testing.T) {
	t.Parallel()
	one := startFlows(t, flowBase)
	for _, tt := range []struct{ name, overlay, path string }{
		{"another tenant's", `"workflows":{"own":{"tenant":"other",` + askStep + `}}`, "workflows.own.tenant"},
		{"another subject's", `"workflows":{"own":{"subject":"amy",` + askStep + `}}`, "workflows.own.subject"},
		{"one of the base", `"workflows":{"shared":{` + askStep + `}}`, "workflows.shared"},
		{"one of the base for another subject", `"patches":{"workflows":{"shared":{"subject":"amy"}}}`, "patches.workflows.shared.subject"},
		{"too many", `"workflows":{"a":{` + askStep + `},"b":{` + askStep + `},"c":{` + askStep + `}}`, "workflows.c"},
		{"a tool of the base", `"workflows":{"own":{"steps":[{"id":"act","tool":{"name":"risky"}}]}}`, "workflows.own.steps[0].tool.name"},
		{"a delivery to a tool of the base", `"workflows":{"own":{"target":{"agent":{"agent":"clerk","prompt":"x"},"output_delivery":{"tool":"risky"}}}}`, "workflows.own.target.output_delivery.tool"},
		{"a call without its approval", `"patches":{"workflows":{"shared":{"steps":[{"id":"act","tool":{"name":"risky"}}]}}}`, "patches.workflows.shared.steps[0].tool.name"},
		{"too often", `"workflows":{"own":{"schedules":[{"cron":"@every 1s"}],` + askStep + `}}`, "workflows.own.schedules[0].cron"},
		{"too often by a patch", `"patches":{"workflows":{"shared":{"schedules":[{"cron":"@every 59s"}]}}}`, "patches.workflows.shared.schedules[0].cron"},
		{"a variable of the process", `"workflows":{"own":{"steps":[{"id":"ask","agent":{"agent":"clerk","prompt":"${{ input.x }} ${SECRET}"}}]}}`, "workflows.own.steps[0].agent.prompt"},
		{"a variable in a patch", `"patches":{"workflows":{"shared":{"description":"${SECRET}"}}}`, "patches.workflows.shared.description"},
		{"a file", `"workflows":{"own":{"description":"${file:/etc/passwd}",` + askStep + `}}`, "workflows.own.description"},
		{"a plain secret", `"workflows":{"own":{"webhooks":[{"secret":"not-so-secret"}],` + askStep + `}}`, "workflows.own.webhooks[0].secret"},
		{"a variable that is none", `"workflows":{"own":{"webhooks":[{"secret":"${tenant.HOOP}"}],` + askStep + `}}`, "workflows.own.webhooks[0].secret"},
		{"a variable that is no secret", `"workflows":{"own":{"webhooks":[{"secret":"${tenant.PLAIN}"}],` + askStep + `}}`, "workflows.own.webhooks[0].secret"},
		{"too often by a patch of its own", `"workflows":{"own":{` + askStep + `}},"patches":{"workflows":{"own":{"schedules":[{"cron":"@every 2s"}]}}}`, "patches.workflows.own.schedules[0].cron"},
		{"the same the other way round", `"patches":{"workflows":{"own":{"schedules":[{"cron":"@every 2s"}]}}},"workflows":{"own":{` + askStep + `}}`, "patches.workflows.own.schedules[0].cron"},
		{"a tool by a patch of its own", `"workflows":{"own":{` + askStep + `}},"patches":{"workflows":{"own":{"steps":[{"id":"act","tool":{"name":"risky"}}]}}}`, "patches.workflows.own.steps[0].tool.name"},
		{"an unknown agent", `"workflows":{"own":{"steps":[{"id":"ask","agent":{"agent":"clark","prompt":"x"}}]}}`, "workflows.own.steps[0].agent.agent"},
		{"an agent that the tenant does without", `"patches":{"agents":{"clerk":null}}`, "workflows.shared.steps[0].agent.agent"},
		{"a later step", `"workflows":{"own":{"steps":[{"id":"a","agent":{"agent":"clerk","prompt":"${{ steps.b.outputs.text }}"}}]}}`, "workflows.own.steps[0].agent.prompt"},
		{"an unknown field", `"workflows":{"own":{"colour":1,` + askStep + `}}`, "workflows.own.colour"},
		{"a wrong cron", `"patches":{"workflows":{"shared":{"schedules":[{"cron":"daily"}]}}}`, "patches.workflows.shared.schedules[0].cron"},
		{"an id that is taken", `"workflows":{"own":{"schedules":[{"id":"shared","cron":"@daily"}],` + askStep + `}}`, "workflows.own.schedules[0]"},
		{"a list", `"workflows":[]`, "workflows"},
		{"no mapping", `"workflows":{"own":[]}`, "workflows.own"},
		{"no workflow to patch", `"patches":{"workflows":{"shard":{"description":"x"}}}`, "patches.workflows.shard"},
		{"that of another tenant", `"patches":{"workflows":{"foreign":{"description":"x"}}}`, "patches.workflows.foreign"},
		{"that of another tenant removed", `"patches":{"workflows":{"foreign":null}}`, "patches.workflows.foreign"},
	} {
		_, err := one.publishFor("acme", `{"version":1,`+tt.overlay+`}`)
		invalid, ok := errors.AsType[*fleet.InvalidError](err)
		if !ok {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		errs := invalid.Findings.Errors()
		if len(errs) != 1 || errs[0].Path != tt.path {
			t.Errorf("%s: %v at %q, want %s", tt.name, errs, errs[0].Path, tt.path)
		}
		if text := fmt.Sprint(errs); strings.Contains(text, "s3cret") || strings.Contains(text, "not-so") {
			t.Errorf("%s: %v shows a secret", tt.name, errs)
		}
	}
	for name, overlay := range map[string]string{
		"its own":                      `"workflows":{"own":{"schedules":[{"cron":"*/5 * * * *"}],` + askStep + `}}`,
		"with the id of a foreign one": `"workflows":{"foreign":{"events":[{"type":"x"}],` + askStep + `}}`,
		"another cron":                 `"patches":{"workflows":{"shared":{"schedules":[{"cron":"@hourly","paused":true}]}}}`,
		"another prompt":               `"patches":{"workflows":{"shared":{"steps":[{"id":"ask","agent":{"agent":"clerk","prompt":"x"}},{"id":"act","tool":{"name":"risky","approval":true}}]}}}`,
		"no workflow":                  `"patches":{"workflows":{"shared":null}}`,
		"a signed request":             `"workflows":{"own":{"webhooks":[{"secret":"${tenant.HOOK}"}],` + askStep + `}}`,
		"an agent of its own":          `"agents":{"x":{"extends":"clerk"}},"workflows":{"own":{"steps":[{"id":"ask","agent":{"agent":"x","prompt":"$${{ x }}"}}]}}`,
	} {
		if _, err := one.publishFor("acme", `{"version":1,`+overlay+`}`); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without tenants.may.workflows an overlay can neither add nor change workflows.
func TestWorkflowsHaveToBeAllowed(t *testing.T) {
	t.Parallel()
	one := startFlows(t, strings.Replace(flowBase, "{workflows: {max: 2, tools: [allowed]}}", "{}", 1))
	for overlay, path := range map[string]string{
		`"workflows":{"own":{` + askStep + `}}`:                  "workflows.own",
		`"patches":{"workflows":{"shared":{"description":"x"}}}`: "patches.workflows",
		`"patches":{"workflows":{"shared":null}}`:                "patches.workflows",
	} {
		_, err := one.publishFor("acme", `{"version":1,`+overlay+`}`)
		invalid, ok := errors.AsType[*fleet.InvalidError](err)
		if !ok || invalid.Findings.Errors()[0].Path != path || !strings.Contains(invalid.Findings.Errors()[0].Hint, "tenants.may.workflows") {
			t.Errorf("%s: %v", overlay, err)
		}
	}
}

// flowsOf returns the workflow ids of a tenant, or of all tenants, and their owners.
func (p *process) flowsOf(tenant string) string {
	p.t.Helper()
	list, err := p.fleet.Workflows(p.t.Context(), tenant)
	if err != nil {
		p.t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, w := range list {
		owner, _ := w.Owner()
		names[i] = owner + "/" + w.ID
		if w.Own {
			names[i] += "!"
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The workflows of all tenants together equal the workflows of each, whatever is published, rolled
// back and held over another base, in this process and in others.
func TestWorkflowsOfAllTenants(t *testing.T) {
	t.Parallel()
	p := program{store: newStore(t), fromStore: true, risky: true, exec: answersDone()}
	one, second := p.start(t, flowBase), p.start(t, flowBase)
	second.follow()
	want := func(about, all string) {
		t.Helper()
		if got := one.flowsOf(""); got != all {
			t.Errorf("%s: all are %q, want %q", about, got, all)
		}
		second.until(about, func() bool { return second.flowsOf("") == all })
		var each []string
		for _, tenant := range []string{"acme", "other", "third"} {
			each = append(each, strings.Fields(one.flowsOf(tenant))...)
		}
		if slices.Sort(each); strings.Join(each, " ") != all {
			t.Errorf("%s: those of each are %q, want %q", about, each, all)
		}
	}
	want("at first", "acme/shared other/foreign")
	first := one.mustPublishFor("acme", `{"version":1,"workflows":{"own":{`+askStep+`}}}`)
	one.mustPublishFor("third", `{"version":1,"workflows":{"own":{`+askStep+`}}}`)
	want("with two of their own", "acme/own! acme/shared other/foreign third/own!")
	next := one.mustPublishFor("acme", `{"version":1,"patches":{"workflows":{"shared":null}}}`)
	want("with one removed", "other/foreign third/own!")
	if _, err := one.fleet.Tenant("acme").Rollback(t.Context(), first.Hash, &fleet.Change{Expected: next.Hash}); err != nil {
		t.Fatal(err)
	}
	want("rolled back", "acme/own! acme/shared other/foreign third/own!")
	fewer := strings.NewReplacer("agents: {clerk:", "agents: {clark: {model_id: m}, clerk:", "foreign: {", "further: {").Replace(flowBase)
	if _, err := one.change(fewer); err != nil {
		t.Fatal(err)
	}
	want("over another base", "acme/own! acme/shared other/further third/own!")
	broken := strings.NewReplacer("agent: clerk", "agent: clark", "clerk: {model_id: m, system_prompt: base", "clark: {model_id: m, system_prompt: base").Replace(flowBase)
	out, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: []byte(broken), Expected: one.fleet.Running().Hash, ExceptBroken: true})
	if err != nil || len(out.Tenants.Broken) != 2 || out.Tenants.Broken[0].Findings[0].Path != "workflows.own.steps[0].agent.agent" {
		t.Fatalf("published %+v: %v", out, err)
	}
	want("held over the earlier base", "acme/own! acme/shared other/foreign third/own!")
	one.mustPublishFor("acme", `{"version":1}`)
	want("without any", "acme/shared other/foreign third/own!")
	for _, again := range []*process{p.start(t, flowBase)} {
		if got := again.flowsOf(""); got != "acme/shared other/foreign third/own!" {
			t.Errorf("after a restart all are %q", got)
		}
	}
}

// countingStore counts overlay operations.
type countingStore struct {
	store.Store
	marks, others atomic.Int64
}

func (s *countingStore) OverlayMark(ctx context.Context) (uint64, error) {
	s.marks.Add(1)
	return s.Store.OverlayMark(ctx)
}

func (s *countingStore) Overlay(ctx context.Context, tenant string) (store.OverlayState, error) {
	s.others.Add(1)
	return s.Store.Overlay(ctx, tenant)
}

func (s *countingStore) WorkflowOverlays(ctx context.Context, after string, limit int) ([]store.TenantOverlay, error) {
	s.others.Add(1)
	return s.Store.WorkflowOverlays(ctx, after, limit)
}

func (s *countingStore) Revision(ctx context.Context, tenant, hash string) (*store.Revision, error) {
	s.others.Add(1)
	return s.Store.Revision(ctx, tenant, hash)
}

func (s *countingStore) Overlays(ctx context.Context, q store.OverlayQuery) (store.OverlayPage, error) {
	s.others.Add(1)
	return s.Store.Overlays(ctx, q)
}

// Tenants without workflows cost nothing: the clock reads at most one number a second and only
// overlays that have workflows and have changed.
func TestTenantsWithoutWorkflowsCostTheClockNothing(t *testing.T) {
	t.Parallel()
	counted := &countingStore{Store: newStore(t)}
	p := program{store: counted, fromStore: true, risky: true, exec: turntest.Scripts(nil)}
	one := p.start(t, flowBase)
	for i := range 10_000 {
		_, err := counted.PublishRevision(t.Context(), &store.PublishRevision{Revision: store.Revision{
			Tenant: fmt.Sprintf("t%05d", i), Hash: "h", Document: []byte(overlayOf("x")),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tenant := range []string{"acme", "third"} {
		one.mustPublishFor(tenant, `{"version":1,"workflows":{"own":{`+askStep+`}}}`)
	}
	one.flowsOf("")
	counted.marks.Store(0)
	counted.others.Store(0)
	for range 1000 {
		one.flowsOf("")
	}
	if n := counted.others.Load(); n != 0 {
		t.Errorf("overlays were asked for %d times", n)
	}
	if n := counted.marks.Load(); n > 5 {
		t.Errorf("the mark was asked for %d times", n)
	}
	one.mustPublishFor("third", `{"version":1,"workflows":{"other":{`+askStep+`}}}`)
	counted.others.Store(0)
	if got := one.flowsOf(""); got != "acme/own! acme/shared other/foreign third/other!" {
		t.Errorf("then they are %q", got)
	}
	if n := counted.others.Load(); n != 2 { // the list, and the changed one
		t.Errorf("overlays were asked for %d times after a change", n)
	}
}
