package provider

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/spec"
	"google.golang.org/protobuf/types/known/structpb"
)

// Kinds returns the ways to host a provider.
func Kinds() []backend.AgentProviderKind {
	kinds, _ := KindsWithManager()
	return kinds
}

// KindsWithManager returns Kinds and a function that sets the manager for the providers' requests
// for sessions and turns.
func KindsWithManager() ([]backend.AgentProviderKind, func(providerproto.Manager)) {
	h := &hosts{open: map[hostKey]*host{}}
	return []backend.AgentProviderKind{
		spec.NewKind("process", "A provider that is started here.", h.openProcess),
		spec.NewKind("address", "A provider that is running on this machine.", h.openAddress),
	}, func(m providerproto.Manager) { h.manager.Store(&m) }
}

// openProcess creates a provider that the runtime starts, without starting it.
func (h *hosts) openProcess(s backend.AgentProviderSettings, c *processConfig) (backend.AgentProvider, error) {
	type plain processConfig // without hiding secrets: they distinguish providers
	return h.openProvider(s, &c.config, (*plain)(c), nil, c.fill)
}

// openAddress creates a provider that is already running, without connecting to it.
func (h *hosts) openAddress(s backend.AgentProviderSettings, c *addressConfig) (backend.AgentProvider, error) {
	type plain addressConfig // without hiding secrets: they distinguish providers
	p, err := h.openProvider(s, &c.config, (*plain)(c), []byte(c.GrantKey), func(to *pool.Settings) { c.fill(to, s.Dir) })
	if err != nil {
		return nil, err
	}
	p.toolless = c.HostAddress == ""
	return p, nil
}

// openProvider creates a configured provider.
func (h *hosts) openProvider(s backend.AgentProviderSettings, c *config, whole any, grantKey []byte, fill func(*pool.Settings)) (*provider, error) {
	encoded, err := json.Marshal([]any{s.ID, s.Dir, fmt.Sprintf("%T", whole), whole, c.Connections})
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	key := hostKey(sha256.Sum256(encoded))
	h.mu.Lock()
	defer h.mu.Unlock()
	shared := h.open[key]
	if shared == nil {
		settings := pool.Settings{Name: s.ID, Logger: s.Logger, Host: hostservice.New(s.ID, grantKey, h.currentManager)}
		if len(c.Config) > 0 {
			settings.Config = new(structpb.Struct)
			if err := settings.Config.UnmarshalJSON(c.Config); err != nil {
				return nil, fmt.Errorf("read the configuration: %w", err)
			}
		}
		fill(&settings)
		shared = &host{Pool: pool.New(settings), service: settings.Host, key: key, drain: settings.DrainTimeout, logger: s.Logger, answers: answerLimit}
		h.open[key] = shared
	}
	shared.users++
	shared.current++
	shared.stopLimit()
	return &provider{id: s.ID, hosts: h, host: shared, connections: c.Connections, logger: s.Logger}, nil
}
