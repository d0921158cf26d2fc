package provider

import (
	"sync"

	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
)

// process is the process that a turn currently uses. It is safe for concurrent use, because
// questions are asked in separate goroutines.
type process struct {
	mu    sync.Mutex
	lease *pool.Lease
	// opening guards opening the turn's calls.
	opening sync.Mutex
}

// current returns the process, or nil.
func (p *process) current() *pool.Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lease
}

// use releases the current process and takes another one, or none.
func (p *process) use(lease *pool.Lease) {
	p.mu.Lock()
	old := p.lease
	p.lease = lease
	p.mu.Unlock()
	if old != nil {
		old.Release()
	}
}
