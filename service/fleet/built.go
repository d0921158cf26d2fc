package fleet

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// built is the result of building a document, before a runtime has it.
type built struct {
	file    *config.File
	builder *builder.AgentRuntimeBuilder
}

// build builds the declarations of a document. The caller closes the builder, or passes the
// result to a runtime.
func (c *core) build(ctx context.Context, document []byte) (*built, error) {
	return c.buildFrom(ctx, config.Source{Name: c.documentName(), Data: document})
}

// buildStored is build for the document of a revision of the store.
func (c *core) buildStored(ctx context.Context, document []byte) (*built, error) {
	return c.buildFrom(ctx, config.Source{Name: c.documentName(), Data: document, Stored: true})
}

func (c *core) buildFrom(ctx context.Context, source config.Source) (*built, error) {
	file, found := config.Parse([]config.Source{source}, c.settings.Config)
	if found.HasErrors() {
		return nil, &InvalidError{Findings: c.placeFindings(file, found)}
	}
	b := &built{file: file, builder: c.settings.NewBuilder().WithConfig(file)}
	c.settings.Learn(ctx, b.builder)
	return b, nil
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
