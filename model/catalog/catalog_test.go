package catalog_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestAModelIsFoundByItsVendorAndName(t *testing.T) {
	got, ok := catalog.Find("anthropic", "claude-haiku-4-5-20251001")
	if !ok {
		t.Fatal("the model is not listed")
	}
	want := &catalog.Model{
		Vendor: "anthropic", Name: "claude-haiku-4-5-20251001", ContextWindow: 200000, MaxOutput: 64000,
		Modalities:      spec.Modalities{Input: []spec.Modality{"text", "image", "pdf"}, Output: []spec.Modality{"text"}},
		Pricing:         &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 5, CachedInputPerMillion: new(0.1), Currency: "USD"},
		KnowledgeCutoff: got.KnowledgeCutoff, Retires: got.Retires,
		Traits: []string{"tools", "reasoning", "structured_output", "prompt_cache"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"claude-haiku", "", "gpt-5"} {
		if m, ok := catalog.Find("anthropic", name); ok {
			t.Errorf("%q is %+v", name, m)
		}
	}
}

// TestTheTableIsSound checks each line: a limit, non-negative prices, dates and known words.
func TestTheTableIsSound(t *testing.T) {
	date := regexp.MustCompile(`^(\d{4}-\d\d(-\d\d)?)?$`)
	if d := catalog.Date(); len(d) != len("2026-11-28") || !date.MatchString(d) {
		t.Errorf("the date is %q", d)
	}
	vendors := map[string]int{}
	for _, m := range catalog.All() {
		vendors[m.Vendor]++
		model := spec.Model{
			ID: "m", ProviderID: "p", UpstreamModel: m.Name, ContextWindow: &m.ContextWindow, Modalities: &m.Modalities,
			KnowledgeCutoff: m.KnowledgeCutoff, Pricing: m.Pricing,
		}
		if found := model.Validate(); len(found) > 0 {
			t.Errorf("%s %s: %v", m.Vendor, m.Name, found)
		}
		if m.MaxOutput < 0 || !date.MatchString(m.Retires) || !slices.Contains(m.Modalities.Output, spec.ModalityText) {
			t.Errorf("%+v", m)
		}
		for _, trait := range m.Traits {
			if !slices.Contains([]string{"tools", "parallel_tools", "reasoning", "structured_output", "prompt_cache", "no_sampling"}, trait) {
				t.Errorf("%s %s has the trait %q", m.Vendor, m.Name, trait)
			}
		}
	}
	for _, vendor := range strings.Fields("openai anthropic google vertex azure_openai bedrock mistral deepseek groq xai") {
		if vendors[vendor] == 0 {
			t.Errorf("no model of %s is listed", vendor)
		}
		delete(vendors, vendor)
	}
	if len(vendors) > 0 {
		t.Errorf("there are models of %v", vendors)
	}
}

func TestAVendorIsFoundByItsHost(t *testing.T) {
	for host, want := range map[string]string{
		"api.openai.com": "openai", "API.OpenAI.com": "openai", "acme.openai.azure.com": "azure_openai", "api.mistral.ai": "mistral",
		"api.openai.com.evil.example": "", "gateway.example": "", "localhost": "", "": "", "openai.azure.com": "",
	} {
		if got := catalog.VendorOf(host); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}
