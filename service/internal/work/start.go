package work

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
)

// Start stores a turn and, if there is room, claims it in the same transaction and runs it
// immediately, which saves a commit, a job and the queue. The returned turn is as stored before it
// began. Otherwise made is nil, or the turn was stored to run later because it has to wait.
func (p *Pool) Start(ctx context.Context, n *store.NewTurn) (made *store.Turn, begun bool, err error) {
	starter, ok := p.settings.Store.(store.Starter)
	if !ok || n.Turn.NotBefore.After(n.Turn.CreatedAt) {
		return nil, false, nil
	}
	place, current, ok := p.reserve(ctx, n.Turn.Owner.Tenant)
	if !ok {
		return nil, false, nil
	}
	made, claimed, err := starter.StartTurn(ctx, n, p.claimOf(n.Turn.ID, current))
	if err != nil || claimed == nil {
		p.endClaim()
		current.Release()
		place.Release()
		return made, false, err
	}
	held := p.holdTurn(&claimed.Turn)
	p.endClaim()
	place.Run(made.ID, func(ctx context.Context) {
		defer current.Release()
		p.workOn(ctx, held, claimed, current, nil)
	})
	return beforeClaim(made, n), true, nil
}

// beforeClaim returns a turn as it would have been stored without a claim.
func beforeClaim(t *store.Turn, n *store.NewTurn) *store.Turn {
	was := *t
	was.Status, was.ParentSnapshotID, was.Revision = store.Pending, n.Turn.ParentSnapshotID, ""
	was.Worker, was.Fence, was.LeaseUntil, was.HeartbeatAt, was.StartedAt = "", 0, time.Time{}, time.Time{}, time.Time{}
	was.UpdatedAt, was.ChangedAt = t.CreatedAt, t.CreatedAt
	return &was
}

// reserve returns a place for a turn of a tenant that is about to be stored, and the revision in
// which it begins, if both are available. The caller must then call endClaim.
func (p *Pool) reserve(ctx context.Context, tenant string) (place dispatch.Place, current *registry.Revision, ok bool) {
	reserver, ok := p.settings.Queue.(dispatch.Reserver)
	if !ok || p.draining.Load() || p.settings.Runtime == nil || !p.tryBeginClaim() {
		return nil, nil, false
	}
	if place, ok = reserver.Reserve(); !ok {
		p.endClaim()
		return nil, nil, false
	}
	current, err := p.acquireFor(ctx, tenant)
	if err == nil && p.settings.Revisions != nil {
		if err = p.settings.Revisions.Record(ctx, current); err != nil {
			current.Release()
		}
	}
	if err != nil { // the worker that gets the job handles it
		p.endClaim()
		place.Release()
		return nil, nil, false
	}
	return place, current, true
}
