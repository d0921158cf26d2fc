package tenant

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

func (d *Checker) checkAgent(o *Changes, agent *yamltree.Node, p *tree.Place) {
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

func (d *Checker) checkSections(sections *yamltree.Node, p *tree.Place) {
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

func (d *Checker) checkTool(id, tool *yamltree.Node, p *tree.Place) {
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
func (d *Checker) checkAllowPrivate(list *yamltree.Node, p *tree.Place) {
	for i, entry := range list.Children {
		if entry.Kind == yamltree.String && !d.base.rights.MayReach(entry.Text) {
			d.refuse(p.Element(i), entry, "reach %s, which the configuration does not list", clip.Text(entry.Text)).
				SetHint("the configuration must allow it under tenants.may.allow_private")
		}
	}
}
