package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// jobsOf returns the jobs of turns that are due.
func jobsOf(ids []string) []store.Job {
	jobs := make([]store.Job, len(ids))
	for i, id := range ids {
		jobs[i] = store.Job{TurnID: id}
	}
	return jobs
}

// lockTenants queues the locks under which the admitted turns of the turns' tenants are counted, if
// there is a limit. Replicas decide for one tenant one after the other.
func (s *Store) lockTenants(ctx context.Context, p *pipeline, turnIDs ...string) {
	if s.tenantTurns > 0 {
		_ = p.queuedQueries().LockTenantsOfTurns(ctx, turnIDs) // it is queued
	}
}

// queueAdmission queues the admission of turns that have room now: the next turn of each session,
// or with a limit the oldest turns of each tenant. Sessions and tenants are locked. found has the
// turns once the pipeline was sent.
func (s *Store) queueAdmission(p *pipeline, tenants, sessions []string, now time.Time, found *[]string) {
	switch {
	case s.tenantTurns > 0 && len(tenants) > 0:
		queueColumn(p, found, db.AdmitOfTenants, tenants, instant.Time(now), s.tenantTurns)
	case s.tenantTurns <= 0 && len(sessions) > 0:
		queueColumn(p, found, db.AdmitOfSessions, sessions, instant.Time(now))
	}
}

// makeRoom admits turns that have room now, like queueAdmission, and queues jobs for them.
func (s *Store) makeRoom(ctx context.Context, tx pgx.Tx, tenants, sessions []string, now time.Time) error {
	var (
		p     pipeline
		found []string
	)
	s.queueAdmission(&p, tenants, sessions, now, &found)
	if err := p.sendQueued(ctx, tx); err != nil {
		return err
	}
	return s.enqueueJobs(ctx, tx, jobsOf(found))
}

// lockSession locks the session of a turn, after the room of its tenant.
func (s *Store) lockSession(ctx context.Context, tx pgx.Tx, turnID string) error {
	var p pipeline
	s.lockTenants(ctx, &p, turnID)
	if err := p.queuedQueries().LockSessionsOfTurns(ctx, []string{turnID}); err != nil {
		return err
	}
	return p.sendQueued(ctx, tx)
}

// sortedDistinct returns the distinct values of a list, sorted.
func sortedDistinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
