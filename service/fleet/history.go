package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
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

// History reads and compares stored revisions, and explains the running one. It is safe for
// concurrent use.
type History struct {
	*core
	lineage
}

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

// MaskDocument returns a document for display: it masks values of secret fields, which earlier
// runtime versions stored.
func (c *core) MaskDocument(document []byte) json.RawMessage {
	return config.MaskDocument(document, c.settings.Config)
}

// Diff compares two revisions agent by agent. It builds both in this process, with the current
// values of variables.
func (h *History) Diff(ctx context.Context, from, to string) (report *resolve.DiffReport, err error) {
	var both [2]*registry.Revision
	var files []*config.File
	var documents [2][]byte
	for i, hash := range []string{from, to} {
		r, err := h.Revision(ctx, hash)
		if err != nil {
			return nil, err
		}
		documents[i] = r.Document
		made, err := h.buildStored(ctx, r.Document)
		if err != nil {
			return nil, fmt.Errorf("revision %d cannot be built any more: %w", r.Number, err)
		}
		defer func() { _ = made.builder.Close() }() // only compared, never used
		files = append(files, made.file)
		if both[i], err = made.builder.BuildRevision(ctx); err != nil {
			return nil, err
		}
	}
	diffs, err := resolve.Diff(ctx, both[0], both[1])
	if err != nil {
		return nil, err
	}
	report = redactDiff(resolve.NewDiffReport(diffs), h.redactors(files...))
	return report, report.AddEntries(documents[0], documents[1])
}

// Rollback publishes the document of an earlier revision again.
func (p *Publisher) Rollback(ctx context.Context, hash string, c *Change) (*Published, error) {
	return p.history.rollBack(ctx, hash, c, p.Publish)
}

// publisher publishes changes of one lineage.
type publisher func(context.Context, *Change) (*Published, error)

// rollBack publishes an earlier revision again, with a default note.
func (l *lineage) rollBack(ctx context.Context, hash string, c *Change, publish publisher) (*Published, error) {
	r, err := l.Revision(ctx, hash)
	if err != nil {
		return nil, err
	}
	change := *c
	change.Document = r.Document
	change.Note = cmp.Or(c.Note, fmt.Sprintf("rollback to revision %d", r.Number))
	return publish(ctx, &change)
}

// Validate checks a document without storing anything. Problems are returned as findings. The
// report compares the document with the running revision; it is nil for a document with errors.
func (p *Publisher) Validate(ctx context.Context, document []byte) (diag.List, *resolve.DiffReport, error) {
	return dryRun(ctx, document, p.Publish)
}

// dryRun publishes a document without storing it.
func dryRun(ctx context.Context, document []byte, publish publisher) (diag.List, *resolve.DiffReport, error) {
	out, err := publish(ctx, &Change{Document: document, DryRun: true})
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid.Findings, nil, nil
	}
	if plain, ok := errors.AsType[*config.PlainSecretError](err); ok {
		return plain.Findings(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return out.Findings, out.Diff, nil
}

// Diagnostics returns the known problems of the running revision.
func (h *History) Diagnostics(ctx context.Context) (diag.List, error) {
	rev := h.settings.Runtime.AcquireRevision()
	defer rev.Release()
	list, _ := resolve.Check(ctx, rev)
	return h.redactFindings(h.placeFindings(h.currentFile(), list.Dedup())), ctx.Err()
}

// Explain describes how an agent resolves in the running revision: a resolve.Summary as JSON,
// without the values of variables.
func (h *History) Explain(ctx context.Context, agentID string) (json.RawMessage, error) {
	rev := h.settings.Runtime.AcquireRevision()
	defer rev.Release()
	return h.explain(ctx, rev, agentID, h.currentFile().DocumentDecisions(agentID, ""), h.placesOf)
}

// explanation describes how an agent resolves and where its fields come from.
type explanation struct {
	*resolve.Summary

	Decisions []config.Decision `json:"decisions,omitempty"`
	// Places maps configuration paths to their locations in the files. It is absent if the store
	// decides.
	Places map[string]string `json:"places,omitempty"`
}

// placesOf returns the locations of a summary's agent and of the rules about its tools.
func (h *History) placesOf(s *resolve.Summary) map[string]string {
	if h.settings.FromStore || s.Path == "" {
		return nil
	}
	file, places := h.currentFile(), map[string]string{}
	note := func(path string) {
		if place := file.Place(path); place != "" {
			places[path] = place
		}
	}
	note(s.Path)
	for i := range s.Tools {
		t := &s.Tools[i]
		note(diag.Key("tools", t.ID))
		if t.Rule.Field != "" {
			note(diag.Index(diag.Key(s.Path, string(t.Rule.Field)), t.Rule.Index))
		}
		if t.Verdict.Path != "" {
			note(s.Path + "." + t.Verdict.Path)
		}
	}
	return places
}

func (c *core) explain(ctx context.Context, rev *registry.Revision, agentID string, decisions []config.Decision, placesOf func(*resolve.Summary) map[string]string) (json.RawMessage, error) {
	e, err := resolve.Explain(ctx, rev, agentID)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e == nil {
		return nil, &NotFoundError{Kind: "agents", ID: agentID}
	}
	summary := resolve.Summarize(agentID, e, diag.FromError(err))
	return redactJSON(explanation{summary, decisions, placesOf(summary)}, c.redactors())
}

// redactJSON returns a value as JSON with its texts redacted.
func redactJSON(v any, redact func(string) string) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	return json.Marshal(redactTexts(decoded, redact))
}

// redactTexts redacts the texts in a decoded JSON value.
func redactTexts(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		for i := range v {
			v[i] = redactTexts(v[i], redact)
		}
	case map[string]any:
		for name := range v {
			v[name] = redactTexts(v[name], redact)
		}
	}
	return v
}

// placeFindings sets the document's name in diagnostics and points each one at the declaration or
// patch that decided. It modifies the list.
func (c *core) placeFindings(file *config.File, list diag.List) diag.List {
	nameDocument := func(span *diag.Span) {
		if span.File == c.documentName() {
			span.File = shownDocument
		}
	}
	for i := range list {
		list[i].Path = file.DecidedPath(list[i].Path)
		nameDocument(&list[i].Span)
		list[i].Related = slices.Clone(list[i].Related)
		for j := range list[i].Related {
			nameDocument(&list[i].Related[j].Span)
		}
	}
	return list
}

// shownDocument is the name of a revision's document in diagnostics.
const shownDocument = "document"

func (c *core) redactFindings(list diag.List) diag.List {
	redact := c.redactors()
	for i := range list {
		list[i].Message, list[i].Hint = redact(list[i].Message), redact(list[i].Hint)
	}
	return list
}
