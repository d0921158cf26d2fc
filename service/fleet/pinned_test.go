package fleet_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

const (
	oldConfig = "version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\n" +
		"agents: {clerk: {model_id: m, system_prompt: old, plugin_ids: [cautious]}, other: {model_id: m, excluded_tools: [risky]}}\n"
	newConfig = "version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\n" +
		"agents: {clerk: {model_id: m, system_prompt: new, plugin_ids: [cautious]}}\n"
	withoutClerk = "version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\n" +
		"agents: {other: {model_id: m, plugin_ids: [cautious]}}\n"
	moreConfig = "version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\n" +
		"agents: {clerk: {model_id: m, system_prompt: new, plugin_ids: [cautious]}, other: {model_id: m}}\n"
	withoutModel = "version: 1\nproviders: {q: {type: fake}}\nmodels: {n: {provider_id: q, upstream_model: elsewhere}}\n" +
		"agents: {clerk: {model_id: n, plugin_ids: [cautious]}}\n"
)

// A turn that waits for a person continues as it began, in a process started with another
// configuration.
func TestAnApprovedTurnOutlivesItsConfiguration(t *testing.T) {
	for name, text := range map[string]string{"another prompt": newConfig, "no agent": withoutClerk, "no model": withoutModel} {
		t.Run(name, func(t *testing.T) {
			p := program{store: newStore(t), risky: true, exec: asksOnce()}
			first := p.start(t, oldConfig)
			began := first.runtime.Revision().Hash()
			id := first.wait("clerk")
			first.stop()
			second := p.start(t, text)
			turn := second.approve(id)
			if turn.Status != store.Succeeded || turn.Revision != began || turn.Outcome.Response != "all done" {
				t.Errorf("the turn is %s in revision %q: %+v", turn.Status, turn.Revision, turn.Outcome)
			}
			if got := second.prompts(); got != "old, old" {
				t.Errorf("the prompts are %s", got)
			}
		})
	}
}

func TestAnApprovedTurnOutlivesItsConfigurationTwice(t *testing.T) {
	p := program{store: newStore(t), risky: true, exec: asksOnce()}
	first := p.start(t, oldConfig)
	id := first.wait("clerk")
	first.stop()
	p.start(t, newConfig).stop()
	third := p.start(t, withoutClerk)
	if turn := third.approve(id); turn.Status != store.Succeeded {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
}

// A component that the program no longer has ends the turn and is named.
func TestATurnThatNeedsMoreThanThereIsFails(t *testing.T) {
	for name, c := range map[string]struct {
		gone   service.GonePolicy
		status store.Status
	}{
		"fail":   {"", store.Failed},
		"latest": {service.GoneLatest, store.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			p := program{store: newStore(t), risky: true, exec: asksOnce(), gone: c.gone}
			first := p.start(t, oldConfig)
			began := first.runtime.Revision()
			id := first.wait("clerk")
			first.stop()
			p.risky = false
			second := p.start(t, newConfig)
			turn := second.approve(id)
			if turn.Status != c.status {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			if c.status != store.Failed {
				return
			}
			out := turn.Outcome
			if out.Termination.Code != service.CodeRevisionGone || !strings.Contains(out.Termination.Detail, `tool "risky"`) {
				t.Errorf("it ended with %+v", out.Termination)
			}
			if out.Steps != 1 || out.Usage.Total() != 11 || out.Revision != began.Number() || out.Agent != "clerk" {
				t.Errorf("what it came to is %+v", out)
			}
		})
	}
}

// An agent that does not see the tool continues without it.
func TestATurnGoesOnWithoutWhatItDoesNotNeed(t *testing.T) {
	p := program{store: newStore(t), risky: true, exec: asksOnce()}
	first := p.start(t, oldConfig)
	first.wait("clerk")
	hash := first.runtime.Revision().Hash()
	first.stop()
	p.risky = false
	second := p.start(t, newConfig)
	rev, err := second.fleet.Acquire(t.Context(), hash, "other")
	if err != nil {
		t.Fatal(err)
	}
	rev.Release()
	if _, err := second.fleet.Acquire(t.Context(), hash, "clerk"); err == nil {
		t.Error("an agent that sees the tool goes on without it")
	}
}

// Files that contain secrets are not stored: turns cannot continue in their revisions.
func TestASecretInAFileIsNotStored(t *testing.T) {
	p := program{store: newStore(t), risky: true, exec: asksOnce()}
	secret := strings.Replace(oldConfig, "{type: fake}", "{type: fake, key: plain-secret-1}", 1)
	one := p.start(t, secret)
	one.wait("clerk")
	if _, err := p.store.CurrentRevision(t.Context(), ""); err == nil {
		t.Error("the document is stored")
	}
	if r := one.fleet.Running(); r.Hash != "" {
		t.Errorf("it runs %+v", r)
	}
}

func TestTheSameFilesAreTheSameRevision(t *testing.T) {
	p := program{store: newStore(t), risky: true, exec: asksOnce()}
	p.start(t, oldConfig).stop()
	p.start(t, "# the same\n"+oldConfig).stop()
	page, err := p.store.Revisions(t.Context(), store.RevisionQuery{})
	if err != nil || len(page.Revisions) != 1 {
		t.Fatalf("%d revisions: %v", len(page.Revisions), err)
	}
	r, err := p.store.CurrentRevision(t.Context(), "")
	if err != nil || r.Hash != config.HashDocument(r.Document) || r.Author != "file" {
		t.Errorf("the revision is %+v: %v", r, err)
	}
}
