package tenant

import (
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// checkReferences rejects references to the process's variables and files.
func (d *Checker) checkReferences(n *yamltree.Node, p *tree.Place) {
	switch n.Kind {
	case yamltree.Mapping:
		for key, value := range n.Pairs {
			at := p.Field(key.Text, key)
			keeps := d.keepsRefs
			d.keepsRefs = keeps || at.Path() == keys.Patches+"."+keys.Workflows
			d.checkReferences(value, at)
			d.keepsRefs = keeps
		}
	case yamltree.Sequence:
		for i, child := range n.Children {
			d.checkReferences(child, p.Element(i))
		}
	case yamltree.String:
		text := n.Text
		if d.keepsRefs {
			text = expand.WithoutKeptRefs(text)
		}
		if at := expand.IndexReference(text, "${"); at >= 0 {
			d.checkReference(n, text[at:], p)
		}
	}
}

// checkReference checks the references in the rest of a text that begins with one.
func (d *Checker) checkReference(n *yamltree.Node, rest string, p *tree.Place) {
	for {
		name := rest[len("${"):]
		if !strings.HasPrefix(name, "turn.") && !strings.HasPrefix(name, "tenant.") {
			name, _, _ = strings.Cut(name, "}")
			d.refuse(p, n, "refer to ${%s}, which belongs to the process", clip.Text(name)).SetHint("write the value, ${turn.NAME} or ${tenant.NAME}, and $$ for a plain $")
			return
		}
		at := expand.IndexReference(name, "${")
		if at < 0 {
			return
		}
		rest = name[at:]
	}
}
