package rules

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// NextRevision returns the revision to publish, or the current one if it already has the
// document; isNew reports whether to store it.
func NextRevision(p *store.PublishRevision, current *store.Revision) (next *store.Revision, isNew bool, err error) {
	r := p.Revision
	r.Number, r.Parent, r.CreatedAt = 1, "", r.CreatedAt.UTC().Truncate(time.Microsecond)
	if current != nil {
		if current.Hash == r.Hash {
			return current, false, nil
		}
		r.Number, r.Parent = current.Number+1, current.Hash
	}
	if !p.Regardless && p.Expected != r.Parent {
		conflict := &store.RevisionConflictError{Expected: p.Expected}
		if current != nil {
			other := *current
			other.Document, conflict.Current = nil, &other
		}
		return nil, false, conflict
	}
	return &r, true, nil
}

// CheckBase returns store.ErrBaseChanged if an overlay is published over another base than it was
// proven over.
func CheckBase(p *store.PublishRevision, current string) error {
	if p.Revision.Tenant != "" && p.Base != "" && p.Base != current {
		return store.ErrBaseChanged
	}
	return nil
}

// CheckMark reports that tenants have published since a base was proven.
func CheckMark(p *store.PublishRevision, mark uint64) error {
	if p.Proven != nil && p.Proven.Mark != mark {
		return store.ErrOverlaysChanged
	}
	return nil
}

// CutOverlays cuts a list, which may have one overlay too many, to a page.
func CutOverlays(list []*store.Revision, q *store.OverlayQuery) store.OverlayPage {
	page := store.OverlayPage{Overlays: list}
	if size := q.Size(); len(list) > size {
		page.Overlays = list[:size]
		page.Next = list[size-1].Tenant
	}
	if !q.Documents {
		for _, r := range page.Overlays {
			r.Document = nil
		}
	}
	return page
}
