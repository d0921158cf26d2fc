package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

const (
	// firstPause and longestPause bound the pause between two tries.
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// limitLocks prevents a turn that another process has locked, such as a replica that was cut
	// off, from blocking the rest of its group.
	limitLocks = "SET LOCAL lock_timeout = '2s'"
)

// writeGroup commits a group and sends each caller its result. If the group fails as a whole, each
// commit runs alone, so that only the culprit fails.
func (s *Store) writeGroup(group []*pending) {
	refused, err := s.tryGroup(group)
	switch {
	case err == nil:
		for i, p := range group {
			p.done <- refused[i]
		}
	case len(group) == 1 || isUnreachable(err) || errorCode(err) == codeReadOnly:
		for _, p := range group {
			p.done <- nameTurn(err, p.TurnID)
		}
	default:
		for i := range group {
			s.writeGroup(group[i : i+1])
		}
	}
}

// unreachableError reports that the database was not reached in time. Trying the
// commits one by one would not help.
type unreachableError struct {
	cause error
	// unknown reports whether the last transaction may have been committed.
	unknown bool
}

// Error returns the cause.
func (e *unreachableError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *unreachableError) Unwrap() error { return e.cause }

func isUnreachable(err error) bool {
	_, ok := errors.AsType[*unreachableError](err)
	return ok
}

// nameTurn adds the turn's id to the error of a group.
func nameTurn(err error, turnID string) error {
	lost, ok := errors.AsType[*unreachableError](err)
	switch {
	case !ok:
		return err
	case lost.unknown:
		return &UnknownOutcomeError{TurnID: turnID, Cause: lost.cause}
	default:
		return lost.cause
	}
}

// tryGroup commits a group in one transaction. It retries after losing against another transaction,
// and while the database cannot be reached. refused is per commit; a commit whose caller stopped
// waiting between two tries is rejected.
func (s *Store) tryGroup(group []*pending) (refused []error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gone := make([]error, len(group))
	pause, lost := firstPause, 0
	for !allGone(gone) {
		g := newGroup(s, group, gone)
		err := s.transactGroup(ctx, g)
		if err == nil {
			return g.refused, nil
		}
		again, ok := errors.AsType[*unreachableError](err)
		switch {
		case isConflict(err) && lost < maxConflicts, lockedOut(err) && len(group) == 1 && ctx.Err() == nil:
			lost++
			continue
		case !ok:
			return nil, err
		case ctx.Err() != nil:
			return nil, err
		}
		s.logger.Warn("commit delayed: PostgreSQL unreachable", zap.Int("commits", len(group)), zap.Error(again.cause))
		if wait.For(ctx, pause) != nil {
			return nil, err
		}
		pause = min(2*pause, longestPause)
		for i, p := range group {
			gone[i] = p.ctx.Err()
		}
	}
	return gone, nil
}

// allGone reports whether no caller waits any more.
func allGone(gone []error) bool { return !slices.Contains(gone, nil) }

// transactGroup runs the transaction of a group once. It returns an *unreachableError if the
// connection was lost and nothing was changed, or if the outcome is unknown.
func (s *Store) transactGroup(ctx context.Context, g *group) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		if isDisconnected(err, nil) || ctx.Err() != nil {
			err = &unreachableError{cause: err}
		}
		return err
	}
	defer conn.Release()
	tx := joinedTx{conn}
	if err := g.writeChanges(ctx, tx); err != nil {
		tx.rollback(ctx)
		if isDisconnected(err, conn.Conn()) {
			err = &unreachableError{cause: err}
		}
		return err
	}
	err = tx.commit(ctx)
	if err != nil && isDisconnected(err, conn.Conn()) {
		return s.makeCertain(ctx, g, err)
	}
	return err
}

// makeCertain determines the outcome of a group whose commit got no response. It returns nil if the
// group was committed, and an *unreachableError otherwise. The transaction's number does not tell,
// because after a crash the server reuses numbers that it had not written to disk.
func (s *Store) makeCertain(ctx context.Context, g *group, cause error) error {
	var ids []string
	for _, t := range g.sortedChanges() {
		ids = append(ids, t.ID)
	}
	if len(ids) == 0 {
		return nil // nothing needed to change
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		tokens, err := s.commitTokens(ctx, ids)
		switch {
		case err == nil && slices.Contains(tokens, g.token):
			return nil
		case err == nil: // nothing was committed, or other workers own all turns now
			return &unreachableError{cause: cause}
		}
		cause = errors.Join(cause, err)
		if wait.For(ctx, pause) != nil {
			return &unreachableError{cause: cause, unknown: true}
		}
	}
}

// commitTokens returns the tokens in the rows of turns, waiting for running transactions.
func (s *Store) commitTokens(ctx context.Context, ids []string) (tokens []string, err error) {
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limitLocks); err != nil {
			return err
		}
		tokens, err = s.queries.WithTx(tx).CommitTokens(ctx, ids)
		return err
	})
	return tokens, err
}

// writeChanges writes the changes of a group in a transaction.
func (g *group) writeChanges(ctx context.Context, tx joinedTx) error {
	if err := g.lockTurns(ctx, tx); err != nil {
		return err
	}
	for i, p := range g.commits {
		if g.refused[i] == nil {
			g.refused[i] = g.foldCommit(p)
		}
	}
	var (
		p     pipeline
		found []string
	)
	if err := g.queueStatements(ctx, &p, &found); err != nil {
		return err
	}
	if err := g.store.queueJobs(ctx, tx, &p, g.jobs); err != nil {
		return err
	}
	return g.store.enqueueJoined(ctx, tx, jobsOf(found))
}

// lockTurns locks the turns of a group. If turns end or begin to wait, it also locks the sessions
// and tenants in which they make room.
func (g *group) lockTurns(ctx context.Context, tx joinedTx) error {
	var (
		p        pipeline
		ids      []string
		leaving  []string
		waiting  []string
		rows     []db.LockTurnsRow
		answered []db.AnsweredInteractionsRow
	)
	for _, c := range g.commits {
		ids = append(ids, c.TurnID)
		if c.Finish != nil || c.Suspend != nil {
			leaving = append(leaving, c.TurnID)
		}
		if c.Suspend != nil {
			waiting = append(waiting, c.TurnID)
		}
	}
	beginJoined(&p)
	p.batch.Queue(limitLocks)
	if len(leaving) > 0 {
		g.store.lockTenants(ctx, &p, leaving...)
		if err := p.queuedQueries().LockSessionsOfTurns(ctx, leaving); err != nil {
			return err
		}
	}
	queueRows(&p, &rows, db.LockTurns, sortedDistinct(ids))
	if len(waiting) > 0 {
		queueRows(&p, &answered, db.AnsweredInteractions, waiting)
	}
	if err := p.sendQueued(ctx, tx); err != nil {
		return err
	}
	for i := range rows {
		g.turns[rows[i].ID] = &turnChange{LockTurnsRow: rows[i]}
	}
	for _, a := range answered {
		if t := g.turns[a.TurnID]; t != nil {
			t.answered = append(t.answered, a.ID)
		}
	}
	return nil
}
