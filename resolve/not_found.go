package resolve

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

func (x *index) modelNotFound(id, agent, path string) error {
	meant, hint := x.modelHint(id)
	if hint == "" {
		meant = x.nearestID("model", id, func() []string { return slices.Concat(x.set.Models.IDs(), x.set.Pools.IDs()) })
	}
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) memberNotFound(pool *spec.Pool, i int, agent string) error {
	id := pool.Members[i].ModelID
	path := diag.Index(diag.Join(x.set.Pools.Path(pool.ID), "members"), i) + ".model_id"
	meant, hint := x.modelHint(id)
	if hint == "" {
		meant = x.nearestID("member", id, x.set.Models.IDs)
	}
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) providerNotFound(m *spec.Model, agent string) error {
	path := diag.Join(x.set.Models.Path(m.ID), "provider_id")
	meant, hint := x.providerHint(m.ProviderID)
	if hint == "" {
		meant = x.nearestID("provider", m.ProviderID, x.set.Providers.IDs)
	}
	return &ProviderNotFoundError{Reference{ID: m.ProviderID, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) agentNotFound(id, agent, path string) error {
	return &AgentNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: x.nearestID("agent", id, x.set.AgentIDs)}}
}

// unknownAgent is agentNotFound for an id from outside the revision: looking up many ids must not
// make the revision grow.
func (x *index) unknownAgent(id string) error {
	near, _ := nearest.Of(id, x.set.AgentIDs())
	return &AgentNotFoundError{Reference{ID: id, Nearest: near}}
}

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

// vendorModel matches vendors' model names.
var vendorModel = regexp.MustCompile(`(?i)^(gpt-|o[1-9](-|$)|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|grok|command-|phi-?[0-9]|sonnet|opus|haiku)`)

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

// suggestion identifies a search for the nearest id.
type suggestion struct{ kind, id string }

// maxSuggestions bounds the cached results of nearest. The names may come from outside, so
// without a bound the cache could grow forever.
const maxSuggestions = 4096

// nearestID returns the registry id that is most similar to a missing one. A file may repeat one
// mistake thousands of times, so answers are cached.
func (x *index) nearestID(kind, id string, candidates func() []string) string {
	key := suggestion{kind, id}
	if found, ok := x.suggested.Load(key); ok {
		return found.(string) //nolint:forcetypeassert // only strings are stored
	}
	found, _ := nearest.Of(id, candidates())
	if x.suggestions.Load() < maxSuggestions {
		if _, known := x.suggested.LoadOrStore(key, found); !known {
			x.suggestions.Add(1)
		}
	}
	return found
}
