package fleet

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// History reads and compares stored revisions, and explains the running one. It is safe for
// concurrent use.
type History struct {
	*core
	lineage
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
	e, problem, err := explainAgent(ctx, rev, agentID)
	if err != nil {
		return nil, err
	}
	summary := resolve.Summarize(agentID, e, diag.FromError(problem))
	return redactJSON(explanation{summary, decisions, placesOf(summary)}, c.redactors())
}

// explainAgent returns how an agent resolves, and the problem if it does not. The error is a
// *NotFoundError, or from ctx.
func explainAgent(ctx context.Context, rev *registry.Revision, agentID string) (e *resolve.Explanation, problem, err error) {
	e, problem = resolve.Explain(ctx, rev, agentID)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if e == nil {
		return nil, nil, &NotFoundError{Kind: "agents", ID: agentID}
	}
	return e, problem, nil
}
