package fleet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/tools"
	httptool "github.com/agentruntime/agentruntime/tools/http"
)

const sharedTools = `
version: 1
providers: {p: {type: fake}}
models: {m: {provider_id: p, upstream_model: up}}
tools:
  find: {type: http, description: Finds., url: "https://a.example/"}
  keep: {type: http, description: Keeps., url: "https://b.example/"}
agents:
  clerk: {model_id: m, system_prompt: base}
tenants: {may: {}}
`

// A new base that removes a tool is published only with permission, and names the tenants whose
// agents lose the tool or whose overlays get warnings.
func TestABaseNamesWhatTenantsLose(t *testing.T) {
	t.Parallel()
	p := program{store: newStore(t), fromStore: true, exec: answersDone(), tools: []tools.Kind{httptool.Kind()}}
	one := p.start(t, sharedTools)
	one.mustPublishFor("acme", overlayOf("acme"))
	one.mustPublishFor("warned", `{"version":1,"agents":{"own":{"extends":"clerk","allowed_tools":["find","keep"]}}}`)
	one.mustPublishFor("same", `{"version":1,"agents":{"own":{"extends":"clerk","allowed_tools":["keep"]}}}`)
	before := one.fleet.Running().Hash
	document := []byte(strings.Replace(sharedTools, `  find: {type: http, description: Finds., url: "https://a.example/"}`+"\n", "", 1))
	out, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: document, Expected: before, DryRun: true})
	if err != nil || out.Tenants == nil || len(out.Tenants.Changed) != 2 || !out.Diff.Lost {
		t.Fatalf("%+v: %v", out, err)
	}
	acme, warned := out.Tenants.Changed[0], out.Tenants.Changed[1]
	if acme.Tenant != "acme" || !slices.Equal(acme.Diff.Agents[0].Lost(), []string{"find"}) || acme.Diff.Widened {
		t.Errorf("acme: %+v", acme.Diff)
	}
	isUnmatched := func(d diag.Diagnostic) bool {
		return d.Code == diag.UnmatchedTool && d.Path == "agents.own.allowed_tools[0]"
	}
	if warned.Tenant != "warned" || !warned.Diff.Lost || !slices.ContainsFunc(warned.Warnings, isUnmatched) {
		t.Errorf("warned: %+v, %v", warned.Diff, warned.Warnings)
	}
	_, err = one.fleet.Publish(t.Context(), &fleet.Change{Document: document, Expected: before, FailOn: fleet.FailOnLost})
	lost, ok := errors.AsType[*fleet.EffectError](err)
	if !ok || lost.Effect != fleet.FailOnLost || !strings.Contains(lost.Error(), "agent clerk (find), agent clerk (find) of tenant acme, agent own (find) of tenant warned") || one.fleet.Running().Hash != before {
		t.Fatalf("it is published: %v", err)
	}
	if _, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: document, Expected: before}); err != nil {
		t.Error(err)
	}
}
