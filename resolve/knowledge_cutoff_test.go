package resolve_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// knows adds a model that declares a knowledge cutoff, or none.
func knows(id, cutoff string) draft {
	return func(d *registry.Draft) {
		d.Models.Put(id, &spec.Model{ID: id, ProviderID: "p", UpstreamModel: "up", KnowledgeCutoff: cutoff})
	}
}

// pooled adds the pool "pool" with the given members.
func pooled(members ...string) draft {
	pool := &spec.Pool{ID: "pool"}
	for _, id := range members {
		pool.Members = append(pool.Members, spec.PoolMember{ModelID: id})
	}
	return func(d *registry.Draft) { d.Pools.Put("pool", pool) }
}

// on lets an agent run on a model or pool.
func on(id string) func(*spec.Agent) { return func(a *spec.Agent) { a.ModelID = id } }

func cutoffSection(raw string) func(*spec.Agent) {
	return func(a *spec.Agent) { a.Sections = spec.Sections{resolve.KnowledgeCutoffKey: []byte(raw)} }
}

func TestWhichAgentsAreToldTheKnowledgeCutoff(t *testing.T) {
	t.Parallel()
	inherited := func(raw string) draft {
		return func(d *registry.Draft) {
			d.Defaults = &spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{resolve.KnowledgeCutoffKey: []byte(raw)}}}
		}
	}
	filtered := func(a *spec.Agent) { a.PluginIDs, a.ActiveHookFilter = []string{"audit"}, []string{"audit"} }
	useless := func(why string) []string {
		return []string{"no-effect: agents.a.sections.knowledge_cutoff_context: the model is told no knowledge cutoff: " + why}
	}
	for name, tt := range map[string]struct {
		drafts []draft
		told   bool
		want   []string
	}{
		"a model without one":                     {[]draft{agent("a")}, false, nil},
		"a model with one":                        {[]draft{knows("m", "2024-10"), agent("a")}, true, nil},
		"a filter that does not name it":          {[]draft{knows("m", "2024-10"), plugin("audit", made{}), agent("a", filtered)}, true, nil},
		"an empty section":                        {[]draft{knows("m", "2024-10"), agent("a", cutoffSection(`{}`))}, true, nil},
		"enabled":                                 {[]draft{knows("m", "2024-10"), agent("a", cutoffSection(`{"enabled": true}`))}, true, nil},
		"not enabled":                             {[]draft{knows("m", "2024-10"), agent("a", cutoffSection(`{"enabled": false}`))}, false, nil},
		"not enabled by default":                  {[]draft{knows("m", "2024-10"), inherited(`{"enabled": false}`), agent("a")}, false, nil},
		"enabled over a default":                  {[]draft{knows("m", "2024-10"), inherited(`{"enabled": false}`), agent("a", cutoffSection(`{"enabled": true}`))}, true, nil},
		"a pool of one mind":                      {[]draft{knows("m", "2024-10"), knows("n", "2024-10"), pooled("m", "n"), agent("a", on("pool"))}, true, nil},
		"a pool with several":                     {[]draft{knows("m", "2024-10"), knows("n", "2024-11"), pooled("m", "n"), agent("a", on("pool"))}, false, nil},
		"a pool where one does not say":           {[]draft{knows("m", "2024-10"), knows("n", ""), pooled("m", "n"), agent("a", on("pool"))}, false, nil},
		"a pool where the first of three differs": {[]draft{knows("m", "2024-10"), knows("n", "2024-11"), knows("o", "2024-11"), pooled("m", "n", "o"), agent("a", on("pool"))}, false, nil},
		"asked for, without one":                  {[]draft{agent("a", cutoffSection(`{"enabled": true}`))}, false, useless(`model "m" declares none`)},
		"asked for by an empty section":           {[]draft{agent("a", cutoffSection(`{}`))}, false, useless(`model "m" declares none`)},
		"asked for, in a pool with several":       {[]draft{knows("m", "2024-10"), knows("n", ""), pooled("m", "n"), agent("a", on("pool"), cutoffSection(`{}`))}, false, useless(`the members of pool "pool" do not all declare the same one`)},
		"refused, without one":                    {[]draft{agent("a", cutoffSection(`{"enabled": false}`))}, false, nil},
		"a default that does not fit":             {[]draft{inherited(`{"enabled": true}`), agent("a")}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.drafts...)
			if diff := cmp.Diff(tt.want, said(check(t, rev))); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			for what, opts := range map[string]resolve.Options{"plain": {}, "with overrides": {Overrides: resolve.Overrides{MaxRounds: new(3)}}} {
				p, err := resolve.Resolve(t.Context(), rev, "a", opts)
				if err != nil {
					t.Fatal(err)
				}
				if told := slices.Contains(names(p), "runtime:knowledge-cutoff"); told != tt.told {
					t.Errorf("%s: the plugins are %q", what, names(p))
				}
			}
		})
	}
}

func TestASectionOfTheKnowledgeCutoffIsChecked(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"enabled": "yes"}`: "agents.a.sections.knowledge_cutoff_context.enabled",
		`{"enable": true}`:   "agents.a.sections.knowledge_cutoff_context.enable",
		`true`:               "agents.a.sections.knowledge_cutoff_context",
	} {
		got := places(check(t, revision(t, knows("m", "2024-10"), agent("a", cutoffSection(raw)))))
		if diff := cmp.Diff([]string{"invalid-plugin-config " + want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

// declareModel adds a model that declares what it writes.
func declareModel(id string, output ...spec.Modality) draft {
	return func(d *registry.Draft) {
		d.Models.Put(id, &spec.Model{ID: id, ProviderID: "p", UpstreamModel: "up", Modalities: &spec.Modalities{Output: output}})
	}
}

func TestAnAgentNeedsAModelThatWritesText(t *testing.T) {
	t.Parallel()
	summarized := func(id string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.ContextPolicy = &spec.ContextPolicy{SummaryModelID: id, AutocompactThreshold: new(1000)}
		}
	}
	formed := func(a *spec.Agent) {
		a.OutputSchema = &spec.OutputSchema{Name: "mood", Schema: []byte(`{"type":"string"}`)}
	}
	const image, audio, text = spec.ModalityImage, spec.ModalityAudio, spec.ModalityText
	no := func(path, model, output string) []string {
		return []string{"invalid-value: " + path + ": model \"" + model + "\" cannot answer agents: its modalities.output is " + output + ", without text"}
	}
	for name, tt := range map[string]struct {
		drafts []draft
		want   []string
	}{
		"not declared":         {[]draft{agent("a")}, nil},
		"an empty list":        {[]draft{declareModel("m"), agent("a")}, nil},
		"text":                 {[]draft{declareModel("m", text), agent("a", formed)}, nil},
		"text and more":        {[]draft{declareModel("m", image, text), agent("a")}, nil},
		"other things":         {[]draft{declareModel("m", image, audio), agent("a")}, no("agents.a.model_id", "m", "image, audio")},
		"with a form":          {[]draft{declareModel("m", image), agent("a", formed)}, no("agents.a.model_id", "m", "image")},
		"a member":             {[]draft{declareModel("n", audio), pooled("m", "n"), agent("a", on("pool"))}, no("model_pools.pool.members[1].model_id", "n", "audio")},
		"two agents, one pool": {[]draft{declareModel("n", audio), pooled("m", "n"), agent("a", on("pool")), agent("b", on("pool"))}, no("model_pools.pool.members[1].model_id", "n", "audio")},
		"summaries":            {[]draft{declareModel("n", image), agent("a", summarized("n"))}, no("agents.a.context_policy.summary_model_id", "n", "image")},
		"no agent runs it":     {[]draft{declareModel("n", image), agent("a")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.drafts...)
			if diff := cmp.Diff(tt.want, said(check(t, rev))); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			_, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{})
			if (err == nil) != (tt.want == nil) {
				t.Errorf("Resolve: %v", err)
			}
			if d, ok := errors.AsType[diag.Diagnostic](err); ok && (len(d.Related) != 1 || d.Related[0].Path == "") {
				t.Errorf("the error does not lead to the model: %+v", d.Related)
			}
		})
	}
}
