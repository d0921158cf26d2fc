// Package tenant checks the overlays of tenants. An overlay may change and add only the entries that
// the configuration allows.
package tenant

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Sections are the top-level keys of an overlay, in order.
var Sections = []string{keys.Tools, keys.Agents, keys.Workflows, keys.Patches}

// Check checks an overlay and returns the entries that it changes.
func (d *Checker) Check(doc *tree.SourceFile) (*Changes, diag.List) {
	o := &Changes{Removed: map[string][]string{}}
	if found := d.base.checkOutline(doc.Data); found != nil {
		return o, found
	}
	root := d.Read(doc)
	if root != nil && d.checkCounts(root) {
		d.checkTop(o, root)
	}
	if d.Found.HasErrors() {
		d.Found.Sort([]string{doc.Name})
		return o, d.Found
	}
	reached := d.base.reachedBy(o.Agents)
	o.Agents = slices.DeleteFunc(reached, func(id string) bool { return slices.Contains(o.Removed[keys.Agents], id) })
	return o, nil
}

func (d *Checker) checkTop(o *Changes, root *yamltree.Node) {
	for key, value := range root.Pairs {
		p := tree.TopField(key.Text, key)
		switch {
		case key.Text == "version":
		case key.Text == keys.Patches && value.Kind == yamltree.Mapping:
			d.checkPatches(o, value, p)
		case key.Text == keys.Agents && value.Kind == yamltree.Mapping:
			for id, agent := range value.Pairs {
				o.Agents = append(o.Agents, id.Text)
				d.checkAgent(o, agent, p.Field(id.Text, id))
			}
		case key.Text == keys.Tools && value.Kind == yamltree.Mapping:
			for id, tool := range value.Pairs {
				o.Tools, o.OwnTools = append(o.Tools, id.Text), append(o.OwnTools, id.Text)
				d.checkTool(id, tool, p.Field(id.Text, id))
			}
		case key.Text == keys.Workflows && value.Kind == yamltree.Mapping:
			d.checkWorkflows(o, value, p)
		case value.Kind == yamltree.Null && slices.Contains(Sections, key.Text):
		case slices.Contains(keys.Top(), key.Text) && !slices.Contains(Sections, key.Text):
			d.refuse(p, key, "have %s", clip.Text(key.Text)).SetHint("allowed are patches, agents, tools and workflows")
		case slices.Contains(keys.Top(), key.Text):
			d.WrongTop(key, value, "a mapping")
		default:
			d.UnknownTop(key, value)
		}
		d.keepsRefs = key.Text == keys.Workflows
		d.checkReferences(value, p)
		d.keepsRefs = false
	}
}

func (d *Checker) checkPatches(o *Changes, patches *yamltree.Node, p *tree.Place) {
	for key, value := range patches.Pairs {
		at := p.Field(key.Text, key)
		switch {
		case key.Text == keys.AllowWidening:
			d.refuse(at, key, "allow itself to widen access").SetHint("its rights are in tenants.may of the configuration")
		case key.Text == keys.Agents && value.Kind == yamltree.Mapping:
			for id, patch := range value.Pairs {
				o.Agents = append(o.Agents, id.Text)
				d.checkPatch(o, keys.Agents, id, patch, at.Field(id.Text, id))
			}
		case key.Text == keys.Tools && value.Kind == yamltree.Mapping:
			for id, patch := range value.Pairs {
				d.checkPatch(o, keys.Tools, id, patch, at.Field(id.Text, id))
			}
		case key.Text == keys.Workflows && value.Kind == yamltree.Mapping:
			d.checkWorkflowPatches(o, key, value, at)
		case slices.Contains(keys.Patchable, key.Text) && value.Kind != yamltree.Null:
			d.refuse(at, key, "patch %s", key.Text).SetHint("allowed are patches of agents, tools and workflows")
		case !slices.Contains(keys.Patchable, key.Text):
			d.UnknownPatches(key, value, at)
		}
	}
}

func (d *Checker) checkPatch(o *Changes, registry string, id, patch *yamltree.Node, p *tree.Place) {
	switch {
	case patch.Kind == yamltree.Null:
		o.Removed[registry] = append(o.Removed[registry], id.Text)
	case registry == keys.Agents:
		d.checkAgent(o, patch, p)
	case patch.Kind == yamltree.Mapping:
		o.Tools = append(o.Tools, id.Text)
		for key := range patch.Pairs {
			if key.Text != "description" {
				d.refuse(p.Field(key.Text, key), key, "change %s of a tool of the configuration", clip.Text(key.Text)).
					SetHint("it can change only the description, or add a separate tool")
			}
		}
	}
}
