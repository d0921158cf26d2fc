package sessions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// provider is a provider of sessions.
type provider struct {
	name string
	settings.SessionProvider
}

// newProviders returns the providers sorted by name, at least one.
func newProviders(configured map[string]settings.SessionProvider) []provider {
	if len(configured) == 0 {
		return []provider{{name: settings.DefaultSessionProvider}}
	}
	list := make([]provider, 0, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		list = append(list, provider{name, configured[name]})
	}
	return list
}

// isFor reports whether a caller may use the provider: its agent exists and the caller may use the
// agent.
func (p *provider) isFor(usable *service.Catalog) bool {
	if p.Agent == "" {
		return true
	}
	_, err := usable.Agent(p.Agent)
	return err == nil
}

// usable returns the declared entries that the caller may use.
func (c *call) usable() *service.Catalog { return c.settings.Service.Catalog(c.r.Context(), c.caller) }

// chooseProvider returns the provider named by a request, or the default one. A provider that the
// caller may not use appears not to exist.
func (c *call) chooseProvider(name string) (*provider, error) {
	usable := c.usable()
	var visible []*provider
	for i := range c.providers {
		if p := &c.providers[i]; p.isFor(usable) {
			visible = append(visible, p)
		}
	}
	if name != "" {
		for _, p := range visible {
			if p.name == name {
				return p, nil
			}
		}
		return nil, noProvider(name)
	}
	for _, p := range visible {
		if p.Default || len(visible) == 1 {
			return p, nil
		}
	}
	return nil, failedPrecondition("the request names no agent provider, and none is the default")
}

func noProvider(name string) *server.Refusal {
	return newRefusal(http.StatusServiceUnavailable, "provider_unavailable", fmt.Sprintf("agent provider %q is not available", clip.Text(name)))
}

// findModel returns the id of the model or pool with a name. The empty name returns an empty id,
// which leaves the choice to the agent. The provider of a hosted agent knows the agent's models.
func (p *provider) findModel(set *registry.Set, name string) (string, error) {
	id, err := surfacekit.FindModel(set, p.Agent, name, p.Aliases)
	if err != nil {
		return "", badRequest("%s", err)
	}
	return id, nil
}

// modelFor returns the model name of a turn or session: the first non-empty name, or else the
// provider's model.
func (p *provider) modelFor(names ...string) string {
	return cmp.Or(append(names, p.DefaultModel)...)
}

// onlyModel returns the model of an agent that names none: the default model, or the only one.
func onlyModel(set *registry.Set) (string, error) {
	agent, _ := set.Defaults.Apply(&spec.Agent{ID: spec.EphemeralAgent})
	if agent.ModelID != "" {
		return agent.ModelID, nil
	}
	if ids := set.Models.IDs(); len(ids) == 1 && set.Pools.Len() == 0 {
		return ids[0], nil
	}
	return "", badRequest("model is required: the provider has no default model")
}

// capabilityTime is the timeout for starting a hosted provider to read its capabilities.
const capabilityTime = 5 * time.Second

// hostedCapabilities returns the capabilities of a hosted agent's provider; nil if the agent is
// not hosted or they are unknown now.
func (c *call) hostedCapabilities(p *provider) backend.Capabilities {
	agent, err := c.usable().Agent(p.Agent)
	if err != nil || !agent.Hosted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), capabilityTime)
	defer cancel()
	can, err := c.settings.Service.HostedCapabilities(ctx, c.caller, p.Agent)
	if err != nil {
		return nil
	}
	if can == nil {
		can = backend.Capabilities{} // it has none
	}
	return can
}

// capabilities are the capabilities of a provider of this server.
type capabilities struct {
	StreamingText        bool     `json:"streamingText"`
	ToolCalls            bool     `json:"toolCalls"`
	ParallelToolCalls    bool     `json:"parallelToolCalls"`
	StructuredOutput     bool     `json:"structuredOutput"`
	Interactions         bool     `json:"interactions"`
	ResumableTurns       bool     `json:"resumableTurns"`
	ReasoningSummaries   bool     `json:"reasoningSummaries"`
	BoundedListHydration bool     `json:"boundedListHydration"`
	SessionStart         bool     `json:"supportsSessionStart"`
	PreparedWorkspace    bool     `json:"supportsPreparedWorkspace"`
	SupportedToolSources []string `json:"supportedToolSources"`
}

// capabilitiesOf returns the capabilities of a provider; nil if they are unknown now.
func (c *call) capabilitiesOf(p *provider) *capabilities {
	checkouts := c.settings.Service.SupportsCheckouts()
	agent, err := c.usable().Agent(p.Agent)
	if p.Agent == "" || err == nil && agent.Local() {
		return &capabilities{
			StreamingText: true, ToolCalls: true, ParallelToolCalls: true, StructuredOutput: true, Interactions: true, ResumableTurns: true,
			ReasoningSummaries: true, BoundedListHydration: true, SessionStart: true, PreparedWorkspace: checkouts, SupportedToolSources: c.toolSources(),
		}
	}
	if err != nil || !agent.Hosted() {
		return &capabilities{StreamingText: true, Interactions: true, BoundedListHydration: true, SessionStart: true, SupportedToolSources: []string{}}
	}
	can := c.hostedCapabilities(p)
	if can == nil {
		return nil
	}
	shown := &capabilities{
		StreamingText: can.Have(backend.StreamingText), ToolCalls: can.Have(backend.ToolCalls), ParallelToolCalls: can.Have(backend.ParallelToolCalls),
		StructuredOutput: can.Have(backend.StructuredOutput), Interactions: can.Have(backend.Interactions) || can.Have(backend.ToolCalls),
		ResumableTurns: can.Have(backend.ResumableTurns), ReasoningSummaries: can.Have(backend.ReasoningSummaries), BoundedListHydration: true,
		SessionStart: true, PreparedWorkspace: checkouts && can.Have(backend.PreparedWorkspaces), SupportedToolSources: []string{},
	}
	if shown.ToolCalls {
		shown.SupportedToolSources = c.toolSources()
	}
	return shown
}

// toolSources are the non-empty values of toolSource.
func (c *call) toolSources() []string {
	list := []string{toolgrant.SourceCatalog, toolgrant.SourceExplicit}
	if _, ok := c.settings.Service.Revision().Set().Plugins.Get(toolgrant.SearchPlugin); ok {
		list = append(list, toolgrant.SourceSearch)
	}
	return list
}

type providerList struct {
	Providers []providerView `json:"providers"`
}

type providerView struct {
	Name         string        `json:"name"`
	Default      bool          `json:"default,omitempty"`
	Capabilities *capabilities `json:"capabilities,omitempty"`
}

// listProviders responds with the providers that the caller may use.
func (c *call) listProviders() (any, error) {
	list := []providerView{}
	usable := c.usable()
	for i := range c.providers {
		p := &c.providers[i]
		if !p.isFor(usable) {
			continue
		}
		list = append(list, providerView{p.name, p.Default || len(c.providers) == 1, c.capabilitiesOf(p)})
	}
	return providerList{list}, nil
}
