package rules

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// NextRevision returns the revision that publishing comes to, which is the current one
// if that has the document already; isNew reports whether it is to be stored.
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
