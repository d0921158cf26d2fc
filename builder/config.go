package builder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// WithConfig adds everything that a loaded configuration declares. Components are created but not
// started. A component that fails or has invalid settings is replaced by a placeholder, so that
// references to it do not fail too.
func (b *AgentRuntimeBuilder) WithConfig(f *config.File) *AgentRuntimeBuilder {
	if f == nil {
		return b.addInvalid("", "the configuration is nil")
	}
	for _, e := range f.Providers {
		settings := model.Settings{ID: e.ID, Logger: b.componentLogger("provider", e.ID)}
		b.WithProvider(e.ID, makeComponent(b, b.set.Providers.Path(e.ID), "provider", e, settings, func(err error) model.Executor { return model.Unavailable{Err: err} }))
	}
	for _, e := range f.Tools {
		b.WithTool(e.ID, b.makeTool(e, tools.Settings{}))
	}
	for _, e := range f.Plugins {
		settings := plugins.Settings{ID: e.ID, Logger: b.componentLogger("plugin", e.ID)}
		b.WithPlugin(e.ID, makeComponent(b, b.set.Plugins.Path(e.ID), "plugin", e, settings, func(error) plugins.Plugin { return unavailablePlugin{} }))
	}
	for _, e := range f.AgentProviders {
		settings := backend.AgentProviderSettings{ID: e.ID, Dir: e.Dir, Logger: b.componentLogger("agent_provider", e.ID)}
		b.WithAgentProvider(e.ID, makeComponent(b, b.set.AgentProviders.Path(e.ID), "agent provider", e, settings, func(err error) backend.AgentProvider { return unavailableProvider{err} }))
	}
	for _, kind := range f.PluginKinds {
		declared := slices.ContainsFunc(f.Plugins, func(e config.Entry[plugins.Kind]) bool { return e.Kind.Type == kind.Type })
		if len(kind.Sections) > 0 && !declared {
			b.set.Undeclared[kind.Type] = kind.Sections
		}
	}
	b.withRecords(f)
	b.configs = append(b.configs, f)
	if hash, ok := f.DocumentHash(); ok {
		b.set.Document = hash
	}
	if len(f.GuardedPatches()) > 0 {
		b.patched = append(b.patched, f)
	}
	return b
}

// withRecords adds entries that are only data.
func (b *AgentRuntimeBuilder) withRecords(f *config.File) {
	for i := range f.Models {
		b.WithModel(f.Models[i])
	}
	for i := range f.Pools {
		b.WithModelPool(f.Pools[i])
	}
	for i := range f.RemoteAgents {
		b.addSource(&registry.Source{Spec: f.RemoteAgents[i], Broken: f.BrokenSources[i]})
	}
	for _, agent := range f.Agents {
		b.WithAgentSpec(*agent)
	}
	for _, w := range f.Workflows {
		b.WithWorkflow(*w)
	}
	if f.Defaults != nil {
		b.WithDefaults(*f.Defaults)
	}
	b.set.Tenants = f.TenantRules // checked by the loader
}

// createComponent makes the component of an entry. A panic of the kind is an error.
func createComponent[S, T any](e config.Entry[spec.Kind[S, T]], settings S) (component T, err error) {
	if e.Broken {
		return component, errBroken
	}
	defer panics.Recover(&err)
	return e.Kind.Create(settings, e.Config)
}

// makeComponent makes the component of an entry, or a placeholder and findings if that fails. It
// stores the fingerprint, and the declaration of a component that depends on nothing else.
func makeComponent[S, T any](b *AgentRuntimeBuilder, path, what string, e config.Entry[spec.Kind[S, T]], settings S, placeholder func(error) T) T {
	component, err := createComponent(e, settings)
	setFingerprint(b.set, path, e.Kind.Type, e.Config)
	if err != nil {
		b.reportCreate(path, what, e.ID, err)
		return placeholder(err)
	}
	if e.Kind.Pure {
		b.set.Declarations[path] = registry.Declaration{Type: e.Kind.Type, Dir: e.Dir, Settings: e.Config}
	}
	return component
}

// makeTool makes the tool of an entry with the restrictions of settings.
func (b *AgentRuntimeBuilder) makeTool(e config.Entry[tools.Kind], settings tools.Settings) tools.Tool {
	settings.ID, settings.Dir, settings.Logger = e.ID, e.Dir, b.componentLogger("tool", e.ID)
	return makeComponent(b, b.set.Tools.Path(e.ID), "tool", e, settings, func(err error) tools.Tool {
		return unavailableTool{err, parametersOf(e.Config)}
	})
}

// setFingerprint stores the fingerprint of a component's settings. It excludes the description,
// which has no effect, and secrets, which settings omit when encoded.
func setFingerprint(set *registry.Set, path, typ string, settings any) {
	encode := func() ([]byte, error) { return json.Marshal(settings) }
	if s, ok := settings.(interface{ Fingerprint() ([]byte, error) }); ok {
		encode = s.Fingerprint
	}
	data, err := encode()
	if err != nil {
		return // settings that cannot be encoded have no fingerprint
	}
	fields := make(map[string]json.RawMessage)
	if json.Unmarshal(data, &fields) != nil {
		return
	}
	delete(fields, "description")
	if data, err = json.Marshal(fields); err != nil {
		return
	}
	sum := sha256.Sum256(append([]byte(typ+"\x1f"), data...))
	set.Definitions[path] = hex.EncodeToString(sum[:])
}

func (b *AgentRuntimeBuilder) reportCreate(path, what, id string, err error) {
	if errors.Is(err, errBroken) {
		return
	}
	found := diag.FromError(err)
	for _, d := range found { // each at its own place, such as a line of a script
		if d.File == "" {
			d.Path = diag.Join(path, d.Path)
		}
		b.addError(d)
	}
	if len(found) == 0 {
		b.addError(diag.New(diag.InvalidValue, path, "%s %q cannot be made: %v", what, id, err).AtKey())
	}
}
