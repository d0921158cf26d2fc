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
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/toolgrant"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/spec"
)

// provider is what sessions belong to.
type provider struct {
	name string
	settings.SessionProvider
}

// newProviders returns the providers in the order of their names, at least one.
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

// isFor reports whether a caller may use the provider: its agent is there, and for the
// caller.
func (p *provider) isFor(usable *service.Catalog) bool {
	if p.Agent == "" {
		return true
	}
	_, err := usable.Agent(p.Agent)
	return err == nil
}

// usable returns what the caller may use of what is declared.
func (c *call) usable() *service.Catalog { return c.settings.Service.Catalog(c.r.Context(), c.caller) }

// chooseProvider returns the provider that a request names, or the default one. One that
// the caller may not use looks as if it did not exist.
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

func noProvider(name string) *requestError {
	return &requestError{http.StatusServiceUnavailable, "provider_unavailable", fmt.Sprintf("agent provider %q is not available", clip.Text(name))}
}

// findModel returns the id of the model or pool that a name stands for; empty for the
// empty name, which leaves the choice to the agent. The models of a hosted agent are known
// where it runs.
func (p *provider) findModel(set *registry.Set, name string) (string, error) {
	id, err := surfacekit.FindModel(set, p.Agent, name, p.Aliases)
	if err != nil {
		return "", badRequest("%s", err)
	}
	return id, nil
}

// modelFor returns the name of the model of a turn or session: the first that is given,
// then that of the provider.
func (p *provider) modelFor(names ...string) string {
	return cmp.Or(append(names, p.DefaultModel)...)
}

// onlyModel returns the model of an agent that names none: that of the defaults, or the
// only one.
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

// capabilityTime bounds how long a hosted provider is waited for that does not run.
const capabilityTime = 5 * time.Second

// hostedCapabilities returns what the provider of a hosted agent can do; nil for an agent
// that is not hosted, and if it cannot be found out now.
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

// capabilities are what a provider of this server can do.
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

// capabilitiesOf returns what a provider can do; nil if that cannot be found out now.
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

// toolSources are the values of toolSource besides the empty one.
func (c *call) toolSources() []string {
	list := []string{toolgrant.SourceCatalog, toolgrant.SourceExplicit}
	if _, ok := c.settings.Service.Revision().Set().Plugins.Get(toolgrant.SearchPlugin); ok {
		list = append(list, toolgrant.SourceSearch)
	}
	return list
}

// listProviders answers with the providers that the caller may use.
func (c *call) listProviders() error {
	type view struct {
		Name         string        `json:"name"`
		Default      bool          `json:"default,omitempty"`
		Capabilities *capabilities `json:"capabilities,omitempty"`
	}
	list := []view{}
	usable := c.usable()
	for i := range c.providers {
		p := &c.providers[i]
		if !p.isFor(usable) {
			continue
		}
		list = append(list, view{p.name, p.Default || len(c.providers) == 1, c.capabilitiesOf(p)})
	}
	return server.WriteJSON(c.w, http.StatusOK, struct {
		Providers []view `json:"providers"`
	}{list})
}
