package config

import (
	"path/filepath"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// eachEntry calls yield for each entry of a registry, after checking its id. sound
// reports whether the id is valid.
func (l *loader) eachEntry(name string, yield func(id string, n *yamltree.Node, p *tree.Place, sound bool)) {
	key, value := l.Tree.Root.FindField(name)
	if value == nil {
		return
	}
	r := keys.RegistryNamed(name)
	top := tree.TopField(name, key)
	outdented := l.findOutdented(value, top)
	for key, value := range value.Pairs {
		if l.Tree.Documents[key.Document].HasTooManyErrors() || outdented[key] {
			continue
		}
		p := top.Field(key.Text, key)
		found := spec.CheckID(p.Path(), r.Noun, key.Text)
		if name == "tools" {
			found = spec.CheckToolID(p.Path(), key.Text)
		}
		for _, one := range found {
			l.AddFinding(one, key)
		}
		yield(key.Text, value, p, len(found) == 0)
	}
}

// findOutdented finds entries without a value whose fields are beside them instead of below, and
// reports the first field of each. It returns the keys of such entries and fields.
func (l *loader) findOutdented(registry *yamltree.Node, top *tree.Place) map[*yamltree.Node]bool {
	var found map[*yamltree.Node]bool
	var entry *yamltree.Node // without a value
	reported := false
	for key, value := range registry.Pairs {
		switch {
		case value.Kind == yamltree.Null && value.Text == "":
			entry, reported = key, false
			continue
		case entry == nil, value.Kind == yamltree.Mapping, key.Document != entry.Document:
			entry = nil
			continue
		case !reported:
			l.AddDiagnostic(diag.InvalidValue, top.Field(key.Text, key), key, "%s is next to %s, not below it", clip.Text(key.Text), clip.Text(entry.Text)).
				SetHint("indent it, and the fields after it, further than " + clip.Text(entry.Text))
			reported, l.file.Partial = true, true
		}
		if found == nil {
			found = map[*yamltree.Node]bool{}
		}
		found[entry], found[key] = true, true
		l.HideSecrets(value, secret.IsHiddenName(key.Text))
	}
	return found
}

// decodeComponents decodes the registries whose entries have a type.
func (l *loader) decodeComponents(kinds Kinds) {
	l.file.Providers = decodeKinds(l, "providers", kinds.Providers)
	l.file.Tools = decodeKinds(l, "tools", kinds.Tools)
	l.file.AgentProviders = decodeKinds(l, "agent_providers", kinds.AgentProviders)
	l.file.Plugins, l.file.PluginKinds = decodeKinds(l, "plugins", kinds.Plugins), kinds.Plugins
}

func decodeKinds[S, T any](l *loader, name string, kinds []spec.Kind[S, T]) []Entry[spec.Kind[S, T]] {
	var list []Entry[spec.Kind[S, T]]
	known := record.KindsOf(kinds)
	l.eachEntry(name, func(id string, n *yamltree.Node, p *tree.Place, sound bool) {
		entry := Entry[spec.Kind[S, T]]{ID: id, Dir: l.Tree.DirOf(n)}
		before := l.CountErrors()
		if i, ok := l.FindKind(n, p, known); ok {
			entry.Kind = kinds[i]
			entry.Config = kinds[i].NewConfig()
			l.decodeComponent(id, n, p, entry.Config)
		}
		entry.Broken = !sound || entry.Config == nil || l.CountErrors() > before
		list = append(list, entry)
	})
	return list
}

// decodeComponent decodes the fields of an entry into its kind's record.
func (l *loader) decodeComponent(id string, n *yamltree.Node, p *tree.Place, config any) {
	v := reflect.ValueOf(config)
	if v.Kind() != reflect.Pointer || v.IsNil() || record.ShapeOf(v.Type().Elem()) != record.RecordShape {
		l.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be set in a file (its type %T is not supported)", p.Label(), config)
		return
	}
	start := len(l.Found)
	r := record.Of(v.Type().Elem())
	if r.ID != nil {
		v.Elem().FieldByIndex(r.ID).SetString(id)
	}
	l.DecodeFields(r, n, v.Elem(), p, "type")
	if validator, ok := config.(Validator); ok {
		l.AddValidationFindings(start, p, n, validator.Validate())
	}
}

func (l *loader) decodeModels() {
	l.eachEntry("models", func(id string, n *yamltree.Node, p *tree.Place, _ bool) {
		m, start := decode.DecodeRecord[spec.Model](&l.Decoder, id, n, p)
		l.AddValidationFindings(start, p, n, m.Validate())
		l.file.Models = append(l.file.Models, m)
	})
	_, models := l.Tree.Root.FindField("models")
	first := make(map[string]*yamltree.Node, len(l.file.Models))
	for key := range models.Pairs {
		first[key.Text] = key
	}
	l.eachEntry("model_pools", func(id string, n *yamltree.Node, p *tree.Place, _ bool) {
		pool, start := decode.DecodeRecord[spec.Pool](&l.Decoder, id, n, p)
		l.AddValidationFindings(start, p, n, pool.Validate())
		if other := first[id]; other != nil {
			found := diag.New(diag.DuplicateID, p.Path(), "%q is the id of a model and of a model pool", clip.Text(id)).
				WithHint("models and model pools share one namespace; rename one of them")
			l.reportDuplicate(found, p.Node, other, diag.Key("models", id), "the model is here")
		}
		l.file.Pools = append(l.file.Pools, pool)
	})
}

// reportDuplicate reports a second definition; the first one in the files is the original.
func (l *loader) reportDuplicate(found diag.Diagnostic, n, first *yamltree.Node, path, message string) {
	found.Related = []diag.Related{{Message: message, Path: path, Span: l.Tree.Documents[first.Document].SpanOfNode(first)}}
	l.AddFinding(found, n)
}

func (l *loader) remoteAgents() {
	key, value := l.Tree.Root.FindField("remote_agents")
	if value == nil {
		return
	}
	top := tree.TopField("remote_agents", key)
	seen := map[string]*tree.Place{}
	for i, n := range value.Children {
		p := top.Element(i)
		before := l.CountErrors()
		source, start := decode.DecodeRecord[spec.RemoteSource](&l.Decoder, "", n, p)
		l.AddValidationFindings(start, p, n, source.Validate())
		nameKey, name := n.FindField("name")
		if name != nil && source.Name != "" {
			at := p.Field("name", nameKey)
			if first := seen[source.Name]; first != nil {
				_, other := value.Children[first.Parent.Index].FindField("name")
				found := diag.New(diag.DuplicateID, at.Path(), "remote source %q is defined twice", clip.Text(source.Name))
				l.reportDuplicate(found, name, other, first.Path(), "the first one is here")
			} else {
				seen[source.Name] = at
			}
		}
		if l.CountErrors() > before {
			if l.file.BrokenSources == nil {
				l.file.BrokenSources = map[int]bool{}
			}
			l.file.BrokenSources[i] = true
		}
		// Invalid sources are kept too: their paths are list positions.
		l.file.RemoteAgents = append(l.file.RemoteAgents, source)
	}
}

// decodeAgents decodes the defaults and the agents. An inherited value is checked with the agent,
// but reported only at the defaults.
func (l *loader) decodeAgents() {
	key, value := l.Tree.Root.FindField("defaults")
	inherited := map[string]bool{}
	if value != nil {
		p := tree.TopField("defaults", key)
		defaults, start := decode.DecodeRecord[spec.Defaults](&l.Decoder, "", value, p)
		l.AddValidationFindings(start, p, value, append(withoutAgents(defaults.Validate()), checkForm(defaults.OutputSchema)...))
		l.file.Defaults = &defaults
		for key := range value.Pairs {
			inherited[key.Text] = true
		}
	}
	l.eachEntry("agents", func(id string, n *yamltree.Node, p *tree.Place, _ bool) {
		entry, start := decode.DecodeRecord[keys.Agent](&l.Decoder, id, n, p)
		agent := entry.Agent
		l.file.Agents = append(l.file.Agents, &agent)
		merged, origin := l.file.Defaults.Apply(&agent)
		found := checkForm(agent.OutputSchema)
		for _, one := range merged.Validate() {
			if origin.Path("", one.Path) != one.Path || one.Path == "model_id" && agent.ModelID == "" && inherited["model_id"] {
				continue // reported at the defaults, where it is written
			}
			if one.Code == diag.MissingField && l.file.unextended[id] {
				continue // may be inherited
			}
			found = append(found, one.ForAgent(id))
		}
		l.AddValidationFindings(start, p, n, found)
		for i := start; i < len(l.Found); i++ {
			l.Found[i].Agent = id
		}
	})
}

// checkForm reports an output schema with field names in place of keywords. Schemas in requests are
// not checked for this, because other servers accept them.
func checkForm(output *spec.OutputSchema) diag.List {
	if output == nil {
		return nil
	}
	return check.Within("output_schema", spec.CheckShorthand("schema", output.Schema))
}

// withoutAgents returns the diagnostics of the defaults that do not depend on agents, since agents
// may name the model or declare the prompt's variables.
func withoutAgents(list diag.List) diag.List {
	out := list[:0:0]
	for _, one := range list {
		if one.Path != "model_id" && one.Code != diag.UndeclaredVariable {
			out = append(out, one)
		}
	}
	return out
}

// readDirs records the entries' directories and removes the fields that name them. A non-text
// directory stays and is an unknown field.
func (l *loader) readDirs() {
	for _, name := range keys.Placed {
		_, section := l.Tree.Root.FindField(name)
		for _, entry := range section.Pairs {
			_, value := entry.FindField(keys.Dir)
			if value == nil || value.Kind != yamltree.String || value.Text == "" {
				continue
			}
			dir := expand.RelativeTo(l.Tree.Documents[value.Document].Dir, filepath.FromSlash(value.Text))
			entry.Children = overlay.WithoutField(entry, keys.Dir).Children
			l.Tree.Noted.PlaceNodes(entry, value.Document, dir)
		}
	}
}
