package fleet

import (
	"bytes"
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

// What a fleet keeps are records of the store.
type (
	// Revision is one publication of a document.
	Revision = store.Revision
	// ConflictError reports that another revision is current than was expected.
	ConflictError = store.RevisionConflictError
	// Attempt records that somebody wanted to publish.
	Attempt = store.RevisionAttempt
	// Page selects a part of a list.
	Page = store.Page
	// RevisionPage is a part of the list of revisions.
	RevisionPage = store.RevisionPage
	// AttemptPage is a part of the list of attempts.
	AttemptPage = store.RevisionAttemptPage
)

// Revisions returns a page of revisions, the newest first, without their documents.
func (f *Fleet) Revisions(ctx context.Context, page Page) (RevisionPage, error) {
	return f.settings.Store.Revisions(ctx, store.RevisionQuery{Page: page})
}

// Attempts returns a page of what was to be published, the newest first.
func (f *Fleet) Attempts(ctx context.Context, page Page) (AttemptPage, error) {
	return f.settings.Store.RevisionAttempts(ctx, store.RevisionQuery{Page: page})
}

// Revision returns the latest revision with a hash. The error is a *NotFoundError for
// an unknown one.
func (f *Fleet) Revision(ctx context.Context, hash string) (*Revision, error) {
	r, err := f.settings.Store.Revision(ctx, "", hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &NotFoundError{Kind: "revision", ID: hash}
	}
	return r, err
}

// MaskDocument returns a document as it may be shown: values of fields that hold secrets,
// which earlier versions of the runtime stored, are masked.
func (f *Fleet) MaskDocument(document []byte) json.RawMessage {
	return config.MaskDocument(document, f.settings.Config)
}

// Diff compares what two revisions come to for each agent. Both are built in this
// process, with the values that variables have now.
func (f *Fleet) Diff(ctx context.Context, from, to string) (report *resolve.DiffReport, err error) {
	var both [2]*registry.Revision
	var files []*config.File
	var documents [2][]byte
	for i, hash := range []string{from, to} {
		r, err := f.Revision(ctx, hash)
		if err != nil {
			return nil, err
		}
		documents[i] = r.Document
		made, err := f.buildStored(ctx, r.Document)
		if err != nil {
			return nil, fmt.Errorf("revision %d cannot be built any more: %w", r.Number, err)
		}
		defer func() { _ = made.builder.Close() }() // what is not used has nothing to say
		files = append(files, made.file)
		if both[i], err = made.builder.BuildRevision(ctx); err != nil {
			return nil, err
		}
	}
	diffs, err := resolve.Diff(ctx, both[0], both[1])
	if err != nil {
		return nil, err
	}
	report = redactDiff(resolve.NewDiffReport(diffs), f.redactors(files...))
	return report, report.AddEntries(documents[0], documents[1])
}

// Rollback publishes the document of an earlier revision once more.
func (f *Fleet) Rollback(ctx context.Context, hash string, c *Change) (*Published, error) {
	r, err := f.Revision(ctx, hash)
	if err != nil {
		return nil, err
	}
	change := *c
	change.Document = r.Document
	return f.Publish(ctx, &change)
}

// Validate proves a document without storing anything. What is wrong with it is among
// the findings; the report compares it with what the process runs, and is nil for a
// document with errors.
func (f *Fleet) Validate(ctx context.Context, document []byte) (diag.List, *resolve.DiffReport, error) {
	out, err := f.Publish(ctx, &Change{Document: document, DryRun: true})
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

// Diagnostics returns what is known to be wrong or suspicious in the revision that the
// process runs.
func (f *Fleet) Diagnostics(ctx context.Context) (diag.List, error) {
	rev := f.settings.Runtime.AcquireRevision()
	defer rev.Release()
	list, _ := resolve.Check(ctx, rev)
	return f.redactFindings(f.placeFindings(f.currentFile(), list.Dedup())), ctx.Err()
}

// Explain describes what an agent resolves to in the revision that the process runs: a
// resolve.Summary as JSON, without the values of variables.
func (f *Fleet) Explain(ctx context.Context, agentID string) (json.RawMessage, error) {
	rev := f.settings.Runtime.AcquireRevision()
	defer rev.Release()
	return f.explain(ctx, rev, agentID, f.currentFile().DocumentDecisions(agentID, ""))
}

// explanation is what an agent resolves to, and where its fields were decided.
type explanation struct {
	*resolve.Summary

	Decisions []config.Decision `json:"decisions,omitempty"`
}

func (f *Fleet) explain(ctx context.Context, rev *registry.Revision, agentID string, decisions []config.Decision) (json.RawMessage, error) {
	e, err := resolve.Explain(ctx, rev, agentID)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e == nil {
		return nil, &NotFoundError{Kind: "agents", ID: agentID}
	}
	summary := resolve.Summarize(agentID, e, diag.FromError(err))
	return redactJSON(explanation{summary, decisions}, f.redactors())
}

// redactJSON returns a value as JSON, with the texts in it redacted.
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

// placeFindings gives diagnostics about what a document declares the paths of what decided,
// those of patches where patches did, and the name of the document. It changes the list.
func (f *Fleet) placeFindings(file *config.File, list diag.List) diag.List {
	nameDocument := func(span *diag.Span) {
		if span.File == f.documentName() {
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

// shownDocument is what the document of a revision is called in diagnostics.
const shownDocument = "document"

func (f *Fleet) redactFindings(list diag.List) diag.List {
	redact := f.redactors()
	for i := range list {
		list[i].Message, list[i].Hint = redact(list[i].Message), redact(list[i].Hint)
	}
	return list
}
