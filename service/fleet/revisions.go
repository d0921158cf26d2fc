package fleet

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
)

// The types of a fleet's history are the store's records.
type (
	// Revision is one publication of a document.
	Revision = store.Revision
	// ConflictError reports that the current revision is not the expected one.
	ConflictError = store.RevisionConflictError
	// Attempt records an attempt to publish.
	Attempt = store.RevisionAttempt
	// Page selects a part of a list.
	Page = store.Page
	// RevisionPage is a part of the list of revisions.
	RevisionPage = store.RevisionPage
	// AttemptPage is a part of the list of attempts.
	AttemptPage = store.RevisionAttemptPage
)

// lineage reads the revisions of the base or of a tenant's overlay.
type lineage struct {
	store store.Revisions
	// tenant is empty for the base.
	tenant string
}

// Revisions returns a page of revisions, newest first, without their documents.
func (l *lineage) Revisions(ctx context.Context, page Page) (RevisionPage, error) {
	return l.store.Revisions(ctx, store.RevisionQuery{Tenant: l.tenant, Page: page})
}

// Attempts returns a page of publishing attempts, newest first.
func (l *lineage) Attempts(ctx context.Context, page Page) (AttemptPage, error) {
	return l.store.RevisionAttempts(ctx, store.RevisionQuery{Tenant: l.tenant, Page: page})
}

// Revision returns the latest revision with a hash. It returns a *NotFoundError for an unknown
// hash.
func (l *lineage) Revision(ctx context.Context, hash string) (*Revision, error) {
	r, err := l.store.Revision(ctx, l.tenant, hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &NotFoundError{Kind: "revision", ID: hash}
	}
	return r, err
}
