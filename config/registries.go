package config

import (
	"reflect"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/spec"
)

// registry is a top-level mapping of ids.
type registry struct {
	name, noun, doc string
}

// registries are the top-level mappings, in the order of the documentation.
var registries = []registry{
	{"providers", "provider", "What serves models: id to provider."},
	{"models", "model", "Models, each a provider's model under an id of its own."},
	{"model_pools", "model pool", "Groups of models that stand in for each other; their ids share the namespace of models."},
	{"tools", "tool", "Tools that agents can use: id to tool."},
	{"plugins", "plugin", "Plugins besides the built-in ones: id to plugin."},
	{"agent_providers", "agent provider", "Providers of agents that the runtime hosts: id to agent provider. Agents with endpoint: {backend: provider} run there."},
	{"agents", "agent", "Agents: id to agent."},
	{"schedules", "schedule", "Turns that are made when they are due: id to schedule."},
	{"workflows", "workflow", "Steps that schedules and events begin: id to workflow."},
}

func registryNamed(name string) *registry {
	for i := range registries {
		if registries[i].name == name {
			return &registries[i]
		}
	}
	return nil
}

// topNames are the top-level keys.
func topNames() []string {
	names := []string{"version"}
	for _, r := range registries {
		names = append(names, r.name)
	}
	names = append(names, "remote_agents", "defaults", patchesKey)
	for _, s := range processSettings {
		names = append(names, s.name)
	}
	return names
}

// eachEntry calls yield for each entry of a registry, after checking its id. sound
// reports whether the id is valid.
func (d *decoder) eachEntry(name string, yield func(id string, n *node, p *place, sound bool)) {
	key, value := d.file.root.findField(name)
	if value == nil {
		return
	}
	r := registryNamed(name)
	top := (*place)(nil).fieldPlace(name, key)
	outdented := d.findOutdented(value, top)
	for key, value := range value.pairs {
		if d.file.documents[key.document].hasTooManyErrors() || outdented[key] {
			continue
		}
		p := top.fieldPlace(key.text, key)
		found := spec.CheckID(p.path(), r.noun, key.text)
		if name == "tools" {
			found = spec.CheckToolID(p.path(), key.text)
		}
		for _, one := range found {
			d.addFinding(one, key)
		}
		yield(key.text, value, p, len(found) == 0)
	}
}

// findOutdented finds entries without a value whose fields stand beside them rather than
// below them, and reports the first field of each. It returns the keys of such entries
// and fields.
func (d *decoder) findOutdented(registry *node, top *place) map[*node]bool {
	var found map[*node]bool
	var entry *node // without a value
	reported := false
	for key, value := range registry.pairs {
		switch {
		case value.kind == nullNode && value.text == "":
			entry, reported = key, false
			continue
		case entry == nil, value.kind == mappingNode, key.document != entry.document:
			entry = nil
			continue
		case !reported:
			d.addDiagnostic(diag.InvalidValue, top.fieldPlace(key.text, key), key, "%s stands beside %s, not below it", clip.Text(key.text), clip.Text(entry.text)).
				setHint("indent it, and the fields after it, further than " + clip.Text(entry.text))
			reported, d.file.Partial = true, true
		}
		if found == nil {
			found = map[*node]bool{}
		}
		found[entry], found[key] = true, true
		d.hideSecrets(value, hiddenName(key.text))
	}
	return found
}

// decodeComponents decodes the registries whose entries have a type.
func (d *decoder) decodeComponents(kinds Kinds) {
	d.file.Providers = decodeKinds(d, "providers", kinds.Providers)
	d.file.Tools = decodeKinds(d, "tools", kinds.Tools)
	d.file.AgentProviders = decodeKinds(d, "agent_providers", kinds.AgentProviders)
	d.file.Plugins, d.file.PluginKinds = decodeKinds(d, "plugins", kinds.Plugins), kinds.Plugins
}

func decodeKinds[S, T any](d *decoder, name string, kinds []spec.Kind[S, T]) []Entry[spec.Kind[S, T]] {
	var list []Entry[spec.Kind[S, T]]
	known := kindsOf(kinds)
	d.eachEntry(name, func(id string, n *node, p *place, sound bool) {
		entry := Entry[spec.Kind[S, T]]{ID: id, Dir: d.file.dirOf(n)}
		before := d.countErrors()
		if i, ok := d.findKind(n, p, known); ok {
			entry.Kind = kinds[i]
			entry.Config = kinds[i].NewConfig()
			d.decodeComponent(id, n, p, entry.Config)
		}
		entry.Broken = !sound || entry.Config == nil || d.countErrors() > before
		list = append(list, entry)
	})
	return list
}

// findKind finds the kind that the type of an entry names.
func (d *decoder) findKind(n *node, p *place, kinds []kind) (int, bool) {
	if n.kind != mappingNode {
		d.addDiagnostic(diag.InvalidValue, p, n, "%s must be a mapping, not %s", p.label(), describeValue(n, false))
		return 0, false
	}
	types := make([]string, len(kinds))
	for i, k := range kinds {
		types[i] = k.typ
	}
	key, value := n.findField("type")
	if value == nil || value.kind == nullNode {
		d.reportMissingType(n, p, types)
		d.hideSecrets(n, false)
		return 0, false
	}
	at := p.fieldPlace("type", key)
	text, known, ok := d.readText(plain, value, at)
	if ok && known {
		for i, k := range kinds {
			if k.typ == text {
				return i, true
			}
		}
		found := d.addDiagnostic(diag.InvalidValue, at, value, "type cannot be %q; allowed are %s", clip.Text(value.text), joinAlternatives(types))
		if f, ok := findForeign(foreignKinds[p.parent.key], text); ok && !contains(types, f.field) && f.field != "" {
			found.setHint("")
		} else if ok {
			found.setHint(f.hintText())
		} else if near, ok := nearest.Of(text, types); ok {
			found.setHint(didYouMean(near))
		}
	}
	d.hideSecrets(n, false)
	return 0, false
}

// reportMissingType reports an entry without a type, and a key that is probably meant to
// be it.
func (d *decoder) reportMissingType(n *node, p *place, types []string) {
	for key := range n.pairs {
		if contains(typeNames, key.text) {
			d.addDiagnostic(diag.UnknownField, p.fieldPlace(key.text, key), key, "unknown field %q", clip.Text(key.text)).setHint("write type: " + joinAlternatives(types))
			return
		}
		if len(key.text) > len("types") {
			continue
		}
		if near, ok := nearest.Of(key.text, []string{"type"}); ok && key.text != near {
			d.addDiagnostic(diag.UnknownField, p.fieldPlace(key.text, key), key, "unknown field %q", clip.Text(key.text)).setHint(didYouMean(near))
			return
		}
	}
	hint := "allowed are " + joinAlternatives(types)
	_, args := n.findField("args")
	if p.parent.key == "tools" && args != nil {
		hint = "for an MCP server write type: mcp, and command: [program, argument] in place of command and args"
	}
	d.reportMissingField("type", n, p, hint)
}

// typeNames are what other systems call the type of a component.
var typeNames = []string{"kind", "provider", "vendor", "driver", "class", "transport"}

// decodeComponent decodes the fields of an entry into its kind's record.
func (d *decoder) decodeComponent(id string, n *node, p *place, config any) {
	v := reflect.ValueOf(config)
	if v.Kind() != reflect.Pointer || v.IsNil() || shapeOf(v.Type().Elem()) != recordShape {
		d.addDiagnostic(diag.InvalidValue, p, n, "%s cannot be set in a file (its type %T is not supported)", p.label(), config)
		return
	}
	start := len(d.found)
	r := recordOf(v.Type().Elem())
	if r.id != nil {
		v.Elem().FieldByIndex(r.id).SetString(id)
	}
	d.decodeFields(r, n, v.Elem(), p, "type")
	if validator, ok := config.(Validator); ok {
		d.addValidationFindings(start, p, n, validator.Validate())
	}
}

// decodeRecord decodes an entry whose record is known. It returns the number
// of diagnostics that there were before.
func decodeRecord[T any](d *decoder, id string, n *node, p *place) (record T, start int) {
	start = len(d.found)
	v := reflect.ValueOf(&record).Elem()
	r := d.kinds.recordOf(v.Type())
	if r.id != nil {
		v.FieldByIndex(r.id).SetString(id)
	}
	d.decodeFields(r, n, v, p, "")
	return record, start
}

func (d *decoder) decodeModels() {
	d.eachEntry("models", func(id string, n *node, p *place, _ bool) {
		m, start := decodeRecord[spec.Model](d, id, n, p)
		d.addValidationFindings(start, p, n, m.Validate())
		d.file.Models = append(d.file.Models, m)
	})
	_, models := d.file.root.findField("models")
	first := make(map[string]*node, len(d.file.Models))
	for key := range models.pairs {
		first[key.text] = key
	}
	d.eachEntry("model_pools", func(id string, n *node, p *place, _ bool) {
		pool, start := decodeRecord[spec.Pool](d, id, n, p)
		d.addValidationFindings(start, p, n, pool.Validate())
		if other := first[id]; other != nil {
			found := diag.New(diag.DuplicateID, p.path(), "%q is the id of a model and of a model pool", clip.Text(id)).
				WithHint("models and model pools share one namespace; rename one of them")
			d.reportDuplicate(found, p.node, other, diag.Key("models", id), "the model is here")
		}
		d.file.Pools = append(d.file.Pools, pool)
	})
}

// reportDuplicate reports a second definition; the one that stands first in the files
// counts as the first.
func (d *decoder) reportDuplicate(found diag.Diagnostic, n, first *node, path, message string) {
	found.Related = []diag.Related{{Message: message, Path: path, Span: d.file.documents[first.document].spanOfNode(first)}}
	d.addFinding(found, n)
}

func (d *decoder) remoteAgents() {
	key, value := d.file.root.findField("remote_agents")
	if value == nil {
		return
	}
	top := (*place)(nil).fieldPlace("remote_agents", key)
	seen := map[string]*place{}
	for i, n := range value.children {
		p := top.elementPlace(i)
		before := d.countErrors()
		source, start := decodeRecord[spec.RemoteSource](d, "", n, p)
		d.addValidationFindings(start, p, n, source.Validate())
		nameKey, name := n.findField("name")
		if name != nil && source.Name != "" {
			at := p.fieldPlace("name", nameKey)
			if first := seen[source.Name]; first != nil {
				_, other := value.children[first.parent.index].findField("name")
				found := diag.New(diag.DuplicateID, at.path(), "remote source %q is defined twice", clip.Text(source.Name))
				d.reportDuplicate(found, name, other, first.path(), "the first one is here")
			} else {
				seen[source.Name] = at
			}
		}
		if d.countErrors() > before {
			if d.file.BrokenSources == nil {
				d.file.BrokenSources = map[int]bool{}
			}
			d.file.BrokenSources[i] = true
		}
		// Kept also when it is wrong: its path is its place in the list.
		d.file.RemoteAgents = append(d.file.RemoteAgents, source)
	}
}

// agent is an agent as files declare it.
type agent struct {
	Extends string `json:"extends,omitempty" doc:"The agent whose fields this one inherits. Its own fields are merged over them: mappings key by key, lists and texts as a whole, and null clears a field."`
	spec.Agent
}

var agentType = reflect.TypeFor[agent]()

// decodeAgents decodes the defaults and the agents. What an agent inherits is
// checked together with the agent, but reported at the defaults only.
func (d *decoder) decodeAgents() {
	key, value := d.file.root.findField("defaults")
	inherited := map[string]bool{}
	if value != nil {
		p := (*place)(nil).fieldPlace("defaults", key)
		defaults, start := decodeRecord[spec.Defaults](d, "", value, p)
		d.addValidationFindings(start, p, value, append(withoutAgents(defaults.Validate()), checkForm(defaults.OutputSchema)...))
		d.file.Defaults = &defaults
		for key := range value.pairs {
			inherited[key.text] = true
		}
	}
	d.eachEntry("agents", func(id string, n *node, p *place, _ bool) {
		entry, start := decodeRecord[agent](d, id, n, p)
		agent := entry.Agent
		d.file.Agents = append(d.file.Agents, &agent)
		merged, origin := d.file.Defaults.Apply(&agent)
		found := checkForm(agent.OutputSchema)
		for _, one := range merged.Validate() {
			if origin.Path("", one.Path) != one.Path || one.Path == "model_id" && agent.ModelID == "" && inherited["model_id"] {
				continue // stands in the defaults, and is reported there
			}
			if one.Code == diag.MissingField && d.file.unextended[id] {
				continue // may be inherited
			}
			found = append(found, one.ForAgent(id))
		}
		d.addValidationFindings(start, p, n, found)
		for i := start; i < len(d.found); i++ {
			d.found[i].Agent = id
		}
	})
}

// checkForm reports that the form of an answer names fields where keywords belong.
// Those of requests are not checked for that: clients send what others accept.
func checkForm(output *spec.OutputSchema) diag.List {
	if output == nil {
		return nil
	}
	return check.Within("output_schema", spec.CheckShorthand("schema", output.Schema))
}

// withoutAgents returns the diagnostics of the defaults that do not depend on what the
// agents say: an agent may name the model, and declare the variables of the prompt.
func withoutAgents(list diag.List) diag.List {
	out := list[:0:0]
	for _, one := range list {
		if one.Path != "model_id" && one.Code != diag.UndeclaredVariable {
			out = append(out, one)
		}
	}
	return out
}
