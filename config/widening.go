package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Patch is a patch that must not widen access: neither it nor its file sets allow_widening.
type Patch struct {
	// Registry and ID name the entry, and Path the patch, such as patches.agents.a.
	Registry, ID, Path string
	// Removes is set if the patch removes the entry.
	Removes bool

	patch *patch
	file  *File
}

// Fields returns the names of the patch's fields.
func (p *Patch) Fields() []string {
	var names []string
	for key := range p.patch.value.Pairs {
		names = append(names, key.Text)
	}
	return names
}

// Widens returns a diagnostic that the patch widens access, at one of its fields, or at the patch
// itself if field is empty.
func (p *Patch) Widens(field, format string, args ...any) diag.Diagnostic {
	at, path := p.patch.key, p.Path
	if key, _ := p.patch.value.FindField(field); key != nil {
		at, path = key, diag.Key(p.Path, field)
	}
	d := diag.New(diag.WidenedAccess, path, format, args...).
		WithHint("if that is meant, add allow_widening: true to the patch")
	d.Span = p.file.tree.Documents[at.Document].SpanOfNode(at)
	if key, _ := p.file.tree.FindChild(p.file.tree.FindRegistry(p.Registry), p.ID); key != nil {
		p.file.tree.AddRelated(&d, "the patched "+keys.RegistryNamed(p.Registry).Noun+" is here", diag.Key(p.Registry, p.ID), key)
	}
	return d
}

// GuardedPatches returns the patches that must not widen access, in the order they were applied.
func (f *File) GuardedPatches() []Patch {
	var list []Patch
	for i := range f.patched {
		if p := &f.patched[i]; !p.mayWiden {
			list = append(list, Patch{Registry: p.registry, ID: p.id, Path: p.place.Path(), Removes: p.value.Kind == yamltree.Null, patch: p, file: f})
		}
	}
	return list
}

// Extends returns the agents that an agent extends, nearest first.
func (f *File) Extends(agentID string) []string {
	var chain []string
	for range maxExtends {
		_, value := f.tree.FindEntry("agents", agentID).FindField(keys.Extends)
		if value == nil || value.Kind != yamltree.String || slices.Contains(chain, value.Text) {
			break
		}
		agentID = value.Text
		chain = append(chain, agentID)
	}
	return chain
}

// BeforePatches returns the providers, models, pools, tools, plugins and agents without guarded
// patches applied, or nil if there are no such patches. Invalid entries are marked as broken, but
// not reported.
func (f *File) BeforePatches() *File {
	if len(f.GuardedPatches()) == 0 {
		return nil
	}
	opts := f.options
	opts.RequireVariables = false
	l := newLoader(opts, newBudget(), f.included)
	l.leavesOut = func(p *patch) bool { return !p.mayWiden }
	before := l.file
	before.Partial = f.Partial
	for _, doc := range f.tree.Documents {
		before.tree.Documents = append(before.tree.Documents, &tree.SourceFile{Document: yamltree.Document{Name: doc.Name, Data: doc.Data, Root: doc.Root}, Dir: doc.Dir})
	}
	before.tree.Root = l.mergeDocuments()
	l.decodeComponents(f.options.Kinds)
	l.decodeModels()
	l.decodeAgents()
	return before
}
