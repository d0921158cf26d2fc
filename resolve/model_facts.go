package resolve

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/spec"
)

// ModelFact is something that is known of a model, and who says so.
type ModelFact struct {
	Model string `json:"model"`
	// Field is the field of the model that would declare it.
	Field string `json:"field"`
	Value string `json:"value"`
	// Source is configuration, or catalog with the day on which the catalog was written.
	Source string `json:"source"`
}

const factDeclared = "configuration"

// listedModel returns what the catalog says of a model; nil if it is not listed.
func (x *index) listedModel(m *spec.Model) *catalog.Model {
	exec, _ := x.set.Providers.Get(m.ProviderID)
	listed, ok := exec.(catalog.Listed)
	if !ok {
		return nil
	}
	found, ok := catalog.Find(listed.CatalogVendor(), m.UpstreamModel)
	if !ok {
		return nil
	}
	return found
}

// completeModel returns a model with the limits and prices that it does not declare from the
// catalog. Modalities are not added: what the catalog does not list is not refused.
func completeModel(m *spec.Model, found *catalog.Model) *spec.Model {
	if found == nil {
		return m
	}
	own := *m
	if own.ContextWindow == nil && found.ContextWindow > 0 {
		own.ContextWindow = &found.ContextWindow
	}
	if own.MaxOutputTokens == nil && found.MaxOutput > 0 {
		own.MaxOutputTokens = &found.MaxOutput
	}
	if own.Pricing == nil {
		own.Pricing = found.Pricing
	}
	return &own
}

// modelFacts returns what is known of a model.
func (x *index) modelFacts(m *spec.Model) []ModelFact {
	var facts []ModelFact
	found := x.listedModel(m)
	if found == nil {
		found = &catalog.Model{}
	}
	add := func(field, declared, listed string) {
		switch {
		case declared != "":
			facts = append(facts, ModelFact{m.ID, field, declared, factDeclared})
		case listed != "":
			facts = append(facts, ModelFact{m.ID, field, listed, "catalog of " + catalog.Date()})
		}
	}
	add("context_window", limitText(m.ContextWindow), limitText(&found.ContextWindow))
	add("max_output_tokens", limitText(m.MaxOutputTokens), limitText(&found.MaxOutput))
	add("modalities", modalitiesText(m.Modalities), modalitiesText(&found.Modalities))
	add("pricing", priceText(m.Pricing), priceText(found.Pricing))
	add("knowledge_cutoff", m.KnowledgeCutoff, found.KnowledgeCutoff)
	add("retires", "", found.Retires)
	return facts
}

func limitText(limit *int) string {
	if limit == nil || *limit == 0 {
		return ""
	}
	return fmt.Sprintf("%d", *limit)
}

func modalitiesText(m *spec.Modalities) string {
	if m == nil || len(m.Input)+len(m.Output) == 0 {
		return ""
	}
	return "reads " + spec.JoinModalities(m.Input, ", ") + "; writes " + spec.JoinModalities(m.Output, ", ")
}

func priceText(p *spec.Pricing) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%g in, %g out", p.InputPerMillion, p.OutputPerMillion)
	if p.CachedInputPerMillion != nil {
		text += fmt.Sprintf(", %g cached", *p.CachedInputPerMillion)
	}
	return text + " " + p.CurrencyCode() + " per million"
}

// factsOf returns what is known of the models that an agent runs on.
func (x *index) factsOf(t *template) []ModelFact {
	var facts []ModelFact
	if t.model != nil {
		return x.modelFacts(t.model)
	}
	if t.pool == nil {
		return nil
	}
	for i := range t.pool.Members {
		if m, ok := x.set.Models.Get(t.pool.Members[i].ModelID); ok {
			facts = slices.Concat(facts, x.modelFacts(m))
		}
	}
	return facts
}
