package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// PublishRevision makes a document current.
func (s *Store) PublishRevision(ctx context.Context, p *store.PublishRevision) (*store.Revision, error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	var published *store.Revision
	err := s.runTransaction(ctx, func(t pgx.Tx) error {
		tx := s.queries.WithTx(t)
		if p.Revision.Tenant != "" {
			if err := tx.ShareBase(ctx); err != nil {
				return err
			}
		}
		if err := tx.LockRevisions(ctx, p.Revision.Tenant); err != nil {
			return err
		}
		var current *store.Revision
		row, err := tx.CurrentRevision(ctx, p.Revision.Tenant)
		switch {
		case err == nil:
			current = revisionWithDocument(&row)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if err := checkOverlays(ctx, tx, p); err != nil {
			return err
		}
		r, isNew, err := rules.NextRevision(p, current)
		if published = r; err != nil {
			return err
		}
		if err := holdOverlays(ctx, tx, p); err != nil {
			return err
		}
		if a := p.AttemptOf(isNew); a != nil {
			if err := tx.AddRevisionAttempt(ctx, attemptParams(a)); err != nil {
				return err
			}
		}
		if !isNew {
			return nil
		}
		if err := tx.AddRevisionDocument(ctx, db.AddRevisionDocumentParams{Hash: r.Hash, Document: r.Document}); err != nil {
			return err
		}
		return tx.InsertRevision(ctx, db.InsertRevisionParams{
			Tenant: r.Tenant, Number: int64(r.Number), Hash: r.Hash, Parent: r.Parent,
			Author: r.Author, Note: r.Note, Findings: r.Findings, CreatedAt: instant.Time(r.CreatedAt),
		})
	})
	if err != nil {
		return nil, wrapError("publish revision", p.Revision.Hash, err)
	}
	return published, nil
}

// checkOverlays reports what has changed since a base, or an overlay, was proven.
func checkOverlays(ctx context.Context, tx *db.Queries, p *store.PublishRevision) error {
	if p.Revision.Tenant != "" && p.Base != "" {
		base, err := tx.CurrentHash(ctx, "")
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return rules.CheckBase(p, base)
	}
	if p.Proven == nil {
		return nil
	}
	mark, err := tx.OverlayMark(ctx)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return rules.CheckMark(p, uint64(mark))
}

// holdOverlays notes which tenants stay over another base.
func holdOverlays(ctx context.Context, tx *db.Queries, p *store.PublishRevision) error {
	if p.Revision.Tenant != "" {
		err := tx.FollowBase(ctx, p.Revision.Tenant)
		switch {
		case err != nil:
			return err
		case p.HasWorkflows:
			err = tx.NoteWorkflows(ctx, p.Revision.Tenant)
		default:
			err = tx.ForgetWorkflows(ctx, p.Revision.Tenant)
		}
		if err != nil {
			return err
		}
		return tx.RaiseOverlayMark(ctx)
	}
	if p.Proven == nil {
		return nil
	}
	err := tx.FollowBases(ctx)
	for _, h := range p.Proven.Held {
		if err == nil {
			err = tx.HoldOverlay(ctx, db.HoldOverlayParams{Tenant: h.Tenant, Base: h.Base})
		}
	}
	return err
}

// Overlay returns what is current of a tenant.
func (s *Store) Overlay(ctx context.Context, tenant string) (state store.OverlayState, err error) {
	if state.Hash, err = s.CurrentHash(ctx, tenant); err != nil || state.Hash == "" {
		return state, err
	}
	state.Base, err = s.queries.HeldBase(ctx, tenant)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return state, wrapError("read", "the base of a tenant", err)
}

// Overlays returns a page of the tenants with revisions.
func (s *Store) Overlays(ctx context.Context, q store.OverlayQuery) (store.OverlayPage, error) {
	rows, err := s.queries.Overlays(ctx, db.OverlaysParams{After: q.After, Most: int32(q.Size() + 1)})
	if err != nil {
		return store.OverlayPage{}, wrapError("list", "the overlays of tenants", err)
	}
	list := make([]*store.Revision, len(rows))
	for i := range rows {
		row := db.CurrentRevisionRow(rows[i])
		list[i] = revisionWithDocument(&row)
	}
	return rules.CutOverlays(list, &q), nil
}

// WorkflowOverlays returns the tenants whose workflows are not those of the current base.
func (s *Store) WorkflowOverlays(ctx context.Context, after string, limit int) ([]store.TenantOverlay, error) {
	rows, err := s.queries.WorkflowOverlays(ctx, db.WorkflowOverlaysParams{After: after, Most: int32(limit)})
	if err != nil {
		return nil, wrapError("list", "the overlays with workflows", err)
	}
	return sqlstore.Records(rows, func(r *db.WorkflowOverlaysRow) store.TenantOverlay {
		return store.TenantOverlay{Tenant: r.Tenant, OverlayState: store.OverlayState{Hash: r.Hash, Base: r.Base}}
	}), nil
}

// OverlayMark returns a number that grows whenever a tenant publishes.
func (s *Store) OverlayMark(ctx context.Context) (uint64, error) {
	mark, err := s.queries.OverlayMark(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return uint64(mark), wrapError("read", "how often tenants have published", err)
}

// CurrentRevision returns the revision that was published last.
func (s *Store) CurrentRevision(ctx context.Context, tenant string) (*store.Revision, error) {
	row, err := s.queries.CurrentRevision(ctx, tenant)
	if err != nil {
		return nil, wrapError("read", "the current revision", err)
	}
	return revisionWithDocument(&row), nil
}

// CurrentHash returns the hash of that revision.
func (s *Store) CurrentHash(ctx context.Context, tenant string) (string, error) {
	hash, err := s.queries.CurrentHash(ctx, tenant)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return hash, wrapError("read", "the current revision", err)
}

// Revision returns the latest revision with a hash.
func (s *Store) Revision(ctx context.Context, tenant, hash string) (*store.Revision, error) {
	row, err := s.queries.RevisionByHash(ctx, db.RevisionByHashParams{Tenant: tenant, Hash: hash})
	if err != nil {
		return nil, wrapError("read revision", hash, err)
	}
	found := db.CurrentRevisionRow(row)
	return revisionWithDocument(&found), nil
}

// Revisions returns a page of revisions, the newest first.
func (s *Store) Revisions(ctx context.Context, q store.RevisionQuery) (page store.RevisionPage, err error) {
	below, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	rows, err := s.queries.RevisionsOf(ctx, db.RevisionsOfParams{Tenant: q.Tenant, Below: below, Most: int32(q.Page.Size() + 1)})
	if err != nil {
		return page, wrapError("list", "revisions", err)
	}
	rows, page.Next = rules.CutPage(rows, q.Page, func(r db.Revision) store.Cursor {
		return rules.NumberCursor(time.Time(r.CreatedAt), r.Number)
	})
	page.Revisions = sqlstore.Records(rows, revisionOf)
	return page, nil
}

// AddRevisionBuild stores a build.
func (s *Store) AddRevisionBuild(ctx context.Context, b store.RevisionBuild) error {
	if err := b.CheckText(); err != nil {
		return err
	}
	err := s.runTransaction(ctx, func(t pgx.Tx) error {
		n, err := s.queries.WithTx(t).AddRevisionBuild(ctx, db.AddRevisionBuildParams{
			Build: b.Build, Tenant: b.Tenant, Hash: b.Hash, Base: b.Base, Components: b.Components, BuiltAt: instant.Time(b.BuiltAt),
		})
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
	return wrapError("store build of revision", b.Hash, err)
}

// BuiltRevision returns a build and its revision.
func (s *Store) BuiltRevision(ctx context.Context, build string) (*store.RevisionBuild, *store.Revision, error) {
	row, err := s.queries.GetRevisionBuild(ctx, build)
	if err != nil {
		return nil, nil, wrapError("read build", build, err)
	}
	r, err := s.Revision(ctx, row.Tenant, row.Hash)
	if err != nil {
		return nil, nil, err
	}
	return &store.RevisionBuild{
		Build: row.Build, Tenant: row.Tenant, Hash: row.Hash, Base: row.Base, Components: row.Components, BuiltAt: time.Time(row.BuiltAt),
	}, r, nil
}

// AddRevisionAttempt stores an attempt.
func (s *Store) AddRevisionAttempt(ctx context.Context, a store.RevisionAttempt) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	err := s.queries.AddRevisionAttempt(ctx, attemptParams(&a))
	return wrapError("store attempt to publish", a.Hash, err)
}

func attemptParams(a *store.RevisionAttempt) db.AddRevisionAttemptParams {
	return db.AddRevisionAttemptParams{
		Tenant: a.Tenant, Hash: a.Hash, Expected: a.Expected, Author: a.Author, Note: a.Note,
		Outcome: string(a.Outcome), Findings: a.Findings, At: instant.Time(a.At),
	}
}

// RevisionAttempts returns a page of attempts, the newest first.
func (s *Store) RevisionAttempts(ctx context.Context, q store.RevisionQuery) (page store.RevisionAttemptPage, err error) {
	below, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	rows, err := s.queries.RevisionAttempts(ctx, db.RevisionAttemptsParams{Tenant: q.Tenant, Below: below, Most: int32(q.Page.Size() + 1)})
	if err != nil {
		return page, wrapError("list", "attempts to publish", err)
	}
	rows, page.Next = rules.CutPage(rows, q.Page, func(r db.RevisionAttempt) store.Cursor { return rules.NumberCursor(time.Time(r.At), r.N) })
	for i := range rows {
		r := &rows[i]
		page.Attempts = append(page.Attempts, store.RevisionAttempt{
			Seq: uint64(r.N), Tenant: r.Tenant, Hash: r.Hash, Expected: r.Expected, Author: r.Author, Note: r.Note,
			Outcome: store.RevisionOutcome(r.Outcome), Findings: r.Findings, At: time.Time(r.At),
		})
	}
	return page, nil
}

// pruneRevisions deletes revisions that are not current, and that no live turn or run began in.
func (s *Store) pruneRevisions(ctx context.Context, c rules.Cutoff) (n int, err error) {
	err = s.runTransaction(ctx, func(t pgx.Tx) error {
		tx := s.queries.WithTx(t)
		old, err := tx.OldRevisions(ctx, db.OldRevisionsParams{Before: instant.Time(c.Before), Most: int32(c.Limit)})
		n = len(old)
		for _, r := range old {
			if err == nil {
				err = tx.DeleteRevision(ctx, db.DeleteRevisionParams{Tenant: r.Tenant, Number: r.Number})
			}
			if err == nil {
				err = tx.DeleteBuildsOf(ctx, db.DeleteBuildsOfParams{Hash: r.Hash, Tenant: r.Tenant})
			}
			if err == nil {
				err = tx.DeleteRevisionDocument(ctx, r.Hash)
			}
		}
		return err
	})
	return n, wrapError("delete old", "revisions", err)
}

func revisionOf(r *db.Revision) *store.Revision {
	return &store.Revision{
		Tenant: r.Tenant, Number: uint64(r.Number), Hash: r.Hash, Parent: r.Parent,
		Author: r.Author, Note: r.Note, Findings: r.Findings, CreatedAt: time.Time(r.CreatedAt),
	}
}

func revisionWithDocument(r *db.CurrentRevisionRow) *store.Revision {
	return &store.Revision{
		Tenant: r.Tenant, Number: uint64(r.Number), Hash: r.Hash, Parent: r.Parent, Document: r.Document,
		Author: r.Author, Note: r.Note, Findings: r.Findings, CreatedAt: time.Time(r.CreatedAt),
	}
}
