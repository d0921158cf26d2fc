package provider

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"google.golang.org/protobuf/types/known/structpb"
)

// hosts are the providers that a program hosts. Those that were configured the same
// have one pool, as long as one of them is open: a configuration that is read again
// keeps the processes that it does not change.
type hosts struct {
	mu   sync.Mutex
	open map[hostKey]*host
}

// hostKey is a hash of a configuration.
type hostKey [sha256.Size]byte

// host is a pool, and how many providers use it.
type host struct {
	*pool.Pool
	service *hostservice.Service

	key   hostKey
	users int
	turns liveTurns
}

func newHosts() *hosts { return &hosts{open: map[hostKey]*host{}} }

// openProcess makes a provider that is started here, without starting it.
func (h *hosts) openProcess(s backend.AgentProviderSettings, c *ProcessConfig) (backend.AgentProvider, error) {
	type plain ProcessConfig // which hides no secrets: other ones make another provider
	return h.openProvider(s, &c.Config, (*plain)(c), nil, c.fill)
}

// openAddress makes a provider that is running, without reaching for it.
func (h *hosts) openAddress(s backend.AgentProviderSettings, c *AddressConfig) (backend.AgentProvider, error) {
	type plain AddressConfig // which hides no secrets: other ones make another provider
	p, err := h.openProvider(s, &c.Config, (*plain)(c), []byte(c.GrantKey), func(to *pool.Settings) { c.fill(to, s.Dir) })
	if err != nil {
		return nil, err
	}
	p.toolless = c.HostAddress == ""
	return p, nil
}

// openProvider makes a provider of a configuration.
func (h *hosts) openProvider(s backend.AgentProviderSettings, c *Config, whole any, grantKey []byte, fill func(*pool.Settings)) (*Provider, error) {
	encoded, err := json.Marshal([]any{s.ID, s.Dir, fmt.Sprintf("%T", whole), whole, c.Connections})
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	key := hostKey(sha256.Sum256(encoded))
	h.mu.Lock()
	defer h.mu.Unlock()
	shared := h.open[key]
	if shared == nil {
		settings := pool.Settings{Name: s.ID, Logger: s.Logger, Host: hostservice.New(s.ID, grantKey)}
		if len(c.Config) > 0 {
			settings.Config = new(structpb.Struct)
			if err := settings.Config.UnmarshalJSON(c.Config); err != nil {
				return nil, fmt.Errorf("read the configuration: %w", err)
			}
		}
		fill(&settings)
		shared = &host{Pool: pool.New(settings), service: settings.Host, key: key}
		h.open[key] = shared
	}
	shared.users++
	return &Provider{id: s.ID, hosts: h, host: shared, connections: c.hostConnections(), logger: s.Logger}, nil
}

// closeHost ends the pool of a host that nobody uses any more.
func (h *hosts) closeHost(shared *host) error {
	h.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last {
		delete(h.open, shared.key)
	}
	h.mu.Unlock()
	if !last {
		return nil
	}
	return shared.Close()
}
