package spec_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

// sound returns a model that is right, as changed.
func sound(change func(*spec.Model)) *spec.Model {
	m := &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"}
	change(m)
	return m
}

func TestModelValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model *spec.Model
		want  []string
	}{
		"a small one": {sound(func(*spec.Model) {}), nil},
		"nothing": {&spec.Model{}, []string{
			"missing-field provider_id: provider_id is required", "missing-field upstream_model: upstream_model is required",
		}},
		"all of the window":          {sound(func(m *spec.Model) { m.ContextWindow, m.MaxOutputTokens = new(100), new(100) }), nil},
		"an output without a window": {sound(func(m *spec.Model) { m.MaxOutputTokens = new(100) }), nil},
		"more than the window": {sound(func(m *spec.Model) { m.ContextWindow, m.MaxOutputTokens = new(100), new(101) }), []string{
			"invalid-value max_output_tokens: max_output_tokens is 101, more than the context window of 100",
		}},
		"no tokens": {sound(func(m *spec.Model) { m.ContextWindow, m.MaxOutputTokens = new(0), new(-1) }), []string{
			"invalid-value context_window: context_window is 0; it must be 1 or more",
			"invalid-value max_output_tokens: max_output_tokens is -1; it must be 1 or more",
		}},
		"modalities": {sound(func(m *spec.Model) {
			m.Modalities = &spec.Modalities{Input: []spec.Modality{"text", "smell", "text"}, Output: []spec.Modality{"audio", "video", "pdf", "image", "image"}}
		}), []string{
			`invalid-value modalities.input[1]: modality "smell" is unknown; allowed are text, image, audio, video and pdf`,
			`invalid-value modalities.input[2]: modality "text" is listed twice`,
			`invalid-value modalities.output[4]: modality "image" is listed twice`,
		}},
		"tags that are kept": {sound(func(m *spec.Model) { m.ReasoningTags = spec.KeepTags }), nil},
		"unknown tags": {sound(func(m *spec.Model) { m.ReasoningTags = "drop" }), []string{
			`invalid-value reasoning_tags: reasoning_tags is "drop"; allowed are read and keep`,
		}},
		"free of charge": {sound(func(m *spec.Model) { m.Pricing = &spec.Pricing{CachedInputPerMillion: new(0.0)} }), nil},
		"prices": {sound(func(m *spec.Model) {
			m.Pricing = &spec.Pricing{InputPerMillion: math.NaN(), OutputPerMillion: math.Inf(1), CachedInputPerMillion: new(-0.5)}
		}), []string{
			"invalid-value pricing.input_per_million: input_per_million is NaN; it must be 0 or more",
			"invalid-value pricing.output_per_million: output_per_million is +Inf; it must be 0 or more",
			"invalid-value pricing.cached_input_per_million: cached_input_per_million is -0.5; it must be 0 or more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.model.Validate(), tt.want...)
		})
	}
}

func TestKnowledgeCutoffIsADateOfTheCalendar(t *testing.T) {
	t.Parallel()
	for cutoff, right := range map[string]bool{
		"": true, "2024-10": true, "2024-10-31": true, "2024-02-29": true, "2000-02-29": true,
		"2023-02-29": false, "1900-02-29": false, "2024-02-30": false, "2024-13": false, "2024-00": false, "2024-04-31": false, "2024-10-00": false,
		"2024": false, "2024-1": false, "24-10": false, "2024/10": false, "2024-10-31T00:00:00Z": false, " 2024-10": false, "October 2024": false,
	} {
		list := sound(func(m *spec.Model) { m.KnowledgeCutoff = cutoff }).Validate()
		if (list == nil) != right {
			t.Errorf("knowledge_cutoff %q: %v", cutoff, list)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		y, m, d := rapid.IntRange(1, 9999).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t, "month"), rapid.IntRange(1, 31).Draw(t, "day")
		text := fmt.Sprintf("%04d-%02d-%02d", y, m, d)
		exists := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Day() == d
		list := sound(func(m *spec.Model) { m.KnowledgeCutoff = text }).Validate()
		if (list == nil) != exists {
			t.Fatalf("knowledge_cutoff %s: %v", text, list)
		}
	})
}
