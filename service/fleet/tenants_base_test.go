package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
)

// A new base is checked with the overlays of all tenants before it takes effect.
func TestANewBaseIsProvenWithAllOverlays(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	one.mustPublishFor("fine", overlayOf("fine"))
	one.mustPublishFor("hurt", `{"version":1,"patches":{"agents":{"third":{"model_id":"big","system_prompt":"hurt"}}}}`)
	next := strings.Replace(tenantBase, "models: [big]", "models: []", 1)
	next = strings.Replace(next, "system_prompt: base", "system_prompt: next", 1)
	last := 0
	change := fleet.Change{Document: []byte(next), Expected: one.fleet.Running().Hash, Progress: func(done, total int) { last = 10*done + total }}
	before := one.fleet.Running()
	_, err := one.fleet.Publish(t.Context(), &change)
	broken, ok := errors.AsType[*fleet.BrokenTenantsError](err)
	if !ok || len(broken.Broken) != 1 || broken.Broken[0].Tenant != "hurt" || broken.Broken[0].Findings[0].Path != "patches.agents.third.model_id" {
		t.Fatalf("%v %+v", err, broken)
	}
	if last != 22 || one.fleet.Running() != before {
		t.Errorf("progress ends with %d, and it runs %+v", last, one.fleet.Running())
	}
	change.DryRun = true
	dry, err := one.fleet.Publish(t.Context(), &change)
	if err != nil || dry.Tenants.Checked != 2 || len(dry.Tenants.Broken) != 1 {
		t.Errorf("the dry run: %+v: %v", dry, err)
	}
	change.DryRun, change.ExceptBroken = false, true
	out, err := one.fleet.Publish(t.Context(), &change)
	if err != nil || len(out.Tenants.Broken) != 1 {
		t.Fatalf("except the broken: %+v: %v", out, err)
	}
	if got := one.tenantPrompt("hurt", "third") + one.tenantPrompt("hurt", "clerk") + one.tenantPrompt("fine", "clerk") + one.tenantPrompt("none", "clerk"); got != "hurtbasefinenext" {
		t.Errorf("then the prompts are %s", got)
	}
	held, err := one.fleet.Tenant("hurt").HeldOver(t.Context())
	if err != nil || held != before.Hash {
		t.Errorf("it is over %s: %v", held, err)
	}
	if turn := one.run(service.Caller{Tenant: "hurt", Subject: "hal"}, "clerk"); turn.Status != store.Succeeded {
		t.Errorf("its turn is %s: %+v", turn.Status, turn.Outcome)
	}
	one.mustPublishFor("hurt", overlayOf("healed"))
	if got := one.tenantPrompt("hurt", "clerk") + one.tenantPrompt("hurt", "third"); got != "healedthird" {
		t.Errorf("healed it has %s", got)
	}
}

// A publisher that leaves while overlays are checked publishes nothing.
func TestAPublisherThatLeavesPublishesNothing(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	for _, tenant := range []string{"a", "b", "c", "d", "e", "f"} {
		one.mustPublishFor(tenant, overlayOf(tenant))
	}
	before := one.fleet.Running()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := strings.Replace(tenantBase, "system_prompt: base", "system_prompt: next", 1)
	_, err := one.fleet.Publish(ctx, &fleet.Change{Document: []byte(next), Expected: before.Hash, Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) || one.fleet.Running() != before {
		t.Errorf("it runs %+v: %v", one.fleet.Running(), err)
	}
	if current, err := p.store.CurrentRevision(t.Context(), ""); err != nil || current.Hash != before.Hash {
		t.Errorf("the store has %+v: %v", current, err)
	}
}

// Only the parts that an overlay changes are recompiled.
func TestOverlaysShareWhatTheyDoNotChange(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	one.mustPublishFor("acme", `{"version":1,"patches":{"agents":{"third":{"system_prompt":"own"}}}}`)
	rev, err := one.fleet.AcquireTenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer rev.Release()
	base := one.runtime.Revision().Set()
	if changed := rev.Set().Agents.Changed(base.Agents); len(changed) != 1 || changed[0] != "third" {
		t.Errorf("the agents that differ are %v", changed)
	}
	if changed := rev.Set().Models.Changed(base.Models); len(changed) != 0 {
		t.Errorf("the models that differ are %v", changed)
	}
}

// The cache never exceeds its maximum number of tenants.
func TestTheCacheOfTenantsIsBounded(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone(), tenantCache: 2}
	one := p.start(t, tenantBase)
	for _, tenant := range []string{"a", "b", "c", "a", "b", "c"} {
		if one.tenantPrompt(tenant, "clerk") == "base" {
			one.mustPublishFor(tenant, overlayOf(tenant))
		}
		if got := one.tenantPrompt(tenant, "clerk"); got != tenant {
			t.Errorf("%s has the prompt %s", tenant, got)
		}
	}
}

// An unused tenant retains nothing of an earlier base.
func TestAnIdleTenantLetsGoOfAnEarlierBase(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	one.mustPublishFor("idle", overlayOf("idle"))
	if got := one.tenantPrompt("idle", "clerk"); got != "idle" {
		t.Fatal(got)
	}
	earlier := one.runtime.Revision()
	if _, err := one.change(strings.Replace(tenantBase, "system_prompt: third", "system_prompt: fourth", 1)); err != nil {
		t.Fatal(err)
	}
	one.until("the earlier base is closed", func() bool {
		used := earlier.Retain()
		if used {
			earlier.Release()
		}
		return !used
	})
	if got := one.tenantPrompt("idle", "clerk"); got != "idle" {
		t.Errorf("then it has the prompt %s", got)
	}
}
