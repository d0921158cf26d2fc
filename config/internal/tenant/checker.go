package tenant

import (
	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Checker checks an overlay before any of it is used.
type Checker struct {
	decode.Decoder

	base *Base
	// keepsRefs is set inside workflows, where references have another meaning.
	keepsRefs bool
}

// NewChecker returns a checker of an overlay on top of a base.
func NewChecker(base *Base) *Checker {
	return &Checker{Decoder: decode.Decoder{Tree: &tree.Tree{Origins: overlay.NewOrigins()}}, base: base}
}

// Read reads the text; it returns nil if unreadable.
func (d *Checker) Read(doc *tree.SourceFile) *yamltree.Node {
	d.Tree.Documents = append(d.Tree.Documents, doc)
	found, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf)
	d.AddAll(doc, found)
	if !ok || found.HasErrors() || !d.CheckVersion(doc) {
		return nil
	}
	return doc.Root
}

// refuse reports something that overlays in general, or this one, may not do.
func (d *Checker) refuse(p *tree.Place, n *yamltree.Node, format string, args ...any) decode.Reported {
	return d.AddDiagnostic(diag.WidenedAccess, p, n, "the overlay of a tenant cannot "+format, args...)
}
