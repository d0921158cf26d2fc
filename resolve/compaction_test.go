package resolve_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// effective returns a policy of which all is known, as changed.
func effective(change func(*spec.ContextPolicy)) *spec.ContextPolicy {
	p := &spec.ContextPolicy{
		MaxContextTokens: new(200_000), MaxOutputTokens: new(16_384), MinRecentMessages: new(10), EnablePromptCache: new(true),
		CompactionMode: "keep_recent_raw_suffix", CompactionRawSuffixMessages: new(2), SummaryMaxTokens: new(1024), MinSavingsRatio: new(0.3),
		ToolResultPreview: &spec.ToolResultPreview{MinTokens: new(2048), MaxChars: new(1600), MaxLines: new(24)},
	}
	change(p)
	return p
}

func TestTheContextPolicyOfAPlan(t *testing.T) {
	t.Parallel()
	section := func(raw string) spec.Sections { return spec.Sections{"compaction": []byte(raw)} }
	small := func(d *registry.Draft) {
		d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up", ContextWindow: new(1000), MaxOutputTokens: new(100)})
	}
	own := func(p *spec.ContextPolicy) func(*spec.Agent) { return func(a *spec.Agent) { a.ContextPolicy = p } }
	compacts := func(raw string) func(*spec.Agent) { return func(a *spec.Agent) { a.Sections = section(raw) } }
	defaults := func(a spec.Agent) draft {
		return func(d *registry.Draft) { d.Defaults = &spec.Defaults{Agent: a} }
	}
	plain := func(*spec.ContextPolicy) {}
	for name, tt := range map[string]struct {
		drafts []draft
		want   *spec.ContextPolicy
	}{
		"none":             {[]draft{agent("a")}, nil},
		"an empty one":     {[]draft{agent("a", own(&spec.ContextPolicy{}))}, effective(plain)},
		"an empty section": {[]draft{agent("a", compacts(`{}`))}, effective(func(p *spec.ContextPolicy) { p.AutocompactThreshold = new(200_000 - 16_384) })},
		"a policy and a section": {
			[]draft{agent("a", own(&spec.ContextPolicy{MaxContextTokens: new(100_000), MinRecentMessages: new(3), ToolResultPreview: &spec.ToolResultPreview{MaxLines: new(2)}}),
				compacts(`{"summary_model": "m", "min_recent_messages": 3, "tool_result_preview": {"max_chars": 5}}`))},
			effective(func(p *spec.ContextPolicy) {
				p.MaxContextTokens, p.AutocompactThreshold, p.MinRecentMessages = new(100_000), new(100_000-16_384), new(3)
				p.SummaryModelID, p.ToolResultPreview.MaxLines, p.ToolResultPreview.MaxChars = "m", new(2), new(5)
			}),
		},
		"a policy with a threshold and a section": {
			[]draft{agent("a", own(&spec.ContextPolicy{AutocompactThreshold: new(500)}), compacts(`{"min_savings_ratio": 0.5}`))},
			effective(func(p *spec.ContextPolicy) { p.AutocompactThreshold, p.MinSavingsRatio = new(500), new(0.5) }),
		},
		"clamped to the model": {[]draft{small, agent("a", own(&spec.ContextPolicy{AutocompactThreshold: new(5000)}))}, effective(func(p *spec.ContextPolicy) {
			p.MaxContextTokens, p.MaxOutputTokens, p.AutocompactThreshold = new(1000), new(100), new(900)
		})},
		"a part of a section": {[]draft{agent("a", compacts(`{"autocompact_threshold": 500, "summary_model": "m", "tool_result_preview": {"max_lines": 2}}`))}, effective(func(p *spec.ContextPolicy) {
			p.AutocompactThreshold, p.SummaryModelID, p.ToolResultPreview.MaxLines = new(500), "m", new(2)
		})},
		"a section of the defaults": {
			[]draft{agent("a"), defaults(spec.Agent{Sections: section(`{"autocompact_threshold": 500}`)})},
			effective(func(p *spec.ContextPolicy) { p.AutocompactThreshold = new(500) }),
		},
		"a policy over a section of the defaults": {
			[]draft{agent("a", own(&spec.ContextPolicy{MinRecentMessages: new(3)})), defaults(spec.Agent{Sections: section(`{"autocompact_threshold": 500}`)})},
			effective(func(p *spec.ContextPolicy) { p.MinRecentMessages = new(3) }),
		},
		"a section over a policy of the defaults": {
			[]draft{agent("a", compacts(`{"autocompact_threshold": 500}`)), defaults(spec.Agent{ContextPolicy: &spec.ContextPolicy{MinRecentMessages: new(3)}})},
			effective(func(p *spec.ContextPolicy) { p.AutocompactThreshold = new(500) }),
		},
		"a section over one of the defaults": {
			[]draft{agent("a", compacts(`{"autocompact_threshold": 500}`)), defaults(spec.Agent{Sections: section(`{"min_recent_messages": 3}`)})},
			effective(func(p *spec.ContextPolicy) { p.AutocompactThreshold = new(500) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.drafts...)
			plan, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, plan.Agent.ContextPolicy); diff != "" {
				t.Errorf("the policy (-want +got):\n%s", diff)
			}
			if plan.Agent.Sections["compaction"] != nil {
				t.Error("the section stands beside the policy that it filled")
			}
			// What was resolved may be resolved again, for overrides or as an agent.
			again, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{Overrides: resolve.Overrides{MaxRounds: new(3)}})
			if err != nil || !cmp.Equal(tt.want, again.Agent.ContextPolicy) {
				t.Errorf("with overrides: %v", err)
			}
			if clamped := name == "clamped to the model"; (len(plan.Warnings) > 0) != clamped || plan.Warnings.Count(diag.Warning) > 1 {
				t.Errorf("warnings: %v", plan.Warnings)
			}
			declared, _ := rev.Set().Agent("a")
			if declared.ContextPolicy != nil && declared.ContextPolicy.MaxOutputTokens != nil {
				t.Error("the declared agent was modified")
			}
		})
	}
}

func TestWhatIsWrongWithASectionCompaction(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy *spec.ContextPolicy
		raw    string
		want   []string
	}{
		"an unknown key":    {nil, `{"treshold": 5}`, []string{`invalid-plugin-config: agents.a.sections.compaction.treshold: section "compaction": "treshold" is not a known key`}},
		"a number":          {nil, `{"min_savings_ratio": 2}`, []string{`invalid-plugin-config: agents.a.sections.compaction.min_savings_ratio: section "compaction": it is 2, but must be 1 or less`}},
		"a mode":            {nil, `{"compaction_mode": "x"}`, nil},
		"no room":           {nil, `{"max_context_tokens": 5, "max_output_tokens": 5}`, []string{`invalid-plugin-config: agents.a.sections.compaction.max_output_tokens: section "compaction": max_output_tokens is 5, which leaves nothing of max_context_tokens 5 for the conversation`}},
		"two names":         {nil, `{"summary_model": "m", "summary_model_id": "m"}`, []string{`invalid-plugin-config: agents.a.sections.compaction.summary_model: section "compaction": summary_model and summary_model_id are two names of one setting`}},
		"no such model":     {nil, `{"summary_model": "gone"}`, []string{`model-not-found: agents.a.sections.compaction.summary_model: model "gone" is not defined`}},
		"nor by its own id": {nil, `{"summary_model_id": "gone"}`, []string{`model-not-found: agents.a.sections.compaction.summary_model_id: model "gone" is not defined`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, agent("a", func(a *spec.Agent) {
				a.ContextPolicy, a.Sections = tt.policy, spec.Sections{"compaction": []byte(tt.raw)}
			}))
			_, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{})
			var got []string
			for _, d := range diag.FromError(err) {
				got = append(got, string(d.Code)+": "+d.Path+": "+d.Message)
			}
			if tt.want == nil {
				if len(got) != 1 {
					t.Errorf("got %q", got)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestContradictionsOfPolicyAndSectionNameBothPlaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy         *spec.ContextPolicy
		raw            string
		place, related string
		message        string
	}{
		"a number": {
			&spec.ContextPolicy{MinRecentMessages: new(3)}, `{"min_recent_messages": 4}`,
			"sections.compaction.min_recent_messages", "context_policy.min_recent_messages",
			"context_policy and sections.compaction set min_recent_messages to different values",
		},
		"a nested number": {
			&spec.ContextPolicy{ToolResultPreview: &spec.ToolResultPreview{MaxLines: new(1)}}, `{"tool_result_preview": {"max_lines": 2}}`,
			"sections.compaction.tool_result_preview.max_lines", "context_policy.tool_result_preview.max_lines",
			"context_policy and sections.compaction set tool_result_preview.max_lines to different values",
		},
		"a field with two names": {
			&spec.ContextPolicy{SummaryModelID: "m"}, `{"summary_model": "m2"}`,
			"sections.compaction.summary_model", "context_policy.summary_model_id",
			"context_policy and sections.compaction set summary_model_id to different values",
		},
		"an answer as large as the window": {
			&spec.ContextPolicy{MaxContextTokens: new(5)}, `{"max_output_tokens": 5}`,
			"sections.compaction.max_output_tokens", "context_policy.max_context_tokens",
			"max_output_tokens is 5, which leaves nothing of max_context_tokens 5 for the conversation",
		},
		"a window as small as the answer": {
			&spec.ContextPolicy{MaxOutputTokens: new(5)}, `{"max_context_tokens": 5}`,
			"context_policy.max_output_tokens", "sections.compaction.max_context_tokens",
			"max_output_tokens is 5, which leaves nothing of max_context_tokens 5 for the conversation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, agent("a", func(a *spec.Agent) {
				a.ContextPolicy, a.Sections = tt.policy, spec.Sections{"compaction": []byte(tt.raw)}
			}))
			_, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{})
			list := diag.FromError(err)
			if len(list) != 1 {
				t.Fatalf("got %v", err)
			}
			d := list[0]
			if d.Code != diag.InvalidValue || d.Path != "agents.a."+tt.place || d.Message != `agent "a": `+tt.message {
				t.Errorf("got %s at %s: %s", d.Code, d.Path, d.Message)
			}
			if len(d.Related) != 1 || d.Related[0].Path != "agents.a."+tt.related {
				t.Errorf("related places: %+v", d.Related)
			}
		})
	}
}
