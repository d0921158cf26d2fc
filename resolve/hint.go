package resolve

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// vendorModel matches vendors' model names.
var vendorModel = regexp.MustCompile(`(?i)^(gpt-|o[1-9](-|$)|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|grok|command-|phi-?[0-9]|sonnet|opus|haiku)`)

// modelHint guesses the meaning of an undefined model id: a provider's name for a model, as other
// systems use it, or a provider id. meant is the model or pool to name instead, if there is one.
func (x *index) modelHint(id string) (meant, hint string) {
	provider, upstream := "", id
	if i := strings.IndexAny(id, "/:"); i > 0 {
		provider, upstream = id[:i], id[i+1:]
	}
	for known, m := range x.set.Models.All() {
		if m.UpstreamModel == id || m.UpstreamModel == upstream || known == upstream {
			return known, fmt.Sprintf("write %s, the id of the model under models", known)
		}
	}
	if _, ok := x.set.Providers.Get(id); ok {
		for known, m := range x.set.Models.All() {
			if m.ProviderID == id {
				return known, fmt.Sprintf("%q is a provider; write the id of one of its models, such as %s", id, known)
			}
		}
		return "", fmt.Sprintf("%q is a provider; declare a model of it, as in models: {main: {provider_id: %s, upstream_model: …}}, and write its id", id, id)
	}
	if !vendorModel.MatchString(upstream) {
		return "", ""
	}
	if _, ok := x.set.Providers.Get(provider); !ok {
		provider = "…"
		if ids := x.set.Providers.IDs(); len(ids) == 1 {
			provider = ids[0]
		}
	}
	return "", fmt.Sprintf("that is a vendor's name of a model: declare it, as in models: {main: {provider_id: %s, upstream_model: %s}}, and write its id", provider, upstream)
}

// providerHint returns the provider that a vendor's name probably means, or how to declare one.
func (x *index) providerHint(id string) (meant, hint string) {
	var of []string
	for known, exec := range x.set.Providers.All() {
		if v, ok := exec.(model.Vendor); ok && v.Vendor() == id {
			of = append(of, known)
		}
	}
	switch {
	case len(of) == 1:
		return of[0], fmt.Sprintf("write %s, the id of the provider under providers", of[0])
	case len(of) == 0 && x.set.Providers.Len() == 0 && slices.Contains([]string{"openai", "anthropic", "google"}, id):
		return "", fmt.Sprintf("declare it, as in providers: {%s: {type: %s, api_key: …}}", id, id)
	}
	return "", ""
}
