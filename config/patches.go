package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

const (
	patchesKey       = "patches"
	allowWideningKey = "allow_widening"

	patchesDoc       = "Changes of entries that are defined elsewhere: absent fields stay, null clears a field, mappings are merged, anything else is replaced."
	allowWideningDoc = "Whether patches may let agents do more than they may without them; otherwise that is an error."
)

// patchable lists the registries whose entries can be patched.
var patchable = []string{"providers", "models", "model_pools", "tools", "plugins", "agent_providers", "agents", workflowsKey}

// A patch changes one entry of a registry. Patches are applied after all files are merged, in file
// order.
type patch struct {
	registry, id string
	// key is the id in the file; value is merged into the entry, or is null to remove it.
	key, value *node
	place      *place
	// mayWiden is set if the patch, or its whole file, sets allow_widening.
	mayWiden bool
}

// readPatches reads the patches of one file.
func (l *loader) readPatches(key, value *node) {
	top := (*place)(nil).fieldPlace(patchesKey, key)
	all := l.readAllowWidening(value, top)
	for key, value := range value.pairs {
		p := top.fieldPlace(key.text, key)
		switch name := key.text; {
		case name == allowWideningKey:
		case slices.Contains(patchable, name):
			l.readRegistryPatches(name, value, p, all)
		case isExtension(name):
			l.hideSecrets(value, false)
		default:
			l.unknownPatches(key, value, p)
		}
	}
}

// readRegistryPatches reads the patches of the entries of one registry.
func (l *loader) readRegistryPatches(registry string, value *node, p *place, all bool) {
	if value.kind == nullNode {
		return
	}
	if value.kind != mappingNode {
		l.file.Partial = true
		l.addDiagnostic(diag.InvalidValue, p, value, "%s must be a mapping, not %s", p.label(), value.describe(false)).
			setHint("write each patch under the id of its entry")
		l.hideSecrets(value, false)
		return
	}
	for key, value := range value.pairs {
		at := p.fieldPlace(key.text, key)
		switch {
		case value.kind == nullNode && value.text == "":
			l.addDiagnostic(diag.InvalidValue, at, value, "the patch of %s has no fields", clip.Text(key.text)).
				setHint("write null to remove the entry")
			continue
		case value.kind != mappingNode && value.kind != nullNode:
			l.addDiagnostic(diag.InvalidValue, at, value, "%s must be a mapping, not %s", at.label(), value.describe(false))
			l.hideSecrets(value, hiddenName(key.text))
			continue
		}
		mayWiden := l.readAllowWidening(value, at) || all
		l.patches = append(l.patches, patch{registry, key.text, key, withoutField(value, allowWideningKey), at, mayWiden})
	}
}

// readAllowWidening reads allow_widening from a mapping of patches or from one patch.
func (l *loader) readAllowWidening(n *node, p *place) bool {
	key, value := n.findField(allowWideningKey)
	if value == nil || value.kind == nullNode {
		return false
	}
	if value.kind != boolNode {
		l.addDiagnostic(diag.InvalidValue, p.fieldPlace(allowWideningKey, key), value, "%s must be true or false, not %s", allowWideningKey, value.describe(false))
		return false
	}
	return lowerBool(value.text) == "true"
}

// unknownPatches reports a key of patches that is not a registry.
func (d *decoder) unknownPatches(key, value *node, p *place) {
	names := append(slices.Clone(patchable), allowWideningKey)
	found := d.addDiagnostic(diag.UnknownField, p, key, "unknown field %q", clip.Text(key.text))
	found.setHint(listAllowed(names))
	if near, ok := nearest.Of(key.text, names); ok {
		found.setHint(didYouMean(near))
	}
	d.hideSecrets(value, hiddenName(key.text))
}

// withoutField returns a mapping without a field.
func withoutField(n *node, name string) *node {
	if key, _ := n.findField(name); key == nil {
		return n
	}
	c := *n
	c.children = slices.Clone(n.children)
	for i := 0; i < len(c.children); i += 2 {
		if c.children[i].text == name {
			c.children = slices.Delete(c.children, i, i+2)
			break
		}
	}
	return &c
}

// applyPatches merges the patches into the entries of the merged files.
func (l *loader) applyPatches(m *merger) {
	for i := range l.patches {
		p := &l.patches[i]
		if l.leavesOut != nil && l.leavesOut(p) {
			continue
		}
		registry := m.ownCollection(m.root, p.registry)
		var target *node
		if registry != nil {
			target = m.findEntry(registry, p.id)
		}
		if target == nil {
			l.reportUnmatched(p, registry)
			continue
		}
		l.file.patched = append(l.file.patched, *p)
		if p.value.kind == nullNode {
			l.hideSecrets(target, false)
			m.removeEntry(registry, p.id)
			l.file.overlays.setCleared(registry, p.id, clearing{p.key, p.value, origin{patched: true}})
			continue
		}
		o := l.newOverlayMerger(origin{patched: true})
		o.replaced = func(key, value *node) { l.hideSecrets(value, hiddenName(key.text)) }
		merged := o.mergeInto(target, p.value, nil)
		if l.overlaid < 0 {
			l.reportOverlaid(p.place, p.key)
			return
		}
		m.replaceValue(registry, p.id, merged)
	}
}

// reportUnmatched reports a patch for an entry that does not exist.
func (l *loader) reportUnmatched(p *patch, registry *node) {
	l.hideSecrets(p.value, false)
	if l.file.Partial {
		return
	}
	var ids []string
	for key := range registry.pairs {
		ids = append(ids, key.text)
	}
	found := diag.New(diag.UnmatchedPatch, p.place.path(), "there is no %s %q to patch", registryNamed(p.registry).noun, clip.Text(p.id)).WithNearest(p.id, ids)
	if found.Hint == "" {
		found = found.WithHint("patches change entries that exist; define it under %s", p.registry)
	}
	l.addFinding(found, p.key)
}

func (l *loader) newOverlayMerger(by origin) *overlayMerger {
	return &overlayMerger{overlays: &l.file.overlays, by: by, left: &l.overlaid}
}

// reportOverlaid reports that merged entries exceed the limit.
func (l *loader) reportOverlaid(p *place, n *node) {
	l.file.Partial = true
	l.addDiagnostic(diag.InvalidValue, p, n, "the configuration has more than %d fields after patches and extends are applied", maxOverlaid)
}
