package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// ModelFact is a known property of a model with its source.
type ModelFact struct {
	Model string `json:"model"`
	// Field is the field of the model that would declare it.
	Field string `json:"field"`
	Value string `json:"value"`
	// Source is configuration, server, or catalog with the catalog's date.
	Source string `json:"source"`
}

// The sources that take precedence over the catalog, in order.
const (
	factDeclared = "configuration"
	factStated   = "server"
)

// listedModel returns the catalog entry of a model; nil if none exists.
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

// completeModel fills in undeclared limits from the server, and limits and prices from the catalog. It
// does not add modalities, because a modality missing from the catalog must not be rejected.
func (x *index) completeModel(m *spec.Model, found *catalog.Model) *spec.Model {
	stated, ok := x.set.Limits[m.ID]
	if !ok && found == nil {
		return m
	}
	own := *m
	if own.ContextWindow == nil && stated.ContextWindow > 0 {
		own.ContextWindow = &stated.ContextWindow
	}
	if own.MaxOutputTokens == nil && stated.MaxOutputTokens > 0 {
		own.MaxOutputTokens = &stated.MaxOutputTokens
	}
	if found == nil {
		return &own
	}
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

func (x *index) capabilitiesOf(models ...*spec.Model) capabilities {
	var c capabilities
	for i, m := range models {
		c.DeclaredOutput = minLimit(c.DeclaredOutput, m.MaxOutputTokens)
		listed, found := m.KnowledgeCutoff, x.listedModel(m)
		if found != nil {
			listed = cmp.Or(listed, found.KnowledgeCutoff)
		}
		if i == 0 {
			c.KnowledgeCutoff, c.ListedCutoff = m.KnowledgeCutoff, listed
		}
		if m.KnowledgeCutoff != c.KnowledgeCutoff {
			c.KnowledgeCutoff = ""
		}
		if listed != c.ListedCutoff {
			c.ListedCutoff = ""
		}
		m = x.completeModel(m, found)
		c.ContextWindow = minLimit(c.ContextWindow, m.ContextWindow)
		c.MaxOutput = minLimit(c.MaxOutput, m.MaxOutputTokens)
		if m.Pricing != nil {
			if c.Pricing == nil {
				c.Pricing = make(map[string]*spec.Pricing)
			}
			c.Pricing[m.ID] = m.Pricing
		}
	}
	return c
}

// minLimit returns the smaller of two limits. A limit of 0 means none, and declared may be nil.
func minLimit(limit int, declared *int) int {
	if declared == nil || limit > 0 && limit <= *declared {
		return limit
	}
	return *declared
}

// ModelFacts returns the known properties of the models of a revision.
func ModelFacts(rev *registry.Revision) []ModelFact {
	x := indexOf(rev)
	var facts []ModelFact
	for _, m := range x.set.Models.All() {
		facts = append(facts, x.modelFacts(m)...)
	}
	return facts
}

// modelFacts returns the known properties of a model.
func (x *index) modelFacts(m *spec.Model) []ModelFact {
	var facts []ModelFact
	found, stated := x.listedModel(m), x.set.Limits[m.ID]
	if found == nil {
		found = &catalog.Model{}
	}
	add := func(field, declared, stated, listed string) {
		switch {
		case declared != "":
			facts = append(facts, ModelFact{m.ID, field, declared, factDeclared})
		case stated != "":
			facts = append(facts, ModelFact{m.ID, field, stated, factStated})
		case listed != "":
			facts = append(facts, ModelFact{m.ID, field, listed, "catalog of " + catalog.Date()})
		}
	}
	add("context_window", limitText(m.ContextWindow), limitText(&stated.ContextWindow), limitText(&found.ContextWindow))
	add("max_output_tokens", limitText(m.MaxOutputTokens), limitText(&stated.MaxOutputTokens), limitText(&found.MaxOutput))
	add("modalities", modalitiesText(m.Modalities), "", modalitiesText(&found.Modalities))
	add("pricing", priceText(m.Pricing), "", priceText(found.Pricing))
	add("knowledge_cutoff", m.KnowledgeCutoff, "", found.KnowledgeCutoff)
	add("retires", "", "", found.Retires)
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

// factsOf returns the known properties of the models that an agent uses.
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
