package google

import (
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

func TestGenerationOf(t *testing.T) {
	for name, want := range map[string]generation{
		"gemini-2.5-pro":                          {major: 2, pro: true},
		"models/gemini-2.5-pro":                   {major: 2, pro: true},
		"publishers/google/models/Gemini-2.5-Pro": {major: 2, pro: true},
		"gemini-2.5-flash-lite-preview-09-2025":   {major: 2},
		"gemini-2.0-flash-001":                    {major: 2, first: true},
		"gemini-1.5-pro-002":                      {major: 1, pro: true},
		"gemini-live-2.5-flash-preview":           {major: 2},
		"gemini-robotics-er-1.5-preview":          {major: 1},
		"gemini-3-pro-preview":                    {major: 3, first: true, pro: true},
		"gemini-3.1-pro":                          {major: 3, pro: true},
		"gemini-3-flash-preview":                  {major: 3, first: true},
		"gemini-12-nova":                          {major: 12, first: true},
		"gemini-pro-latest":                       {major: newest, pro: true},
		"gemini-flash-latest":                     {major: newest},
		"gemini-exp-1206":                         {major: newest},
		"gemini-99999999999999999999":             {major: newest},
		"tunedModels/mine-2.5":                    {major: newest},
		"gemma-3-27b-it":                          {major: newest},
		"":                                        {major: newest},
	} {
		if got := generationOf(name); got != want {
			t.Errorf("%q is of %+v, want %+v", name, got, want)
		}
	}
}

// TestEffort checks the request to every kind of model.
func TestEffort(t *testing.T) {
	const (
		thinking = `,"thinkingConfig":{"includeThoughts":true,`
		silent   = `,"thinkingConfig":{`
	)
	level := func(l string) string { return `"thinkingLevel":"` + l + `"}` }
	for _, tt := range []struct {
		effort                              spec.Effort
		flash25, pro25, flash3, pro3, pro31 string
	}{
		{spec.Effort{Level: "off"}, silent + `"thinkingBudget":0}`, silent + `"thinkingBudget":128}`,
			silent + level("MINIMAL"), silent + level("LOW"), silent + level("LOW")},
		{spec.Effort{Level: "none"}, silent + `"thinkingBudget":0}`, silent + `"thinkingBudget":128}`,
			silent + level("MINIMAL"), silent + level("LOW"), silent + level("LOW")},
		{spec.Effort{Level: "low"}, thinking + `"thinkingBudget":1024}`, thinking + `"thinkingBudget":1024}`,
			thinking + level("LOW"), thinking + level("LOW"), thinking + level("LOW")},
		{spec.Effort{Level: "medium"}, thinking + `"thinkingBudget":8192}`, thinking + `"thinkingBudget":8192}`,
			thinking + level("MEDIUM"), thinking + level("HIGH"), thinking + level("MEDIUM")},
		{spec.Effort{Level: "high"}, thinking + `"thinkingBudget":24576}`, thinking + `"thinkingBudget":24576}`,
			thinking + level("HIGH"), thinking + level("HIGH"), thinking + level("HIGH")},
		{spec.Effort{Level: "max"}, thinking + `"thinkingBudget":-1}`, thinking + `"thinkingBudget":-1}`,
			thinking + level("HIGH"), thinking + level("HIGH"), thinking + level("HIGH")},
		{spec.Effort{Percent: 1}, thinking + `"thinkingBudget":512}`, thinking + `"thinkingBudget":512}`,
			thinking + level("LOW"), thinking + level("LOW"), thinking + level("LOW")},
		{spec.Effort{Percent: 50}, thinking + `"thinkingBudget":12288}`, thinking + `"thinkingBudget":12288}`,
			thinking + level("MEDIUM"), thinking + level("HIGH"), thinking + level("MEDIUM")},
		{spec.Effort{Percent: 100}, thinking + `"thinkingBudget":24576}`, thinking + `"thinkingBudget":24576}`,
			thinking + level("HIGH"), thinking + level("HIGH"), thinking + level("HIGH")},
		{spec.Effort{Budget: 2000}, thinking + `"thinkingBudget":2000}`, thinking + `"thinkingBudget":2000}`,
			thinking + level("LOW"), thinking + level("LOW"), thinking + level("LOW")},
		{spec.Effort{Budget: 10000}, thinking + `"thinkingBudget":10000}`, thinking + `"thinkingBudget":10000}`,
			thinking + level("MEDIUM"), thinking + level("HIGH"), thinking + level("MEDIUM")},
		{spec.Effort{Budget: 1 << 40}, thinking + `"thinkingBudget":2147483647}`, thinking + `"thinkingBudget":2147483647}`,
			thinking + level("HIGH"), thinking + level("HIGH"), thinking + level("HIGH")},
		{spec.Effort{}, "", "", "", "", ""},
	} {
		for name, want := range map[string]string{
			"gemini-2.5-flash": tt.flash25, "models/gemini-2.5-pro": tt.pro25,
			"gemini-3-flash-preview": tt.flash3, "gemini-3-pro-preview": tt.pro3, "gemini-3.1-pro": tt.pro31,
		} {
			req := hello()
			req.Model, req.ReasoningEffort, req.MaxOutputTokens = name, &tt.effort, 7
			got := vendortest.JSON(t, encoded(t, req).GenerationConfig)
			if want = `{"maxOutputTokens":7` + want + `}`; got != want {
				t.Errorf("the effort %s is told %s as %s, want %s", tt.effort, name, got, want)
			}
		}
	}
}
