package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// clock is the schedule state of a process. Runs are created separately for each tenant, because
// building a tenant's revision may take long and must not delay others.
type clock struct {
	mu    sync.Mutex
	known cursors
	// busy are the tenants whose runs are being created.
	busy map[string]bool
}

// cursors has the last processed time of each schedule, as known to this process.
type cursors map[cursorKey]time.Time

type cursorKey struct{ tenant, id string }

// load copies the cursors of the store. Other processes advance cursors, too.
func (c cursors) load(ctx context.Context, s store.WorkflowRuns) error {
	list, err := s.Cursors(ctx)
	for _, one := range list {
		if key := (cursorKey{one.Tenant, one.ID}); one.Last.After(c[key]) {
			c[key] = one.Last
		}
	}
	return err
}

func (c *clock) setBusy(tenant string, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.busy, tenant); busy {
		c.busy[tenant] = true
	}
}
