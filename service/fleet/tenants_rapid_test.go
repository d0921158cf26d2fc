package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"pgregory.net/rapid"
)

// declaredFromScratch returns the hash of a fresh build of documents; with two documents, the
// second is the tenant's overlay.
func (p *program) declaredFromScratch(t *rapid.T, tenant string, documents ...[]byte) string {
	var sources []config.Source
	for i, document := range documents {
		sources = append(sources, config.Source{Name: fmt.Sprintf("document%d", i), Data: document})
	}
	file, found := config.Parse(sources, p.options())
	if found.HasErrors() {
		t.Fatal(found)
	}
	if len(documents) > 1 {
		file.Workflows = workflowsFromScratch(t, file.Workflows, tenant, documents[1])
	}
	rev, err := p.newBuilder().WithConfig(file).BuildRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rev.Set().DeclaredHash()
}

// workflowsFromScratch returns a tenant's workflows among merged ones: the base's workflows that
// belong to it, then its overlay's.
func workflowsFromScratch(t *rapid.T, merged []*workflow.Workflow, tenant string, overlay []byte) (list []*workflow.Workflow) {
	entries, err := config.DocumentEntries(overlay, "workflows")
	if err != nil {
		t.Fatal(err)
	}
	isOwn := func(w *workflow.Workflow) bool {
		return slices.ContainsFunc(entries, func(e config.DocumentEntry) bool { return e.ID == w.ID })
	}
	for _, w := range merged {
		if owner, _ := w.Owner(); owner == tenant && !isOwn(w) {
			list = append(list, w)
		}
	}
	for _, e := range entries {
		for _, w := range merged {
			if w.ID == e.ID {
				w.Tenant = tenant
				list = append(list, w)
			}
		}
	}
	return list
}

// drawBase draws a base. Its agents extend each other.
func drawBase(t *rapid.T) string {
	var text strings.Builder
	text.WriteString("version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}, n: {provider_id: p, upstream_model: up}}\ntenants: {may: {models: [\"*\"], workflows: {}}}\nagents:\n")
	for i := range rapid.IntRange(1, 6).Draw(t, "agents") {
		fmt.Fprintf(&text, "  a%d: {system_prompt: \"%d\"", i, rapid.IntRange(0, 3).Draw(t, "prompt"))
		if i > 0 && rapid.Bool().Draw(t, "extends") {
			fmt.Fprintf(&text, ", extends: a%d", rapid.IntRange(0, i-1).Draw(t, "base"))
		} else {
			text.WriteString(", model_id: m")
		}
		text.WriteString("}\n")
	}
	text.WriteString("workflows:\n")
	for i := range rapid.IntRange(1, 3).Draw(t, "workflows") {
		fmt.Fprintf(&text, "  w%d: {tenant: %s, schedules: [{cron: \"@daily\"}], steps: [{id: s, agent: {agent: a0, prompt: \"%d ${{ input }}\"}}]}\n",
			i, rapid.SampledFrom([]string{"t", "u", "default"}).Draw(t, "of"), rapid.IntRange(0, 2).Draw(t, "does"))
	}
	return text.String()
}

// drawOverlay draws a possibly invalid overlay.
func drawOverlay(t *rapid.T) string {
	agent := func() string { return fmt.Sprintf("a%d", rapid.IntRange(0, 6).Draw(t, "agent")) }
	var patches, own []string
	for range rapid.IntRange(0, 3).Draw(t, "patches") {
		patch := rapid.SampledFrom([]string{`{"system_prompt":"p"}`, `{"system_prompt":"q","max_rounds":3}`, `{"model_id":"n"}`, `{"max_rounds":null}`, `null`}).Draw(t, "patch")
		patches = append(patches, fmt.Sprintf("%q:%s", agent(), patch))
	}
	for range rapid.IntRange(0, 2).Draw(t, "own") {
		own = append(own, fmt.Sprintf(`"%s%s":{"extends":%q,"system_prompt":"own"}`, rapid.SampledFrom([]string{"x", "a"}).Draw(t, "kind"), rapid.SampledFrom([]string{"0", "1", "9"}).Draw(t, "id"), agent()))
	}
	flows, flowPatches := drawWorkflows(t)
	return fmt.Sprintf(`{"version":1,"agents":{%s},"workflows":{%s},"patches":{"agents":{%s},"workflows":{%s}}}`,
		strings.Join(own, ","), flows, strings.Join(patches, ","), flowPatches)
}

// drawWorkflows draws workflows of an overlay, and patches of workflows.
func drawWorkflows(t *rapid.T) (own, patches string) {
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x0", "x1", "w0", "w2"}), 0, 2, rapid.ID).Draw(t, "own workflows") {
		own += fmt.Sprintf(`,%q:{"events":[{"type":"e"}],"steps":[{"id":"s","agent":{"agent":"a%d","prompt":"own"}}]}`, id, rapid.IntRange(0, 2).Draw(t, "agent"))
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"w0", "w1", "w2"}), 0, 2, rapid.ID).Draw(t, "patched workflows") {
		patch := rapid.SampledFrom([]string{`{"schedules":[{"cron":"@hourly"}]}`, `{"description":"d","schedules":null}`, `null`}).Draw(t, "patch")
		patches += fmt.Sprintf(",%q:%s", id, patch)
	}
	return strings.TrimPrefix(own, ","), strings.TrimPrefix(patches, ",")
}

// Whatever is edited, patched and rolled back, a tenant's published revision equals a build from
// scratch of the base and the overlay.
func TestWhatTenantsSeeIsABuildFromScratch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := program{store: newStore(t), fromStore: true, exec: answersDone()}
		one := p.start(t, drawBase(rt))
		published := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			tenant := one.fleet.Tenant(rapid.SampledFrom([]string{"t", "u"}).Draw(rt, "tenant"))
			change := &fleet.Change{}
			if current, err := tenant.Current(rt.Context()); err == nil {
				change.Expected = current.Hash
			}
			var err error
			switch rapid.SampledFrom([]string{"overlay", "base", "rollback"}).Draw(rt, "step") {
			case "overlay":
				change.Document = []byte(drawOverlay(rt))
				_, err = tenant.Publish(rt.Context(), change)
			case "base":
				_, err = one.fleet.Publish(rt.Context(), &fleet.Change{Document: []byte(drawBase(rt)), Expected: one.fleet.Running().Hash})
			case "rollback":
				page, listErr := tenant.Revisions(rt.Context(), fleet.Page{})
				if listErr != nil || len(page.Revisions) == 0 {
					continue
				}
				_, err = tenant.Rollback(rt.Context(), rapid.SampledFrom(page.Revisions).Draw(rt, "revision").Hash, change)
			}
			_, invalid := errors.AsType[*fleet.InvalidError](err)
			_, broken := errors.AsType[*fleet.BrokenTenantsError](err)
			if err != nil && !invalid && !broken {
				rt.Fatal(err)
			}
			base, err := one.fleet.Current(rt.Context())
			if err != nil {
				rt.Fatal(err)
			}
			for _, name := range []string{"t", "u"} {
				documents := [][]byte{base.Document}
				if current, err := one.fleet.Tenant(name).Current(rt.Context()); err == nil {
					documents = append(documents, current.Document)
					published++
				}
				rev, err := one.fleet.AcquireTenant(rt.Context(), name)
				if err != nil {
					rt.Fatal(err)
				}
				if rev.Set().DeclaredHash() != p.declaredFromScratch(rt, name, documents...) {
					rt.Fatalf("%s sees something else than %s", name, documents)
				}
				rev.Release()
			}
		}
		one.stop()
	})
}
