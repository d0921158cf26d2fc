package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Revision is one publication of a document, which declares agents, models, tools and
// whatever else turns resolve to.
type Revision struct {
	// Tenant is the team or customer that sees the revision; empty is the base.
	Tenant string
	// Number counts the revisions of a tenant from 1. The store chooses it.
	Number uint64
	// Hash identifies the document. Parent is the hash of the revision that was current before;
	// empty for the first. A document that is published again gets a new number but the same
	// hash.
	Hash, Parent string
	// Document is canonical JSON, without secrets. Lists leave it out.
	Document []byte
	// Author published the revision, and Note says why.
	Author, Note string
	// Findings are the diagnostics of the document's dry run, as JSON; nil if none.
	Findings []byte
	// CreatedAt is the time of publication.
	CreatedAt time.Time
}

// PublishRevision makes a document current.
type PublishRevision struct {
	// Revision is the revision to publish. The store sets Number and Parent.
	Revision Revision
	// Expected is the hash that the caller found to be current; empty if none. Regardless publishes
	// whatever is current.
	Expected   string
	Regardless bool
	// Base is the hash of the base that a tenant's overlay was proven over; empty means any. The
	// error is ErrBaseChanged if another base is current.
	Base string
	// Attempt records who tried to publish, in the same transaction; nil records nothing. The store
	// sets its outcome: the document is new or already current.
	Attempt *RevisionAttempt
	// HasWorkflows reports whether a tenant's overlay brings or changes workflows.
	HasWorkflows bool
	// Proven is set for a base and has the results of checking the tenants' overlays over it; nil
	// changes nothing for tenants.
	Proven *ProvenOverlays
}

// AttemptOf returns the attempt to store with a document, which is new or already current; nil if
// none.
func (p *PublishRevision) AttemptOf(isNew bool) *RevisionAttempt {
	if p.Attempt == nil {
		return nil
	}
	a := *p.Attempt
	if a.Outcome = RevisionUnchanged; isNew {
		a.Outcome = RevisionPublished
	}
	return &a
}

// ProvenOverlays are the overlays of all tenants at the time a base was proven to resolve with
// them.
type ProvenOverlays struct {
	// Mark is the previous result of Store.OverlayMark. PublishRevision returns ErrOverlaysChanged
	// if a tenant has published since.
	Mark uint64
	// Held are the tenants that stay over another base. All others follow the new one.
	Held []HeldOverlay
}

// HeldOverlay is a tenant whose overlay does not resolve over the current base.
type HeldOverlay struct {
	Tenant string
	// Base is the hash of the base that the tenant stays over.
	Base string
}

// OverlayState is the current state of a tenant.
type OverlayState struct {
	// Hash is the hash of the overlay; empty if absent.
	Hash string
	// Base is the hash of the base that the tenant stays over; empty is the current one.
	Base string
}

// TenantOverlay is the current state of a tenant, with its name.
type TenantOverlay struct {
	Tenant string
	OverlayState
}

// OverlayQuery selects tenants with overlays, by name.
type OverlayQuery struct {
	// After is the name of the last tenant of the previous page; empty for the first page.
	After string
	// Limit is the maximum number of tenants; DefaultPage if 0.
	Limit int
	// Documents includes the documents.
	Documents bool
}

// Size returns the maximum number of tenants in a page.
func (q *OverlayQuery) Size() int { return Page{Limit: q.Limit}.Size() }

// OverlayPage is a part of the list of tenants with overlays.
type OverlayPage struct {
	// Overlays are the current revisions of the tenants, sorted by tenant.
	Overlays []*Revision
	// Next is the After of the next page; empty for the last page.
	Next string
}

var (
	// ErrBaseChanged reports that the current base is not the one that an overlay was proven over.
	ErrBaseChanged = errors.New("the base has changed since the check")
	// ErrOverlaysChanged reports that a tenant has published since a base was proven.
	ErrOverlaysChanged = errors.New("a tenant's overlay has changed since the check")
)

// RevisionConflictError reports that the current revision is not the expected one.
type RevisionConflictError struct {
	Expected string
	// Current is the current revision, without its document; nil if absent.
	Current *Revision
}

// Error names both revisions.
func (e *RevisionConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("revision %.12s was expected, and none is published", e.Expected)
	}
	if e.Expected == "" {
		return fmt.Sprintf("no revision was expected, and revision %d (%.12s) is current", e.Current.Number, e.Current.Hash)
	}
	return fmt.Sprintf("revision %.12s was expected, and revision %d (%.12s) is current", e.Expected, e.Current.Number, e.Current.Hash)
}

// RevisionBuild records that a process has built a document into something that turns run in. It
// leads from a turn, which names the build, to the document.
type RevisionBuild struct {
	// Build is the hash that turns name in Turn.Revision.
	Build string
	// Tenant and Hash name the document.
	Tenant, Hash string
	// Base is the hash of the base below a tenant's overlay.
	Base string
	// Components are the program's additions to the document, as JSON.
	Components []byte
	BuiltAt    time.Time
}

// RevisionOutcome is the outcome of an attempt to publish.
type RevisionOutcome string

// The outcomes.
const (
	// RevisionPublished made a revision current.
	RevisionPublished RevisionOutcome = "published"
	// RevisionUnchanged found it current.
	RevisionUnchanged RevisionOutcome = "unchanged"
	// RevisionConflicted found a current revision other than the expected one.
	RevisionConflicted RevisionOutcome = "conflict"
	// RevisionRefused found an error in the document.
	RevisionRefused RevisionOutcome = "refused"
)

// RevisionAttempt records an attempt to publish.
type RevisionAttempt struct {
	// Seq is the position of the attempt in the order of storing.
	Seq    uint64
	Tenant string
	// Hash is the hash of the document, if it could be read. Expected is the revision that the
	// change expected to be current.
	Hash, Expected string
	Author, Note   string
	Outcome        RevisionOutcome
	// Findings are the diagnostics, as JSON; nil if none.
	Findings []byte
	At       time.Time
}

// RevisionQuery selects revisions, or attempts, of a tenant.
type RevisionQuery struct {
	Tenant string
	Page   Page
}

// RevisionPage is a part of the list of revisions.
type RevisionPage struct {
	Revisions []*Revision
	// Next is the cursor of the next page; empty for the last page.
	Next string
}

// RevisionAttemptPage is a part of the list of attempts.
type RevisionAttemptPage struct {
	Attempts []RevisionAttempt
	// Next is the cursor of the next page; empty for the last page.
	Next string
}

// Revisions is the part of a Store that keeps published revisions.
type Revisions interface {
	// PublishRevision makes a document current and returns its revision. It returns a document that
	// is already current unchanged, so a request may be repeated. It moves a publishing tenant to
	// the current base. The error is a *RevisionConflictError if the current revision is not the
	// expected one, ErrBaseChanged or ErrOverlaysChanged.
	PublishRevision(ctx context.Context, p *PublishRevision) (*Revision, error)
	// CurrentRevision returns the most recently published revision. The error is ErrNotFound for a
	// tenant without revisions.
	CurrentRevision(ctx context.Context, tenant string) (*Revision, error)
	// CurrentHash returns the hash of the current revision; empty if absent. It is cheap: each
	// process calls it every second.
	CurrentHash(ctx context.Context, tenant string) (string, error)
	// Overlay returns the current state of a tenant. It is as cheap as CurrentHash.
	Overlay(ctx context.Context, tenant string) (OverlayState, error)
	// Overlays returns a page of the tenants with revisions, without the base.
	Overlays(ctx context.Context, q OverlayQuery) (OverlayPage, error)
	// WorkflowOverlays returns the current state of tenants whose workflows differ from the
	// current base: their overlays have workflows, or use another base. It returns at most limit
	// tenants, sorted by name, starting after the given one. The cost grows with the result, not
	// with all tenants.
	WorkflowOverlays(ctx context.Context, after string, limit int) ([]TenantOverlay, error)
	// OverlayMark returns a number that grows whenever a tenant publishes.
	OverlayMark(ctx context.Context) (uint64, error)
	// Revision returns the latest revision with a hash. The error is ErrNotFound if the tenant
	// has none.
	Revision(ctx context.Context, tenant, hash string) (*Revision, error)
	// Revisions returns a page of the revisions of a tenant, newest first, without their documents.
	Revisions(ctx context.Context, q RevisionQuery) (RevisionPage, error)
	// AddRevisionBuild stores a build. It ignores a known build. The error is ErrNotFound if no
	// revision has its hash.
	AddRevisionBuild(ctx context.Context, b RevisionBuild) error
	// BuiltRevision returns a build and the revision it was built from. The error is ErrNotFound
	// for an unknown build.
	BuiltRevision(ctx context.Context, build string) (*RevisionBuild, *Revision, error)
	// AddRevisionAttempt stores an attempt.
	AddRevisionAttempt(ctx context.Context, a RevisionAttempt) error
	// RevisionAttempts returns a page of the attempts of a tenant, newest first.
	RevisionAttempts(ctx context.Context, q RevisionQuery) (RevisionAttemptPage, error)
}
