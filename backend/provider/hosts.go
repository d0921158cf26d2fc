package provider

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/internal/providerproto"
)

// hosts are the providers that a program hosts. Providers with equal configurations share one pool
// while one of them is open: reloading a configuration keeps the processes that it does not change.
type hosts struct {
	mu   sync.Mutex
	open map[hostKey]*host

	manager atomic.Pointer[providerproto.Manager]
}

// currentManager returns the manager of sessions and turns; nil if absent.
func (h *hosts) currentManager() providerproto.Manager {
	if m := h.manager.Load(); m != nil {
		return *m
	}
	return nil
}

// hostKey is a hash of a configuration.
type hostKey [sha256.Size]byte

// host is a pool and its number of users.
type host struct {
	*pool.Pool
	service *hostservice.Service

	key hostKey
	// users counts the open providers, and current those that are not retired.
	users, current int
	// drain limits how long turns of an outdated host may continue.
	drain  time.Duration
	logger *slog.Logger
	// limit shuts the pool down when the time is up, and resting waits for that. used is set if the
	// pool may have been started again meanwhile.
	limit    *time.Timer
	resting  sync.WaitGroup
	used     bool
	requests openRequests
	// answers is how long the provider may take to answer, not counting its waits for tools.
	answers time.Duration
}

// retireHost limits the time of a host's turns if it has no current user.
func (h *hosts) retireHost(shared *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if shared.current--; shared.current == 0 {
		h.startLimit(shared)
	}
}

// startLimit makes a retired host's pool rest when its turns' time is up. The caller holds the
// lock.
func (h *hosts) startLimit(shared *host) {
	shared.stopLimit()
	shared.resting.Add(1)
	shared.limit = time.AfterFunc(shared.drain, func() {
		defer shared.resting.Done()
		h.rest(shared)
	})
}

// rest ends the turns and processes of a retired host.
func (h *hosts) rest(shared *host) {
	if err := shared.Rest(); err != nil {
		shared.logger.Error("end of a provider that was replaced failed", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	again := shared.used && shared.current == 0 && shared.users > 0
	if shared.limit, shared.used = nil, false; again {
		h.startLimit(shared)
	}
}

// noteUse limits the time of a turn that needs a retired host, which earlier revisions start again.
func (h *hosts) noteUse(shared *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case shared.current > 0:
	case shared.limit == nil:
		h.startLimit(shared)
	default:
		shared.used = true
	}
}

// stopLimit stops the limit, unless its time was up. The caller holds the lock.
func (h *host) stopLimit() {
	if h.limit != nil && h.limit.Stop() {
		h.resting.Done()
	}
	h.limit = nil
}

// closeHost closes the pool of an unused host.
func (h *hosts) closeHost(shared *host, retired bool) error {
	h.mu.Lock()
	shared.users--
	if !retired {
		shared.current--
	}
	last := shared.users == 0
	switch {
	case last:
		delete(h.open, shared.key)
		shared.stopLimit()
	case !retired && shared.current == 0:
		h.startLimit(shared)
	}
	h.mu.Unlock()
	if !last {
		return nil
	}
	shared.resting.Wait()
	err := shared.Close()
	shared.requests.close()
	return err
}
