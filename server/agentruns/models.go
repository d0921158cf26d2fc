package agentruns

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	// platformPrefix is the prefix of the ids of declared models and pools, and providerPrefix
	// the prefix for a provider's models.
	platformPrefix = "platform:"
	providerPrefix = "provider:"
	// sourcePlatform is the source of declared models.
	sourcePlatform = "platform_offering"
	// maxCandidates limits the models that an error names.
	maxCandidates = 20
)

// modelList is the body of the list of models.
type modelList struct {
	Models         []modelInfo `json:"models"`
	DefaultModelID *string     `json:"defaultModelId" null:"true" jsonschema:"The model of specs without one. Null if specs must name a model."`
}

// modelInfo describes a model, or a pool of models.
type modelInfo struct {
	ID            string        `json:"id" pattern:"^platform:"`
	Label         string        `json:"label"`
	Provider      string        `json:"provider" examples:"['openai','anthropic','google']"`
	VendorModelID string        `json:"vendorModelId" jsonschema:"The vendor's name of the model."`
	Source        string        `json:"source" enum:"platform_offering,workspace_provider"`
	ContextWindow *int          `json:"contextWindowTokens" null:"true"`
	Pricing       *modelPricing `json:"pricing" null:"true" jsonschema:"Null if it is unknown or not in US dollars."`

	// declared is the id in the configuration.
	declared string
	// providerID is the provider's id in the configuration; empty for a pool.
	providerID string
}

// modelPricing is the price of a million tokens.
type modelPricing struct {
	Input     float64 `json:"inputPer1MUsd"`
	Output    float64 `json:"outputPer1MUsd"`
	CacheRead float64 `json:"cacheReadPer1MUsd"`
}

// models are the models of a revision.
type models struct {
	list []modelInfo
	// standard is the declared id of the model for specs without one; empty if they must name one.
	standard string
}

// modelsOf returns the models of a revision. For specs without a model it uses the preferred one,
// else the defaults' model, else the only one.
func modelsOf(set *registry.Set, preferred string) *models {
	m := &models{list: make([]modelInfo, 0, set.Models.Len()+set.Pools.Len())}
	for _, declared := range set.Models.All() {
		m.list = append(m.list, infoOf(set, declared))
	}
	for _, pool := range set.Pools.All() {
		m.list = append(m.list, poolInfo(set, pool))
	}
	if preferred == "" && set.Defaults != nil {
		preferred = set.Defaults.ModelID
	}
	tellApart(m.list)
	switch {
	case preferred != "" && slices.ContainsFunc(m.list, func(i modelInfo) bool { return i.declared == preferred }):
		m.standard = preferred
	case preferred == "" && len(m.list) == 1:
		m.standard = m.list[0].declared
	}
	return m
}

func infoOf(set *registry.Set, m *spec.Model) modelInfo {
	info := modelInfo{
		ID: platformPrefix + m.ID, Label: cmp.Or(m.Label, labelOf(vendorOf(set, m.ProviderID), m.UpstreamModel)), Provider: vendorOf(set, m.ProviderID), VendorModelID: m.UpstreamModel,
		Source: sourcePlatform, ContextWindow: m.ContextWindow, declared: m.ID, providerID: m.ProviderID,
	}
	if p := m.Pricing; p != nil && p.CurrencyCode() == spec.DefaultCurrency {
		info.Pricing = &modelPricing{Input: p.InputPerMillion, Output: p.OutputPerMillion, CacheRead: p.InputPerMillion}
		if p.CachedInputPerMillion != nil {
			info.Pricing.CacheRead = *p.CachedInputPerMillion
		}
	}
	return info
}

// vendorNames are the common names of the vendors.
var vendorNames = map[string]string{
	"openai": "OpenAI", "azure-openai": "Azure OpenAI", "anthropic": "Anthropic", "google": "Google", "bedrock": "Amazon Bedrock", "vertex": "Vertex AI",
}

// labelOf returns a model's display name.
func labelOf(vendor, name string) string {
	return cmp.Or(vendorNames[vendor], vendor) + " " + name + " (platform)"
}

// tellApart adds ids to labels shared by several models.
func tellApart(list []modelInfo) {
	shared := make(map[string]int, len(list))
	for i := range list {
		shared[list[i].Label]++
	}
	for i := range list {
		if shared[list[i].Label] > 1 {
			list[i].Label += " — " + list[i].declared
		}
	}
}

// poolInfo describes a pool as its first member, with the smallest window of all and no prices:
// which model answers is unknown in advance.
func poolInfo(set *registry.Set, pool *spec.Pool) modelInfo {
	info := modelInfo{ID: platformPrefix + pool.ID, Label: labelOf("Pool", pool.ID), VendorModelID: pool.ID, Source: sourcePlatform, declared: pool.ID}
	for i := range pool.Members {
		m, ok := set.Models.Get(pool.Members[i].ModelID)
		if !ok {
			continue
		}
		if info.Provider == "" {
			info.Provider = vendorOf(set, m.ProviderID)
		}
		if w := m.ContextWindow; w != nil && (info.ContextWindow == nil || *w < *info.ContextWindow) {
			info.ContextWindow = w
		}
	}
	info.Provider = cmp.Or(info.Provider, pool.ID)
	return info
}

// vendorOf returns a provider's vendor, or its id if unknown. A run's usage shows the same name.
func vendorOf(set *registry.Set, providerID string) string {
	exec, _ := set.Providers.Get(providerID)
	if v, ok := exec.(model.Vendor); ok {
		if name := v.Vendor(); name != "" {
			return name
		}
	}
	return providerID
}

// listBody returns the list in the clients' form.
func (m *models) listBody() modelList {
	list := modelList{Models: m.list}
	if m.standard != "" {
		id := platformPrefix + m.standard
		list.DefaultModelID = &id
	}
	return list
}

// findModel returns the declared id of the model that a spec names; empty names the standard one. A
// declared id wins over other meanings of the text.
func (m *models) findModel(id string) (string, error) {
	if id == "" {
		if m.standard == "" {
			return "", &requestError{
				Code: codeInvalidModel, Message: "modelId is required: there is no default model",
				Hint: "name one of the candidates", Candidates: candidateNames(m.list),
			}
		}
		return m.standard, nil
	}
	for i := range m.list {
		if id == m.list[i].declared || id == m.list[i].ID {
			return m.list[i].declared, nil
		}
	}
	var found []modelInfo
	for i := range m.list {
		if m.list[i].matchesID(id) {
			found = append(found, m.list[i])
		}
	}
	switch len(found) {
	case 0:
		return "", m.unknownModel(id)
	case 1:
		return found[0].declared, nil
	default:
		return "", &requestError{
			Code: codeInvalidModel, Message: fmt.Sprintf("modelId %q may mean any of %d models", clip.Text(id), len(found)),
			Hint: "name one of the candidates", Candidates: candidateNames(found),
		}
	}
}

// matchesID reports whether a text may name a provider's model: by the provider, by the vendor's
// name, or by both.
func (i *modelInfo) matchesID(id string) bool {
	if i.providerID == "" {
		return false
	}
	switch id {
	case i.VendorModelID, providerPrefix + i.providerID,
		providerPrefix + i.providerID + ":" + i.VendorModelID,
		i.providerID + ":" + i.VendorModelID, i.Provider + ":" + i.VendorModelID:
		return true
	}
	return false
}

func (m *models) unknownModel(id string) error {
	e := &requestError{
		Code: codeInvalidModel, Message: fmt.Sprintf("modelId %q is not known", clip.Text(id)), Candidates: candidateNames(m.list),
	}
	names := make([]string, 0, 3*len(m.list))
	for i := range m.list {
		names = append(names, m.list[i].ID, m.list[i].declared, m.list[i].VendorModelID)
	}
	if near, ok := nearest.Of(id, names); ok {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

func candidateNames(list []modelInfo) []string {
	ids := make([]string, 0, min(len(list), maxCandidates))
	for i := range list[:cap(ids)] {
		ids = append(ids, list[i].ID)
	}
	return ids
}
