package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// A patch changes one entry of a registry. Patches are applied after all files are merged, in file
// order.
type patch struct {
	registry, id string
	// key is the id in the file; value is merged into the entry, or is null to remove it.
	key, value *yamltree.Node
	place      *tree.Place
	// mayWiden is set if the patch, or its whole file, sets allow_widening.
	mayWiden bool
}

// readPatches reads the patches of one file.
func (l *loader) readPatches(key, value *yamltree.Node) {
	top := tree.TopField(keys.Patches, key)
	all := l.readAllowWidening(value, top)
	for key, value := range value.Pairs {
		p := top.Field(key.Text, key)
		switch name := key.Text; {
		case name == keys.AllowWidening:
		case slices.Contains(keys.Patchable, name):
			l.readRegistryPatches(name, value, p, all)
		case keys.IsExtension(name):
			l.HideSecrets(value, false)
		default:
			l.UnknownPatches(key, value, p)
		}
	}
}

// readRegistryPatches reads the patches of the entries of one registry.
func (l *loader) readRegistryPatches(registry string, value *yamltree.Node, p *tree.Place, all bool) {
	if value.Kind == yamltree.Null {
		return
	}
	if value.Kind != yamltree.Mapping {
		l.file.Partial = true
		l.AddDiagnostic(diag.InvalidValue, p, value, "%s must be a mapping, not %s", p.Label(), value.Describe(false)).
			SetHint("write each patch under the id of its entry")
		l.HideSecrets(value, false)
		return
	}
	for key, value := range value.Pairs {
		at := p.Field(key.Text, key)
		switch {
		case value.Kind == yamltree.Null && value.Text == "":
			l.AddDiagnostic(diag.InvalidValue, at, value, "the patch of %s has no fields", clip.Text(key.Text)).
				SetHint("write null to remove the entry")
			continue
		case value.Kind != yamltree.Mapping && value.Kind != yamltree.Null:
			l.AddDiagnostic(diag.InvalidValue, at, value, "%s must be a mapping, not %s", at.Label(), value.Describe(false))
			l.HideSecrets(value, secret.IsHiddenName(key.Text))
			continue
		}
		mayWiden := l.readAllowWidening(value, at) || all
		l.patches = append(l.patches, patch{registry, key.Text, key, overlay.WithoutField(value, keys.AllowWidening), at, mayWiden})
	}
}

// readAllowWidening reads allow_widening from a mapping of patches or from one patch.
func (l *loader) readAllowWidening(n *yamltree.Node, p *tree.Place) bool {
	key, value := n.FindField(keys.AllowWidening)
	if value == nil || value.Kind == yamltree.Null {
		return false
	}
	if value.Kind != yamltree.Bool {
		l.AddDiagnostic(diag.InvalidValue, p.Field(keys.AllowWidening, key), value, "%s must be true or false, not %s", keys.AllowWidening, value.Describe(false))
		return false
	}
	return decode.LowerBool(value.Text) == "true"
}

// applyPatches merges the patches into the entries of the merged files.
func (l *loader) applyPatches(m *overlay.Tree) {
	for i := range l.patches {
		p := &l.patches[i]
		if l.leavesOut != nil && l.leavesOut(p) {
			continue
		}
		registry := m.OwnCollection(m.Root, p.registry)
		var target *yamltree.Node
		if registry != nil {
			target = m.FindEntry(registry, p.id)
		}
		if target == nil {
			l.reportUnmatched(p, registry)
			continue
		}
		l.file.patched = append(l.file.patched, *p)
		if p.value.Kind == yamltree.Null {
			l.HideSecrets(target, false)
			m.RemoveEntry(registry, p.id)
			l.Tree.Origins.SetCleared(registry, p.id, overlay.Clearing{Key: p.key, Value: p.value, Origin: overlay.Origin{Patched: true}})
			continue
		}
		o := l.newOverlayMerger(overlay.Origin{Patched: true})
		o.Replaced = func(key, value *yamltree.Node) { l.HideSecrets(value, secret.IsHiddenName(key.Text)) }
		merged := o.MergeInto(target, p.value, nil)
		if l.overlaid < 0 {
			l.reportOverlaid(p.place, p.key)
			return
		}
		m.ReplaceValue(registry, p.id, merged)
	}
}

// reportUnmatched reports a patch for an entry that does not exist.
func (l *loader) reportUnmatched(p *patch, registry *yamltree.Node) {
	l.HideSecrets(p.value, false)
	if l.file.Partial {
		return
	}
	var ids []string
	for key := range registry.Pairs {
		ids = append(ids, key.Text)
	}
	found := diag.New(diag.UnmatchedPatch, p.place.Path(), "there is no %s %q to patch", keys.RegistryNamed(p.registry).Noun, clip.Text(p.id)).WithNearest(p.id, ids)
	if found.Hint == "" {
		found = found.WithHint("patches change entries that exist; define it under %s", p.registry)
	}
	l.AddFinding(found, p.key)
}

func (l *loader) newOverlayMerger(by overlay.Origin) *overlay.Merger {
	return &overlay.Merger{Origins: &l.Tree.Origins, By: by, Left: &l.overlaid}
}

// reportOverlaid reports that merged entries exceed the limit.
func (l *loader) reportOverlaid(p *tree.Place, n *yamltree.Node) {
	l.file.Partial = true
	l.AddDiagnostic(diag.InvalidValue, p, n, "the configuration has more than %d fields after patches and extends are applied", overlay.MaxFields)
}
