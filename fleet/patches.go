package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
)

// Patch is one patch of an overlay.
type Patch = config.DocumentPatch

// PatchChange is a change of one patch.
type PatchChange struct {
	Registry, ID string
	// Value is the patch, a JSON object, or a JSON null that removes the entry; nil
	// removes the patch.
	Value json.RawMessage
	// Change is how it is published; its Document is not used.
	Change
}

// Patches returns the patches of the current overlay, and that revision. The error is a
// *NotFoundError for a tenant without one.
func (t *Tenant) Patches(ctx context.Context) ([]Patch, *Revision, error) {
	current, err := t.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := config.DocumentPatches(current.Document)
	return list, current, err
}

// Patch returns the patch of one entry. The error is a *NotFoundError without one.
func (t *Tenant) Patch(ctx context.Context, registry, id string) (*Patch, *Revision, error) {
	list, current, err := t.Patches(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(list, func(p Patch) bool { return p.Registry == registry && p.ID == id })
	if at < 0 {
		return nil, current, &NotFoundError{Kind: "patches", ID: registry + "/" + id}
	}
	return &list[at], current, nil
}

// PublishPatch publishes the overlay that is expected with one patch changed. Besides the
// errors of Publish there is a *NotFoundError for a patch that is to be removed.
func (t *Tenant) PublishPatch(ctx context.Context, c *PatchChange) (*Published, error) {
	before := []byte(`{"version":1}`)
	if c.Expected != "" {
		expected, err := t.Revision(ctx, c.Expected)
		if _, unknown := errors.AsType[*NotFoundError](err); unknown {
			return nil, t.fleet.conflictWith(ctx, t.name, c.Expected)
		}
		if err != nil {
			return nil, err
		}
		before = expected.Document
	}
	document, had, err := config.WithPatch(before, c.Registry, c.ID, c.Value)
	if err != nil {
		return nil, err
	}
	if c.Value == nil && !had {
		return nil, &NotFoundError{Kind: "patches", ID: c.Registry + "/" + c.ID}
	}
	change := c.Change
	change.Document = document
	return t.Publish(ctx, &change)
}

// PublishPatch publishes the revision that is expected with a patch merged into one of
// its entries: the patch itself is not kept.
func (f *Fleet) PublishPatch(ctx context.Context, c *PatchChange) (*Published, error) {
	base, err := f.expectedRevision(ctx, c.Expected)
	if err != nil {
		return nil, err
	}
	patches, err := json.Marshal(map[string]map[string]json.RawMessage{c.Registry: {c.ID: c.Value}})
	if err != nil {
		return nil, err
	}
	document, found := config.ApplyPatches(base.Document, patches)
	if found.HasErrors() {
		return nil, &InvalidError{Findings: found}
	}
	change := c.Change
	change.Document = document
	return f.Publish(ctx, &change)
}

// conflictWith returns the conflict of a change of a revision that does not exist.
func (f *Fleet) conflictWith(ctx context.Context, tenant, expected string) error {
	current, err := f.settings.Store.CurrentRevision(ctx, tenant)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return &store.RevisionConflictError{Expected: expected, Current: current}
}
