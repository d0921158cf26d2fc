// Package builder builds runtimes. An AgentRuntimeBuilder collects agents, models, providers, tools
// and plugins, from Go or from a loaded configuration file; it keeps every error, and Build checks
// that every agent resolves.
package builder

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// AgentRuntimeBuilder collects the parts of a runtime. Its With methods never fail; Build returns
// all of their errors. Only one goroutine may use a builder.
type AgentRuntimeBuilder struct {
	set *registry.Set
	// errs has the errors of the With methods. discovery, probes and refresh have the errors of the
	// latest Discover, ProbePeers and RefreshTools.
	errs, discovery, probes, refresh []error
	// tenant holds the variables for listing the tools of servers, or nil.
	tenant   tools.TenantSource
	sources  int
	logger   *zap.Logger
	observer *telemetry.Telemetry
	warn     func(diag.List)
	newID    func() string
	depth    int
	// base is the revision whose entries were adopted, or nil.
	base *registry.Revision
	// local runs the agents without an endpoint.
	local backend.Backend
	// patched are the configurations with patches that must not widen access.
	patched []*config.File
	// configs are the configurations whose schedules and workflows are checked.
	configs []*config.File
}

// New returns an empty builder.
func New() *AgentRuntimeBuilder {
	return &AgentRuntimeBuilder{set: registry.NewSet(), logger: zap.NewNop(), local: local.Backend{}}
}

// WithAgentSpec adds an agent. The builder keeps a copy.
func (b *AgentRuntimeBuilder) WithAgentSpec(agent spec.Agent) *AgentRuntimeBuilder {
	b.addError(b.set.Agents.Add(agent.ID, agent.Clone()))
	return b
}

// WithAgentSpecs adds agents.
func (b *AgentRuntimeBuilder) WithAgentSpecs(agents ...spec.Agent) *AgentRuntimeBuilder {
	for i := range agents {
		b.WithAgentSpec(agents[i])
	}
	return b
}

// WithModel adds a model under its id, which pools share. The builder keeps a
// copy.
func (b *AgentRuntimeBuilder) WithModel(m spec.Model) *AgentRuntimeBuilder {
	b.addError(b.set.AddModel(m.Clone()))
	return b
}

// WithModelPool adds a model pool under its id, which models share. The builder
// keeps a copy.
func (b *AgentRuntimeBuilder) WithModelPool(pool spec.Pool) *AgentRuntimeBuilder {
	b.addError(b.set.AddPool(pool.Clone()))
	return b
}

// WithProvider adds the executor of a provider. Nil is reported once: a placeholder replaces it, so
// that references to it do not fail too. The same applies to tools and plugins.
func (b *AgentRuntimeBuilder) WithProvider(id string, exec model.Executor) *AgentRuntimeBuilder {
	if exec == nil {
		b.addInvalid(b.set.Providers.Path(id), "provider %q is nil", id)
		exec = model.Unavailable{}
	}
	b.addError(b.set.Providers.Add(id, exec))
	return b
}

// WithTool adds a global tool, which agents see if their catalogs allow it. For a tools.Bundle it
// adds the members.
func (b *AgentRuntimeBuilder) WithTool(id string, tool tools.Tool) *AgentRuntimeBuilder {
	if tool == nil {
		b.addInvalid(b.set.Tools.Path(id), "tool %q is nil", id)
		tool = unavailableTool{err: errBroken}
	}
	b.addError(b.set.AddTool(id, tool))
	return b
}

// WithPlugin adds a plugin for the agents that name it in plugin_ids.
func (b *AgentRuntimeBuilder) WithPlugin(id string, plugin plugins.Plugin) *AgentRuntimeBuilder {
	if plugin == nil {
		b.addInvalid(b.set.Plugins.Path(id), "plugin %q is nil", id)
		plugin = unavailablePlugin{}
	}
	b.addError(b.set.Plugins.Add(id, plugin))
	return b
}

// WithAvailablePlugin adds a plugin that comes with the program. Unlike WithPlugin it causes no
// warning if no agent uses the plugin.
func (b *AgentRuntimeBuilder) WithAvailablePlugin(id string, plugin plugins.Plugin) *AgentRuntimeBuilder {
	b.set.Available[id] = true
	return b.WithPlugin(id, plugin)
}

// WithBackend adds a kind of remote backend.
func (b *AgentRuntimeBuilder) WithBackend(factory backend.Factory) *AgentRuntimeBuilder {
	if factory == nil {
		return b.addInvalid("backends", "a backend factory is nil")
	}
	kind, err := kindOf(factory)
	if err != nil {
		return b.addInvalid("backends", "a backend factory does not name its kind: %v", err)
	}
	b.addError(b.set.Backends.Add(kind, factory))
	return b
}

// WithLocalBackend sets the backend of agents without an endpoint, instead of the local loop. It
// must support everything that the loop does.
func (b *AgentRuntimeBuilder) WithLocalBackend(where backend.Backend) *AgentRuntimeBuilder {
	if where == nil {
		return b.addInvalid("backends", "the local backend is nil")
	}
	b.local = where
	return b
}

// WithAgentProvider adds an agent provider that the runtime hosts.
func (b *AgentRuntimeBuilder) WithAgentProvider(id string, provider backend.AgentProvider) *AgentRuntimeBuilder {
	if provider == nil {
		b.addInvalid(b.set.AgentProviders.Path(id), "agent provider %q is nil", id)
		provider = unavailableProvider{}
	}
	b.addError(b.set.AgentProviders.Add(id, provider))
	return b
}

// kindOf returns a factory's kind. A panic, as of a nil pointer, is an error.
func kindOf(factory backend.Factory) (kind string, err error) {
	defer panics.Recover(&err)
	return factory.Kind(), nil
}

// WithRemoteAgents adds a peer whose agents appear as "<name>/<agent>" once discovered; see
// BuildAndDiscover.
func (b *AgentRuntimeBuilder) WithRemoteAgents(source spec.RemoteSource) *AgentRuntimeBuilder {
	return b.addSource(&registry.Source{Spec: source})
}

// addSource appends a source.
func (b *AgentRuntimeBuilder) addSource(source *registry.Source) *AgentRuntimeBuilder {
	source.Position = b.sources
	b.addError(b.set.AddSource(source))
	b.sources++
	return b
}

// WithWorkflow adds a workflow. The builder keeps a copy.
func (b *AgentRuntimeBuilder) WithWorkflow(w workflow.Workflow) *AgentRuntimeBuilder {
	b.addError(b.set.Workflows.Add(w.ID, &w))
	return b
}

// WithDefaults sets the defaults of all local agents. The builder keeps a copy.
func (b *AgentRuntimeBuilder) WithDefaults(defaults spec.Defaults) *AgentRuntimeBuilder {
	b.set.Defaults = &spec.Defaults{Agent: *defaults.Clone()}
	return b
}

// WithTenants sets what tenants may configure themselves.
func (b *AgentRuntimeBuilder) WithTenants(tenants spec.Tenants) *AgentRuntimeBuilder {
	for _, d := range tenants.Validate() {
		d.Path = diag.Join("tenants", d.Path)
		b.addError(d)
	}
	b.set.Tenants = &tenants
	return b
}

// WithLogger sets the logger of the runtime and of configured components.
func (b *AgentRuntimeBuilder) WithLogger(logger *zap.Logger) *AgentRuntimeBuilder {
	if logger != nil {
		b.logger = logger
	}
	return b
}

// WithWarnings sets the function that receives the new warnings of each published revision: those
// that the previous revision did not have. By default they are logged.
func (b *AgentRuntimeBuilder) WithWarnings(warn func(diag.List)) *AgentRuntimeBuilder {
	b.warn = warn
	return b
}

// WithTelemetry sets the observer of turns; nil, the default, observes nothing.
func (b *AgentRuntimeBuilder) WithTelemetry(t *telemetry.Telemetry) *AgentRuntimeBuilder {
	b.observer = t
	return b
}

// WithDelegationDepth sets how deeply delegates may nest; the default is resolve.DefaultDepth.
func (b *AgentRuntimeBuilder) WithDelegationDepth(depth int) *AgentRuntimeBuilder {
	if depth < 1 {
		return b.addInvalid("", "the delegation depth is %d; it must be 1 or more", depth)
	}
	b.depth = depth
	return b
}

// WithIDs sets the generator of turn ids; the default generates version 7 UUIDs.
func (b *AgentRuntimeBuilder) WithIDs(newID func() string) *AgentRuntimeBuilder {
	b.newID = newID
	return b
}

func (b *AgentRuntimeBuilder) addError(err error) {
	if err != nil {
		b.errs = append(b.errs, err)
	}
}

func (b *AgentRuntimeBuilder) addInvalid(path, format string, args ...any) *AgentRuntimeBuilder {
	b.addError(diag.New(diag.InvalidValue, path, format, args...))
	return b
}
