package agentruns

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// vendor is a provider of a vendor.
type vendor string

func (v vendor) Vendor() string { return string(v) }

func (vendor) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// declared publishes a revision.
func declared(t testing.TB, edit func(*registry.Draft)) *registry.Set {
	t.Helper()
	rev, err := registry.NewStore(nil).PublishUnchecked(t.Context(), func(d *registry.Draft) error {
		edit(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev.Set()
}

// catalog declares models of two providers, one of which has two, and a pool.
func catalog(d *registry.Draft) {
	d.Providers.Put("main", vendor("openai"))
	d.Providers.Put("other", vendor(""))
	cached := 0.5
	d.Models.Put("fast", &spec.Model{
		ID: "fast", ProviderID: "main", UpstreamModel: "gpt-5.5", ContextWindow: new(1000),
		Pricing: &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 2, CachedInputPerMillion: &cached},
	})
	d.Models.Put("slow", &spec.Model{ID: "slow", ProviderID: "main", UpstreamModel: "gpt-5.5-pro", Pricing: &spec.Pricing{Currency: "EUR", InputPerMillion: 1}})
	d.Models.Put("same", &spec.Model{ID: "same", ProviderID: "other", UpstreamModel: "gpt-5.5-pro", ContextWindow: new(500), Pricing: &spec.Pricing{InputPerMillion: 3}})
	d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "fast"}, {ModelID: "same"}, {ModelID: "gone"}}})
}

func TestTheListOfModels(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(modelsOf(declared(t, catalog), "slow").listBody())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"models":[` +
		`{"id":"platform:fast","label":"OpenAI gpt-5.5 (platform)","provider":"openai","vendorModelId":"gpt-5.5","source":"platform_offering","contextWindowTokens":1000,"pricing":{"inputPer1MUsd":1,"outputPer1MUsd":2,"cacheReadPer1MUsd":0.5}},` +
		`{"id":"platform:slow","label":"OpenAI gpt-5.5-pro (platform)","provider":"openai","vendorModelId":"gpt-5.5-pro","source":"platform_offering","contextWindowTokens":null,"pricing":null},` +
		`{"id":"platform:same","label":"other gpt-5.5-pro (platform)","provider":"other","vendorModelId":"gpt-5.5-pro","source":"platform_offering","contextWindowTokens":500,"pricing":{"inputPer1MUsd":3,"outputPer1MUsd":0,"cacheReadPer1MUsd":3}},` +
		`{"id":"platform:pool","label":"Pool pool (platform)","provider":"openai","vendorModelId":"pool","source":"platform_offering","contextWindowTokens":500,"pricing":null}` +
		`],"defaultModelId":"platform:slow"}`
	if string(raw) != want {
		t.Errorf("it is\n%s\nnot\n%s", raw, want)
	}
	raw, err = json.Marshal(modelsOf(declared(t, func(*registry.Draft) {}), "").listBody())
	if err != nil || string(raw) != `{"models":[],"defaultModelId":null}` {
		t.Errorf("without models it is %s, %v", raw, err)
	}
}

func TestWhatAModelIsCalled(t *testing.T) {
	t.Parallel()
	m := modelsOf(declared(t, catalog), "slow")
	for id, want := range map[string]string{
		"": "slow", "fast": "fast", "platform:fast": "fast", "pool": "pool", "platform:pool": "pool",
		"gpt-5.5": "fast", "provider:main:gpt-5.5": "fast", "main:gpt-5.5": "fast", "openai:gpt-5.5": "fast",
		"provider:other": "same", "provider:main:gpt-5.5-pro": "slow", "other:gpt-5.5-pro": "same",
	} {
		if got, err := m.findModel(id); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", id, got, err, want)
		}
	}
	for id, want := range map[string]requestError{
		"gpt-5.5-pro":   {codeInvalidModel, `modelId "gpt-5.5-pro" may mean any of 2 models`, "name one of the candidates", []string{"platform:slow", "platform:same"}},
		"provider:main": {codeInvalidModel, `modelId "provider:main" may mean any of 2 models`, "name one of the candidates", []string{"platform:fast", "platform:slow"}},
		"fsat":          {codeInvalidModel, `modelId "fsat" is not known`, `did you mean "fast"?`, []string{"platform:fast", "platform:slow", "platform:same", "platform:pool"}},
		"provider:pool": {codeInvalidModel, `modelId "provider:pool" is not known`, ``, nil},
		"platform:":     {codeInvalidModel, `modelId "platform:" is not known`, ``, nil},
	} {
		_, err := m.findModel(id)
		e := refused(t, err)
		if e.Code != want.Code || e.Message != want.Message || want.Candidates != nil && (e.Hint != want.Hint || !slices.Equal(e.Candidates, want.Candidates)) {
			t.Errorf("%q: %+v", id, e)
		}
	}
}

func TestWhichModelIsTheDefault(t *testing.T) {
	t.Parallel()
	one := func(d *registry.Draft) {
		d.Providers.Put("main", vendor("openai"))
		d.Models.Put("fast", &spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "up"})
	}
	byDefaults := func(d *registry.Draft) {
		catalog(d)
		d.Defaults = &spec.Defaults{Agent: spec.Agent{ModelID: "same"}}
	}
	for name, c := range map[string]struct {
		set             *registry.Set
		preferred, want string
	}{
		"the one that is preferred":    {declared(t, byDefaults), "fast", "fast"},
		"that of the defaults":         {declared(t, byDefaults), "", "same"},
		"the only one":                 {declared(t, one), "", "fast"},
		"none of many":                 {declared(t, catalog), "", ""},
		"none where it does not exist": {declared(t, one), "gone", ""},
	} {
		m := modelsOf(c.set, c.preferred)
		if m.standard != c.want {
			t.Errorf("%s is %q", name, m.standard)
		}
		if _, err := m.findModel(""); (err == nil) != (c.want != "") {
			t.Errorf("%s: %v", name, err)
		} else if err != nil && (refused(t, err).Code != codeInvalidModel || len(refused(t, err).Candidates) == 0) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
