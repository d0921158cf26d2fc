package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// Start starts creating and running runs.
func (e *Engine) Start() {
	e.tasks.Go(e.runClock)
	e.tasks.Go(e.beginDue)
	e.tasks.Go(e.followDue)
	if e.settings.Retention > 0 {
		e.tasks.Go(e.prunePeriodically)
	}
}

// beginDue starts due runs until the engine is closed.
func (e *Engine) beginDue() {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		e.advanceAll(&store.ClaimRuns{Part: store.RunsToBegin})
		select {
		case <-e.news:
		case <-ticker.C:
		case <-e.ctx.Done():
			return
		}
	}
}

// followDue advances due runs until the engine is closed: runs whose turns changed at once, and
// all due runs periodically.
func (e *Engine) followDue() {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	all := true
	for {
		if ids := e.turns.take(); all || len(ids) > maxNotes {
			e.advanceAll(&store.ClaimRuns{Part: store.RunsUnderWay})
		} else if len(ids) > 0 {
			e.advanceAll(&store.ClaimRuns{Part: store.RunsUnderWay, TurnIDs: ids})
		}
		all = false
		select {
		case <-e.turns.news:
		case <-e.looks:
			all = true
		case <-ticker.C:
			all = true
		case <-e.ctx.Done():
			return
		}
	}
}

// advanceAll advances due runs until there are no more.
func (e *Engine) advanceAll(c *store.ClaimRuns) {
	c.Lease, c.Limit = claimLease, claimBatch
	for {
		c.Now = e.now()
		if e.advanceDue(e.ctx, c) < claimBatch {
			return
		}
	}
}

// advanceDue advances due runs and returns how many there were.
func (e *Engine) advanceDue(ctx context.Context, c *store.ClaimRuns) int {
	runs, err := e.settings.Store.ClaimRuns(ctx, c)
	if err != nil {
		e.logError("looking for due runs failed", err)
		return 0
	}
	next := make(chan *store.WorkflowRun)
	var group sync.WaitGroup
	for range min(workers, len(runs)) {
		group.Go(func() {
			for r := range next {
				e.advanceRun(ctx, r)
			}
		})
	}
	for _, r := range runs {
		next <- r
	}
	close(next)
	group.Wait()
	return len(runs)
}

// prunePeriodically deletes old runs until the engine is closed.
func (e *Engine) prunePeriodically() {
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		n, err := e.settings.Store.PruneRuns(e.ctx, e.now().Add(-max(e.settings.Retention, minRetention)), store.MaxPage)
		if err != nil {
			e.logError("deleting old runs failed", err)
		}
		if n == store.MaxPage {
			continue
		}
		select {
		case <-ticker.C:
		case <-e.ctx.Done():
			return
		}
	}
}
