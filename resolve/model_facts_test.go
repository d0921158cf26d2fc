package resolve_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	diffs "github.com/google/go-cmp/cmp"
)

// listed is a provider of a vendor whose models are in the catalog.
type listed struct {
	silent
	vendor string
}

func (l *listed) CatalogVendor() string { return l.vendor }

// served adds a model of a vendor.
func served(id, vendor, name string, change ...func(*spec.Model)) draft {
	provider := cmp.Or(vendor, "gateway")
	m := &spec.Model{ID: id, ProviderID: provider, UpstreamModel: name}
	for _, c := range change {
		c(m)
	}
	return func(d *registry.Draft) {
		d.Providers.Put(provider, &listed{vendor: vendor})
		d.Models.Put(id, m)
	}
}

func TestAModelTakesFromTheCatalogWhatItDoesNotDeclare(t *testing.T) {
	t.Parallel()
	known, _ := catalog.Find("openai", "gpt-4o")
	ofCatalog := "catalog of " + catalog.Date()
	declared := func(m *spec.Model) {
		m.ContextWindow, m.Pricing = new(1000), &spec.Pricing{InputPerMillion: 2, OutputPerMillion: 4, Currency: "EUR"}
	}
	in := func(currency string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.Budgets, a.ContextPolicy = &spec.Budgets{MaxCost: new(1.0), Currency: currency}, &spec.ContextPolicy{}
		}
	}
	for name, tt := range map[string]struct {
		drafts []draft
		window int
		price  float64
		want   map[string]string
	}{
		"all": {
			[]draft{served("m", "openai", "gpt-4o"), agent("a", in("USD"))}, known.ContextWindow, known.Pricing.InputPerMillion,
			map[string]string{"context_window": ofCatalog, "max_output_tokens": ofCatalog, "modalities": ofCatalog, "pricing": ofCatalog, "knowledge_cutoff": ofCatalog},
		},
		"the rest": {
			[]draft{served("m", "openai", "gpt-4o", declared), agent("a", in("EUR"))}, 1000, 2,
			map[string]string{"context_window": "configuration", "max_output_tokens": ofCatalog, "modalities": ofCatalog, "pricing": "configuration", "knowledge_cutoff": ofCatalog},
		},
		"of each member of a pool": {
			[]draft{served("m", "openai", "gpt-4o"), served("n", "", "gpt-4o", declared, func(m *spec.Model) { m.Pricing.Currency = "USD" }), pooled("m", "n"), agent("a", on("pool"), in("USD"))},
			1000, known.Pricing.InputPerMillion,
			map[string]string{"context_window": "configuration", "max_output_tokens": ofCatalog, "modalities": ofCatalog, "pricing": "configuration", "knowledge_cutoff": ofCatalog},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.drafts...)
			if got := said(check(t, rev)); len(got) > 0 {
				t.Errorf("the diagnostics are %q", got)
			}
			p := plan(t, rev, "a")
			if got := *p.Agent.ContextPolicy.MaxContextTokens; got != min(tt.window, 200_000) {
				t.Errorf("the window has %d tokens", got)
			}
			if got := p.Local.Pricing["m"].InputPerMillion; got != tt.price {
				t.Errorf("the price is %v", got)
			}
			e, err := resolve.Explain(t.Context(), rev, "a")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, f := range e.Facts {
				if f.Field != "retires" {
					got[f.Field] = f.Source
				}
			}
			if diff := diffs.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatTheCatalogDoesNotListStaysUnknown(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]draft{
		"a gateway":         served("m", "", "gpt-4o"),
		"a name of its own": served("m", "openai", "my-deployment"),
		"another kind":      base,
	} {
		rev := revision(t, d, agent("a", func(a *spec.Agent) { a.Budgets = &spec.Budgets{MaxCost: new(1.0)} }))
		if got := said(check(t, rev)); len(got) != 1 || !strings.HasPrefix(got[0], costWarning+`model "m" has no pricing`) {
			t.Errorf("%s: the diagnostics are %q", name, got)
		}
	}
}

// A limit of the catalog bounds what is asked for, but asks for nothing itself.
func TestTheCatalogChangesNoRequestByItself(t *testing.T) {
	t.Parallel()
	known, _ := catalog.Find("openai", "gpt-4o")
	rev := revision(t, served("m", "openai", "gpt-4o"), agent("a"), agent("b", cutoffSection(`{}`)))
	p := plan(t, rev, "a")
	if p.Local.MaxOutput != 0 || p.Local.ModelOutput != known.MaxOutput || slices.Contains(names(p), "runtime:knowledge-cutoff") {
		t.Errorf("an answer has %d of %d tokens, the plugins are %q", p.Local.MaxOutput, p.Local.ModelOutput, names(p))
	}
	if p := plan(t, rev, "b"); !slices.Contains(names(p), "runtime:knowledge-cutoff") {
		t.Errorf("an agent that asks for the cutoff has the plugins %q", names(p))
	}
}
