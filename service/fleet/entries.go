package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/store"
)

// Registries are the parts of a document whose entries can be read and changed individually.
var Registries = []string{"agents", "models", "model_pools", "tools", "providers", "plugins", "agent_providers", "workflows"}

// Editor reads and publishes single entries and patches. It is safe for concurrent use.
type Editor struct {
	*core
	history   *History
	publisher *Publisher

	// viewed is the most recently viewed document.
	viewed *view
}

// view is a document with indexed entries, for lists.
type view struct {
	revision *store.Revision
	// document is the revision's document without secrets.
	document []byte

	mu      sync.Mutex
	entries map[string][]Entry
}

// Current returns the revision that the process runs, with its document. It returns ErrNotStored if
// the store does not have it.
func (f *Editor) Current(ctx context.Context) (*Revision, error) {
	v, err := f.currentView(ctx)
	if err != nil {
		return nil, err
	}
	return v.revision, nil
}

// currentView returns the document that the process runs. It reads the document once per revision.
func (f *Editor) currentView(ctx context.Context) (*view, error) {
	running := f.Running()
	if running.Hash == "" {
		return nil, ErrNotStored
	}
	f.mu.Lock()
	v := f.viewed
	f.mu.Unlock()
	if v != nil && v.revision.Hash == running.Hash && v.revision.Number == running.Number {
		return v, nil
	}
	r, err := f.settings.Store.Revision(ctx, "", running.Hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotStored
	}
	if err != nil {
		return nil, err
	}
	v = &view{revision: r, document: f.MaskDocument(r.Document), entries: make(map[string][]Entry)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewed = v
	return v, nil
}

// Entry is an entry of a registry, as in the document.
type Entry struct {
	config.DocumentEntry

	// IsPatched is set if the document also has a patch of the entry.
	IsPatched bool
}

// list returns the entries of a registry. The caller must not modify them.
func (v *view) list(registry string) ([]Entry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list, known := v.entries[registry]
	if known {
		return list, nil
	}
	found, err := config.DocumentEntries(v.document, registry)
	if err != nil {
		return nil, err
	}
	patches, err := config.DocumentPatches(v.document)
	if err != nil {
		return nil, err
	}
	patched := make(map[string]bool)
	for _, p := range patches {
		if p.Registry == registry {
			patched[p.ID] = true
		}
	}
	list = make([]Entry, len(found))
	for i, e := range found {
		list[i] = Entry{e, patched[e.ID]}
	}
	v.entries[registry] = list
	return list, nil
}

// Entries returns the entries of a registry in the revision that the process runs, in order, and
// that revision. The caller must not modify the list.
func (f *Editor) Entries(ctx context.Context, registry string) ([]Entry, *Revision, error) {
	v, err := f.currentView(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := v.list(registry)
	return list, v.revision, err
}

// Entry returns one entry. It returns a *NotFoundError for an unknown id.
func (f *Editor) Entry(ctx context.Context, registry, id string) (Entry, *Revision, error) {
	list, revision, err := f.Entries(ctx, registry)
	if err != nil {
		return Entry{}, nil, err
	}
	at := slices.IndexFunc(list, func(one Entry) bool { return one.ID == id })
	if at < 0 {
		return Entry{}, revision, &NotFoundError{Kind: registry, ID: id}
	}
	return list[at], revision, nil
}

// EntryChange is a change of one entry.
type EntryChange struct {
	Registry, ID string
	// Value is the new entry as a JSON object; nil removes it.
	Value json.RawMessage
	// Change describes how to publish the entry; its Document is not used.
	Change
}

// PublishEntry publishes the expected revision with one entry changed. In addition to the errors
// of Publish, it returns a *NotFoundError or an *InUseError when removing an entry.
func (f *Editor) PublishEntry(ctx context.Context, e *EntryChange) (*Published, error) {
	base, err := f.expectedRevision(ctx, e.Expected)
	if err != nil {
		return nil, err
	}
	document, had, err := config.WithEntry(base.Document, e.Registry, e.ID, e.Value)
	if err != nil {
		return nil, err
	}
	if e.Value == nil && !had {
		return nil, f.orConflict(ctx, "", e.Expected, &NotFoundError{Kind: e.Registry, ID: e.ID})
	}
	change := e.Change
	change.Document = document
	out, err := f.publisher.Publish(ctx, &change)
	if invalid, ok := errors.AsType[*InvalidError](err); ok && e.Value == nil {
		return nil, &InUseError{Kind: e.Registry, ID: e.ID, UsedBy: pathsOf(invalid.Findings.Errors())}
	}
	return out, err
}

// expectedRevision returns the revision that a change is based on. It returns a conflict for an
// unknown revision.
func (f *Editor) expectedRevision(ctx context.Context, hash string) (*Revision, error) {
	if v, err := f.currentView(ctx); err == nil && v.revision.Hash == hash {
		return v.revision, nil
	}
	r, err := f.history.Revision(ctx, hash)
	if _, unknown := errors.AsType[*NotFoundError](err); unknown {
		return nil, f.conflictWith(ctx, "", hash)
	}
	return r, err
}

// conflictWith returns the conflict of a change that is not based on the current revision.
func (c *core) conflictWith(ctx context.Context, tenant, expected string) error {
	current, err := c.settings.Store.CurrentRevision(ctx, tenant)
	switch {
	case errors.Is(err, store.ErrNotFound):
		current = nil
	case err != nil:
		return err
	default:
		current.Document = nil
	}
	return &ConflictError{Expected: expected, Current: current}
}

// orConflict returns the error of a change, or a conflict if another revision has become current,
// since that may contain the entry that the change did not find.
func (f *Editor) orConflict(ctx context.Context, tenant, expected string, err error) error {
	conflict, ok := errors.AsType[*ConflictError](f.conflictWith(ctx, tenant, expected))
	if !ok || conflict.Current == nil || conflict.Current.Hash == expected {
		return err
	}
	return conflict
}

// pathsOf returns the paths of diagnostics, each once.
func pathsOf(list diag.List) []string {
	var paths []string
	for i := range list {
		if !slices.Contains(paths, list[i].Path) {
			paths = append(paths, list[i].Path)
		}
	}
	return paths
}
