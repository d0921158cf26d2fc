package resolve_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// picky is a provider without seeds and tiers.
type picky struct{ silent }

func (picky) UnsupportedParams(p model.Params) []string { return p.SetAmong("seed", "service_tier") }

func TestSettingsThatAProviderLacksAreErrors(t *testing.T) {
	t.Parallel()
	setUp := func(d *registry.Draft) {
		d.Providers.Put("p", &picky{})
		d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "u", ModelOptions: spec.ModelOptions{ServiceTier: "flex", Temperature: new(0.1)}})
	}
	rev := revision(t, setUp, agent("a", func(a *spec.Agent) { a.Seed, a.TopP = new(1), new(0.5) }))
	err := refused(t, rev, "a")
	for _, want := range []string{`agent "a" sets seed, which provider "p" of model "m" does not take`, `model "m" sets service_tier`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say: %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "temperature") || strings.Contains(err.Error(), "top_p") {
		t.Errorf("%v is about a setting that the provider takes", err)
	}
}
