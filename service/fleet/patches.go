package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/config"
)

// Patch is one patch of a document.
type Patch = config.DocumentPatch

// PatchChange is a change of one patch.
type PatchChange struct {
	Registry, ID string
	// Value is the patch, a JSON object, or a JSON null that removes the entry; nil
	// removes the patch.
	Value json.RawMessage
	// Change describes how to publish it; its Document is not used.
	Change
}

// Patches returns the patches of the current overlay, and its revision. It returns a *NotFoundError
// for a tenant without an overlay.
func (t *Tenant) Patches(ctx context.Context) ([]Patch, *Revision, error) {
	current, err := t.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := config.DocumentPatches(t.fleet.MaskDocument(current.Document))
	return list, current, err
}

// Patch returns the patch of one entry. It returns a *NotFoundError if the entry has no patch.
func (t *Tenant) Patch(ctx context.Context, registry, id string) (*Patch, *Revision, error) {
	return findPatch(ctx, registry, id, t.Patches)
}

// PublishPatch publishes the expected overlay with one patch changed. In addition to the errors
// of Publish, it returns a *NotFoundError when removing an unknown patch.
func (t *Tenant) PublishPatch(ctx context.Context, c *PatchChange) (*Published, error) {
	before := []byte(`{"version":1}`)
	if c.Expected != "" {
		expected, err := t.Revision(ctx, c.Expected)
		if _, unknown := errors.AsType[*NotFoundError](err); unknown {
			return nil, t.fleet.conflictWith(ctx, t.tenant, c.Expected)
		}
		if err != nil {
			return nil, err
		}
		before = expected.Document
	}
	change, err := c.changeOf(before)
	if err != nil {
		return nil, t.fleet.orConflict(ctx, t.tenant, c.Expected, err)
	}
	return t.Publish(ctx, change)
}

// changeOf converts the change of a patch to a change of its document.
func (c *PatchChange) changeOf(before []byte) (*Change, error) {
	document, had, err := config.WithPatch(before, c.Registry, c.ID, c.Value)
	if err != nil {
		return nil, err
	}
	if c.Value == nil && !had {
		return nil, patchNotFound(c.Registry, c.ID)
	}
	change := c.Change
	change.Document = document
	return &change, nil
}

func patchNotFound(registry, id string) error {
	return &NotFoundError{Kind: "patches", ID: registry + "/" + id}
}

// findPatch returns the patch of an entry.
func findPatch(ctx context.Context, registry, id string, patches func(context.Context) ([]Patch, *Revision, error)) (*Patch, *Revision, error) {
	list, current, err := patches(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(list, func(p Patch) bool { return p.Registry == registry && p.ID == id })
	if at < 0 {
		return nil, current, patchNotFound(registry, id)
	}
	return &list[at], current, nil
}

// Patches returns the patches of the revision that the process runs, and that revision.
func (f *Editor) Patches(ctx context.Context) ([]Patch, *Revision, error) {
	v, err := f.currentView(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := config.DocumentPatches(v.document)
	return list, v.revision, err
}

// Patch returns the patch of one entry. It returns a *NotFoundError if the entry has no patch.
func (f *Editor) Patch(ctx context.Context, registry, id string) (*Patch, *Revision, error) {
	return findPatch(ctx, registry, id, f.Patches)
}

// PublishPatch publishes the expected revision with one patch changed. In addition to the errors
// of Publish, it returns a *NotFoundError when removing an unknown patch.
func (f *Editor) PublishPatch(ctx context.Context, c *PatchChange) (*Published, error) {
	base, err := f.expectedRevision(ctx, c.Expected)
	if err != nil {
		return nil, err
	}
	change, err := c.changeOf(base.Document)
	if err != nil {
		return nil, f.orConflict(ctx, "", c.Expected, err)
	}
	return f.publisher.Publish(ctx, change)
}
