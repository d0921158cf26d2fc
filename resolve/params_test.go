package resolve_test

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// picky is a provider without seeds and tiers.
type picky struct{ silent }

func (picky) CheckParams(_ string, p *model.Params) []model.ParamFault {
	faults := p.MissingParams("seed", "service_tier")
	if p.Thinks() && p.TopP != nil {
		faults = append(faults, model.ParamFault{Name: "top_p", Reason: "is left out", Omitted: true})
	}
	return faults
}

func (picky) CheckEdits(_ string, edits *spec.RequestEdits, _ ...*spec.RequestEdits) (list diag.List) {
	if edits != nil {
		list = append(list, diag.New(diag.NoEffect, "omit[0]", "no field %s", edits.Omit[0]).WithSeverity(diag.Warning))
	}
	return list
}

func TestSettingsThatAProviderLacksAreErrors(t *testing.T) {
	t.Parallel()
	setUp := func(d *registry.Draft) {
		d.Providers.Put("p", &picky{})
		d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "u", ModelOptions: spec.ModelOptions{ServiceTier: "flex", Temperature: new(0.1)}})
	}
	rev := revision(t, setUp, agent("a", func(a *spec.Agent) { a.Seed, a.TopP = new(1), new(0.5) }))
	err := refused(t, rev, "a")
	for _, want := range []string{`agent "a" sets seed for provider "p": the provider does not take it`, `model "m" sets service_tier for provider "p"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say: %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "temperature") || strings.Contains(err.Error(), "top_p") {
		t.Errorf("%v is about a setting that the provider takes", err)
	}
}

func TestSettingsThatAreLeftOutAreWarnings(t *testing.T) {
	t.Parallel()
	effort := &spec.Effort{Level: "low"}
	for name, tt := range map[string]struct {
		model spec.ModelOptions
		agent func(*spec.Agent)
		want  string
	}{
		"of the agent": {spec.ModelOptions{}, func(a *spec.Agent) { a.ReasoningEffort, a.TopP = effort, new(0.5) },
			`warning agents.a.top_p agent "a" sets top_p for provider "p": top_p is left out`},
		"of the model": {spec.ModelOptions{TopP: new(0.5)}, func(a *spec.Agent) { a.ReasoningEffort = effort },
			`warning models.m.top_p model "m" sets top_p for provider "p": top_p is left out`},
		"an edit of the model": {spec.ModelOptions{Request: &spec.RequestEdits{Omit: []string{"x"}}}, func(*spec.Agent) {}, "warning models.m.request.omit[0] no field x"},
		"an edit of the agent": {spec.ModelOptions{}, func(a *spec.Agent) { a.Request = &spec.RequestEdits{Omit: []string{"x"}} }, "warning agents.a.request.omit[0] no field x"},
		"without effort":       {spec.ModelOptions{TopP: new(0.5)}, func(*spec.Agent) {}, ""},
	} {
		rev := revision(t, func(d *registry.Draft) {
			d.Providers.Put("p", &picky{})
			d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "u", ModelOptions: tt.model})
		}, agent("a", tt.agent))
		e, err := resolve.Explain(t.Context(), rev, "a")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range e.Diagnostics {
			if d.Code == diag.NoEffect {
				got += fmt.Sprintf("%s %s %s", d.Severity, d.Path, d.Message)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// recorder keeps the parameters of its requests.
type recorder struct {
	silent
	params model.Params
}

func (r *recorder) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	r.params = req.Params
	return r.silent.Stream(ctx, req)
}

// TestChangedModelOptionsReachTheNextRequests publishes a change of nothing but the options of a
// model. Agents on it and on its pool are not carried over as they were.
func TestChangedModelOptionsReachTheNextRequests(t *testing.T) {
	t.Parallel()
	asked := &recorder{}
	store := registry.NewStore(resolve.Check)
	publish := func(edits ...draft) *registry.Revision {
		rev, err := store.Publish(t.Context(), func(d *registry.Draft) error {
			for _, edit := range edits {
				edit(d)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	options := func(o spec.ModelOptions) draft {
		return func(d *registry.Draft) {
			d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "u", ModelOptions: o})
		}
	}
	publish(func(d *registry.Draft) {
		d.Providers.Put("p", asked)
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
	}, options(spec.ModelOptions{}), agent("a", func(a *spec.Agent) { a.ModelID = "m" }), agent("b", func(a *spec.Agent) { a.ModelID = "pool" }))
	for i, o := range []spec.ModelOptions{{Temperature: new(0.5)}, {Temperature: new(0.7)}, {Stop: []string{"END"}}, {Seed: new(3)}, {Verbosity: "low"}, {}} {
		rev := publish(options(o))
		for _, id := range []string{"a", "b"} {
			plan, err := resolve.Resolve(t.Context(), rev, id, resolve.Options{})
			if err != nil {
				t.Fatal(err)
			}
			asked.params = model.Params{}
			for _, err := range plan.Local.Model.Stream(t.Context(), &model.Request{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if want := model.OptionParams(&o); !reflect.DeepEqual(asked.params, want) {
				t.Errorf("change %d: agent %s asks with %+v, want %+v", i, id, asked.params, want)
			}
		}
	}
}
