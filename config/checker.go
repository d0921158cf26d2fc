package config

import (
	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// overlayChecker checks an overlay before any of it is used.
type overlayChecker struct {
	decode.Decoder

	base *overlayBase
	// keepsRefs is set inside workflows, where references have another meaning.
	keepsRefs bool
}

// newOverlayChecker returns a checker of an overlay on top of a base.
func newOverlayChecker(base *overlayBase) *overlayChecker {
	return &overlayChecker{Decoder: decode.Decoder{Tree: &tree.Tree{Origins: overlay.NewOrigins()}}, base: base}
}

// readOverlay reads the text; it returns nil if unreadable.
func (d *overlayChecker) readOverlay(doc *tree.SourceFile) *yamltree.Node {
	d.Tree.Documents = append(d.Tree.Documents, doc)
	found, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf)
	d.AddAll(doc, found)
	if !ok || found.HasErrors() || !d.CheckVersion(doc) {
		return nil
	}
	return doc.Root
}

// refuse reports something that overlays in general, or this one, may not do.
func (d *overlayChecker) refuse(p *tree.Place, n *yamltree.Node, format string, args ...any) decode.Reported {
	return d.AddDiagnostic(diag.WidenedAccess, p, n, "the overlay of a tenant cannot "+format, args...)
}
