package config

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
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

// checkOverlay checks an overlay and returns what it changes.
func (d *overlayChecker) checkOverlay(doc *tree.SourceFile) (*overlayChanges, diag.List) {
	o := &overlayChanges{removed: map[string][]string{}}
	if found := d.base.checkOutline(doc.Data); found != nil {
		return o, found
	}
	root := d.readOverlay(doc)
	if root != nil && d.checkCounts(root) {
		d.checkTop(o, root)
	}
	if d.Found.HasErrors() {
		d.Found.Sort([]string{doc.Name})
		return o, d.Found
	}
	reached := d.base.reachedBy(o.agents)
	o.agents = slices.DeleteFunc(reached, func(id string) bool { return slices.Contains(o.removed[keys.Agents], id) })
	return o, nil
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

func (d *overlayChecker) checkTop(o *overlayChanges, root *yamltree.Node) {
	for key, value := range root.Pairs {
		p := tree.TopField(key.Text, key)
		switch {
		case key.Text == "version":
		case key.Text == keys.Patches && value.Kind == yamltree.Mapping:
			d.checkPatches(o, value, p)
		case key.Text == keys.Agents && value.Kind == yamltree.Mapping:
			for id, agent := range value.Pairs {
				o.agents = append(o.agents, id.Text)
				d.checkAgent(o, agent, p.Field(id.Text, id))
			}
		case key.Text == keys.Tools && value.Kind == yamltree.Mapping:
			for id, tool := range value.Pairs {
				o.tools, o.ownTools = append(o.tools, id.Text), append(o.ownTools, id.Text)
				d.checkTool(id, tool, p.Field(id.Text, id))
			}
		case key.Text == keys.Workflows && value.Kind == yamltree.Mapping:
			d.checkWorkflows(o, value, p)
		case value.Kind == yamltree.Null && slices.Contains(overlaySections, key.Text):
		case slices.Contains(keys.Top(), key.Text) && !slices.Contains(overlaySections, key.Text):
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

func (d *overlayChecker) checkPatches(o *overlayChanges, patches *yamltree.Node, p *tree.Place) {
	for key, value := range patches.Pairs {
		at := p.Field(key.Text, key)
		switch {
		case key.Text == keys.AllowWidening:
			d.refuse(at, key, "allow itself to widen access").SetHint("its rights are in tenants.may of the configuration")
		case key.Text == keys.Agents && value.Kind == yamltree.Mapping:
			for id, patch := range value.Pairs {
				o.agents = append(o.agents, id.Text)
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

func (d *overlayChecker) checkPatch(o *overlayChanges, registry string, id, patch *yamltree.Node, p *tree.Place) {
	switch {
	case patch.Kind == yamltree.Null:
		o.removed[registry] = append(o.removed[registry], id.Text)
	case registry == keys.Agents:
		d.checkAgent(o, patch, p)
	case patch.Kind == yamltree.Mapping:
		o.tools = append(o.tools, id.Text)
		for key := range patch.Pairs {
			if key.Text != "description" {
				d.refuse(p.Field(key.Text, key), key, "change %s of a tool of the configuration", clip.Text(key.Text)).
					SetHint("it can change only the description, or add a separate tool")
			}
		}
	}
}

func (d *overlayChecker) checkAgent(o *overlayChanges, agent *yamltree.Node, p *tree.Place) {
	for key, value := range agent.Pairs {
		at := p.Field(key.Text, key)
		switch {
		case key.Text == keys.AllowWidening:
			d.refuse(at, key, "allow itself to widen access").SetHint("its rights are in tenants.may of the configuration")
		case key.Text == keys.Extends && value.Kind == yamltree.String:
			o.extended = append(o.extended, value.Text)
		case key.Text == "system_prompt" && value.Kind == yamltree.Mapping:
			d.refuse(at, value, "read files").SetHint("write the prompt itself")
		case key.Text == "sections":
			d.checkSections(value, at)
		case record.Of(keys.AgentType).ByName[key.Text] != nil && !access.OverlaysMaySet(key.Text):
			d.refuse(at, key, "set %s", key.Text).SetHint("an agent of the configuration that has it can be extended")
		}
	}
}

func (d *overlayChecker) checkSections(sections *yamltree.Node, p *tree.Place) {
	for key := range sections.Pairs {
		if key.Text != spec.PermissionSection && !d.base.rights.MaySet(key.Text) {
			d.refuse(p.Field(key.Text, key), key, "set the section %s", clip.Text(key.Text)).SetHint("the configuration must allow it under tenants.may.sections")
		}
	}
}

// ownToolFields are the fields, by kind, allowed in tools added by an overlay.
var ownToolFields = map[string][]string{
	"http": {"type", "description", "parameters", "method", "url", "headers", "query", "body", "timeout", "timeout_ms", "effect", "max_output", "serial", allowPrivateKey},
	"mcp":  {"type", "url", "headers", "auth", "filter", "prefix", "connect_timeout", "connect_timeout_ms", "timeout", "timeout_ms", "effect", "max_output", "serial"},
}

// allowPrivateKey lists the private addresses that an http tool may reach.
const allowPrivateKey = "allow_private"

// programFields are the additional fields of an MCP server that runs as a program.
var programFields = []string{"command", "env"}

func (d *overlayChecker) checkTool(id, tool *yamltree.Node, p *tree.Place) {
	if d.base.has(keys.Tools, id.Text) {
		d.refuse(p, id, "replace a tool of the configuration").SetHint("give it another id")
		return
	}
	_, typ := tool.FindField("type")
	if typ == nil || typ.Kind != yamltree.String {
		return // reported when decoding
	}
	if !d.base.rights.MayBring(typ.Text) {
		d.refuse(p.Field("type", typ), typ, "bring a tool of kind %s", clip.Text(typ.Text)).SetHint("the configuration must allow it under tenants.may.kinds")
		return
	}
	for key, value := range tool.Pairs {
		if key.Text == allowPrivateKey {
			d.checkAllowPrivate(value, p.Field(key.Text, key))
		}
		program := typ.Text == "mcp" && slices.Contains(programFields, key.Text) && d.base.rights.MayBring("command")
		if allowed, bounded := ownToolFields[typ.Text]; bounded && !program && !slices.Contains(allowed, key.Text) {
			d.refuse(p.Field(key.Text, key), key, "set %s of a tool", clip.Text(key.Text)).SetHint("")
		}
	}
}

// checkAllowPrivate checks the private addresses that a tenant's tool wants to reach.
func (d *overlayChecker) checkAllowPrivate(list *yamltree.Node, p *tree.Place) {
	for i, entry := range list.Children {
		if entry.Kind == yamltree.String && !d.base.rights.MayReach(entry.Text) {
			d.refuse(p.Element(i), entry, "reach %s, which the configuration does not list", clip.Text(entry.Text)).
				SetHint("the configuration must allow it under tenants.may.allow_private")
		}
	}
}

// checkReferences rejects references to the process's variables and files.
func (d *overlayChecker) checkReferences(n *yamltree.Node, p *tree.Place) {
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
func (d *overlayChecker) checkReference(n *yamltree.Node, rest string, p *tree.Place) {
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

// hintUnmatched suggests an existing entry for a patch of an unknown one.
func (d *overlayChecker) hintUnmatched(found diag.Diagnostic) diag.Diagnostic {
	path, ok := diag.ParsePath(found.Path)
	if !ok || len(path) < 3 {
		return found
	}
	ids := make([]string, 0, len(d.base.entries[path[1].Key]))
	for id := range d.base.entries[path[1].Key] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	found.Hint = ""
	if found = found.WithNearest(path[2].Key, ids); found.Hint == "" {
		found = found.WithHint("patches change entries of the configuration; define it under %s", path[1].Key)
	}
	return found
}

// overlaySections are the top-level keys of an overlay, in order.
var overlaySections = []string{keys.Tools, keys.Agents, keys.Workflows, keys.Patches}
