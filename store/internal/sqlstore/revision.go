package sqlstore

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// revisionRecords keeps revisions of the configuration and the overlays of tenants.
type revisionRecords struct{ *core }

const (
	// revisionColumns are the columns of a revision, and fullRevision selects revisions with
	// their documents.
	revisionColumns = "tenant, number, hash, parent, author, note, findings, created_at"
	fullRevision    = "SELECT r.tenant, r.number, r.hash, r.parent, r.author, r.note, r.findings, r.created_at, d.document FROM revisions r JOIN revision_documents d ON d.hash = r.hash"
	// isCurrent is the condition that a tenant has no later revision.
	isCurrent = "NOT EXISTS (SELECT 1 FROM revisions o WHERE o.tenant = r.tenant AND o.number > r.number)"
)

func revisionFields(r *store.Revision) []any {
	return []any{&r.Tenant, &r.Number, &r.Hash, &r.Parent, &r.Author, &r.Note, &r.Findings, (*Time)(&r.CreatedAt)}
}

func fullRevisionFields(r *store.Revision) []any { return append(revisionFields(r), &r.Document) }

// PublishRevision makes a document current.
func (r *revisionRecords) PublishRevision(ctx context.Context, p *store.PublishRevision) (*store.Revision, error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "publish revision", p.Revision.Hash, func(ctx context.Context, s Session) (*store.Revision, error) {
		return r.publishRevision(ctx, s, p)
	})
}

// publishRevision blocks other publishes for the tenant until the transaction ends. For a tenant it
// also blocks publishes of a base.
func (r *revisionRecords) publishRevision(ctx context.Context, s Session, p *store.PublishRevision) (*store.Revision, error) {
	if p.Revision.Tenant != "" {
		if err := r.lock(ctx, s, "SELECT pg_advisory_xact_lock_shared(hashtextextended('agentruntime.revisions.', 0))"); err != nil {
			return nil, err
		}
	}
	if err := r.lock(ctx, s, "SELECT pg_advisory_xact_lock(hashtextextended('agentruntime.revisions.' || $1::text, 0))", p.Revision.Tenant); err != nil {
		return nil, err
	}
	current, err := currentRevision(ctx, s, p.Revision.Tenant)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err := checkOverlays(ctx, s, p); err != nil {
		return nil, err
	}
	next, isNew, err := rules.NextRevision(p, current)
	if err != nil {
		return nil, err
	}
	if err := holdOverlays(ctx, s, p); err != nil {
		return nil, err
	}
	if a := p.AttemptOf(isNew); a != nil {
		if err := addAttempt(ctx, s, a); err != nil {
			return nil, err
		}
	}
	if !isNew {
		return next, nil
	}
	if _, err := s.Exec(ctx, "INSERT INTO revision_documents (hash, document) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING", next.Hash, next.Document); err != nil {
		return nil, err
	}
	_, err = s.Exec(ctx, "INSERT INTO revisions ("+revisionColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		next.Tenant, int64(next.Number), next.Hash, next.Parent, next.Author, next.Note, next.Findings, Time(next.CreatedAt))
	return next, err
}

func currentRevision(ctx context.Context, s Session, tenant string) (*store.Revision, error) {
	return FindRow(ctx, s, fullRevisionFields, fullRevision+" WHERE r.tenant = $1 ORDER BY r.number DESC LIMIT 1", tenant)
}

func currentHash(ctx context.Context, s Session, tenant string) (string, error) {
	return FindValue[string](ctx, s, "SELECT r.hash FROM revisions r WHERE r.tenant = $1 ORDER BY r.number DESC LIMIT 1", tenant)
}

// CurrentRevision returns the most recently published revision.
func (r *revisionRecords) CurrentRevision(ctx context.Context, tenant string) (*store.Revision, error) {
	found, err := currentRevision(ctx, r.db.Reader, tenant)
	return found, r.db.WrapError("read", "the current revision", err)
}

// CurrentHash returns the hash of the current revision.
func (r *revisionRecords) CurrentHash(ctx context.Context, tenant string) (string, error) {
	hash, err := currentHash(ctx, r.db.Reader, tenant)
	return hash, r.db.WrapError("read", "the current revision", err)
}

// Revision returns the latest revision with a hash.
func (r *revisionRecords) Revision(ctx context.Context, tenant, hash string) (*store.Revision, error) {
	found, err := FindRow(ctx, r.db.Reader, fullRevisionFields, fullRevision+" WHERE r.tenant = $1 AND r.hash = $2 ORDER BY r.number DESC LIMIT 1", tenant, hash)
	return found, r.db.WrapError("read revision", hash, err)
}

// Revisions returns a page of revisions, newest first.
func (r *revisionRecords) Revisions(ctx context.Context, q store.RevisionQuery) (page store.RevisionPage, err error) {
	f := r.dialect.newFilter("SELECT " + revisionColumns + " FROM revisions")
	f.where("tenant = " + f.Arg(q.Tenant))
	page.Revisions, page.Next, err = readNumbered(ctx, r.db.Reader, f, "number", q.Page, revisionFields, func(v *store.Revision) store.Cursor {
		return rules.NumberCursor(v.CreatedAt, int64(v.Number))
	})
	return page, r.db.WrapError("list", "revisions", err)
}

// AddRevisionBuild stores a build.
func (r *revisionRecords) AddRevisionBuild(ctx context.Context, b store.RevisionBuild) error {
	if err := b.CheckText(); err != nil {
		return err
	}
	err := r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		_, err := FindRow(ctx, s, column[string], "SELECT hash FROM revisions WHERE tenant = $1 AND hash = $2 LIMIT 1", b.Tenant, b.Hash)
		if err != nil {
			return err
		}
		_, err = s.Exec(ctx, `INSERT INTO revision_builds (build, tenant, hash, base, components, built_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (build) DO UPDATE SET tenant = excluded.tenant, hash = excluded.hash, base = excluded.base, components = excluded.components, built_at = excluded.built_at`,
			b.Build, b.Tenant, b.Hash, b.Base, b.Components, Time(b.BuiltAt))
		return err
	})
	return r.db.WrapError("store build of revision", b.Hash, err)
}

// BuiltRevision returns a build and its revision.
func (r *revisionRecords) BuiltRevision(ctx context.Context, build string) (*store.RevisionBuild, *store.Revision, error) {
	fields := func(b *store.RevisionBuild) []any {
		return []any{&b.Build, &b.Tenant, &b.Hash, &b.Base, &b.Components, (*Time)(&b.BuiltAt)}
	}
	found, err := FindRow(ctx, r.db.Reader, fields, "SELECT build, tenant, hash, base, components, built_at FROM revision_builds WHERE build = $1", build)
	if err != nil {
		return nil, nil, r.db.WrapError("read build", build, err)
	}
	revision, err := r.Revision(ctx, found.Tenant, found.Hash)
	if err != nil {
		return nil, nil, err
	}
	return found, revision, nil
}

// AddRevisionAttempt stores an attempt.
func (r *revisionRecords) AddRevisionAttempt(ctx context.Context, a store.RevisionAttempt) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	err := r.db.Execute(ctx, func(ctx context.Context, s Session) error { return addAttempt(ctx, s, &a) })
	return r.db.WrapError("store attempt to publish", a.Hash, err)
}

func addAttempt(ctx context.Context, s Session, a *store.RevisionAttempt) error {
	_, err := s.Exec(ctx, "INSERT INTO revision_attempts (tenant, hash, expected, author, note, outcome, findings, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		a.Tenant, a.Hash, a.Expected, a.Author, a.Note, string(a.Outcome), a.Findings, Time(a.At))
	return err
}

// RevisionAttempts returns a page of attempts, newest first.
func (r *revisionRecords) RevisionAttempts(ctx context.Context, q store.RevisionQuery) (page store.RevisionAttemptPage, err error) {
	fields := func(a *store.RevisionAttempt) []any {
		return []any{&a.Seq, &a.Tenant, &a.Hash, &a.Expected, &a.Author, &a.Note, (*string)(&a.Outcome), &a.Findings, (*Time)(&a.At)}
	}
	f := r.dialect.newFilter("SELECT n, tenant, hash, expected, author, note, outcome, findings, at FROM revision_attempts")
	f.where("tenant = " + f.Arg(q.Tenant))
	list, next, err := readNumbered(ctx, r.db.Reader, f, "n", q.Page, fields, func(a *store.RevisionAttempt) store.Cursor { return rules.NumberCursor(a.At, int64(a.Seq)) })
	for _, a := range list {
		page.Attempts = append(page.Attempts, *a)
	}
	page.Next = next
	return page, r.db.WrapError("list", "attempts to publish", err)
}

// oldRevisions returns the query of revisions that are not current and in which no live turn or run
// began.
func (r *revisionRecords) oldRevisions() string {
	query := "SELECT r.tenant, r.number, r.hash FROM revisions r WHERE r.created_at < $1 AND EXISTS (SELECT 1 FROM revisions o WHERE o.tenant = r.tenant AND o.number > r.number)"
	for _, built := range []string{"b.hash = r.hash AND b.tenant = r.tenant", "b.base = r.hash AND b.base <> '' AND r.tenant = ''"} {
		query += " AND NOT EXISTS (SELECT 1 FROM revision_builds b JOIN turns t ON t.revision = b.build AND t.revision <> '' AND " + r.dialect.live("t") + " WHERE " + built + ")" +
			" AND NOT EXISTS (SELECT 1 FROM revision_builds b JOIN workflow_runs w ON w.revision = b.build AND w.revision <> '' AND w.finished_at = 0 WHERE " + built + ")"
	}
	return query + " AND NOT EXISTS (SELECT 1 FROM held_overlays h WHERE h.base = r.hash AND r.tenant = '') ORDER BY r.created_at LIMIT $2"
}

// pruneRevisions deletes old revisions with their builds and documents.
func (r *revisionRecords) pruneRevisions(ctx context.Context, c rules.Cutoff) (n int, err error) {
	fields := func(v *store.Revision) []any { return []any{&v.Tenant, &v.Number, &v.Hash} }
	err = r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		old, err := CollectRows(ctx, s, fields, r.oldRevisions(), Time(c.Before), int64(c.Limit))
		n = len(old)
		for _, v := range old {
			if err == nil {
				_, err = s.Exec(ctx, "DELETE FROM revisions WHERE tenant = $1 AND number = $2", v.Tenant, int64(v.Number))
			}
			if err == nil {
				_, err = s.Exec(ctx, `DELETE FROM revision_builds WHERE hash = $1 AND tenant = $2
					AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.hash = $1 AND r.tenant = $2)`, v.Hash, v.Tenant)
			}
			if err == nil {
				_, err = s.Exec(ctx, "DELETE FROM revision_documents WHERE hash = $1 AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.hash = $1)", v.Hash)
			}
		}
		return err
	})
	return n, r.db.WrapError("delete old", "revisions", err)
}
