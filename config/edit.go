package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// editable are the registries whose entries are read one by one: records that can be read without
// the rest of a document.
var editable = []string{keys.Models, keys.Pools, keys.Agents}

// DocumentEdit is the difference between a document and a file's document.
type DocumentEdit struct {
	// File represents the document. It has no entries: only Document, Complete, Redact, Edit and
	// TenantRules may be used.
	File *File
	// Models, Pools and Agents are changed or new, including agents that extend a changed one. They
	// are in document order.
	Models []spec.Model
	Pools  []spec.Pool
	Agents []*spec.Agent
	// Removed are the ids of removed entries, by registry.
	Removed map[string][]string
}

// Edit reads a document that differs in a few entries, like Parse, in time proportional to the
// difference. ok is false if the document must be read as a whole: too much differs, something
// other than models, pools and agents differs, something is invalid, or a variable or file has
// changed. The edit's file also hides removed secrets.
func (f *File) Edit(text []byte) (edit *DocumentEdit, ok bool) {
	before := f.asEdited()
	if before == nil || !f.isFresh() {
		return nil, false
	}
	next, ok := document.LayoutOf(text)
	if !ok {
		return nil, false
	}
	if _, ok := (&yamltree.Document{Data: text}).Check(); !ok {
		return nil, false
	}
	changes, ok := document.Compare(before.Layout, next, editable)
	if !ok {
		return nil, false
	}
	e := &editor{Changes: changes, file: f}
	if !e.readExtends(before.extends) {
		return nil, false
	}
	return e.read()
}

// newEdited indexes the file's document. It returns nil if it cannot be used for edits.
func (f *File) newEdited() *edited {
	text, err := f.Document()
	if err != nil || f.Partial || len(f.tree.Documents) != 1 || f.refersToUnread() {
		return nil
	}
	l, ok := document.LayoutOf(text)
	if !ok || l.Section(keys.Patches) != nil { // they reach into other entries
		return nil
	}
	made := &edited{Layout: l, extends: map[string]string{}}
	if s := l.Section(keys.Agents); s != nil {
		for _, m := range s.Entries {
			if !noteExtends(made.extends, l.IDOf(m), l.ValueOf(m)) {
				return nil
			}
		}
	}
	return made
}

// refersToUnread reports whether the file references files with unknown content.
func (f *File) refersToUnread() bool {
	for name := range f.tree.Referred {
		if _, ok := f.included[name]; !ok {
			return true
		}
	}
	return false
}

// noteExtends records the agent that another one extends.
func noteExtends(extends map[string]string, id string, value []byte) bool {
	delete(extends, id)
	if !bytes.Contains(value, []byte(`"`+keys.Extends+`"`)) {
		return true
	}
	var agent struct {
		Extends *string `json:"extends"`
	}
	if json.Unmarshal(value, &agent) != nil {
		return false
	}
	if agent.Extends != nil {
		extends[id] = *agent.Extends
	}
	return true
}

// isFresh reports whether the variables and files used in values are unchanged.
func (f *File) isFresh() bool {
	lookup := f.options.lookupFunc()
	for name, known := range f.looked {
		if value, set := lookup(name); (expand.Variable{Value: value, Set: set}) != known {
			return false
		}
	}
	for name, known := range f.included {
		if text, err := expand.ReadText(name); known.Err != nil || err != nil || text != known.Text {
			return false
		}
	}
	return true
}

// editor reads a document that differs in a few entries.
type editor struct {
	*document.Changes

	file    *File
	extends map[string]string
}

// readExtends reads the extends relations. ok is false if an agent extends a removed one.
func (e *editor) readExtends(before map[string]string) bool {
	e.extends = before
	if len(e.Changed[keys.Agents])+len(e.Removed[keys.Agents]) == 0 {
		return true
	}
	e.extends = maps.Clone(e.extends)
	for _, id := range e.Removed[keys.Agents] {
		delete(e.extends, id)
	}
	for _, m := range e.Changed[keys.Agents] {
		if !noteExtends(e.extends, e.Next.IDOf(m), e.Next.ValueOf(m)) {
			return false
		}
	}
	for _, base := range e.extends {
		if slices.Contains(e.Removed[keys.Agents], base) {
			return false
		}
	}
	return true
}

// read reads what differs.
func (e *editor) read() (*DocumentEdit, bool) {
	reached := e.reachedAgents()
	wanted := map[string]map[string]bool{keys.Agents: withAncestors(reached, e.extends), keys.Models: {}, keys.Pools: {}}
	for _, name := range []string{keys.Models, keys.Pools} {
		for _, m := range e.Changed[name] { // both registries, which share one namespace
			wanted[keys.Models][e.Next.IDOf(m)], wanted[keys.Pools][e.Next.IDOf(m)] = true, true
		}
	}
	f := e.file
	part := e.Next.ExcerptOf(wanted)
	x, found := parse([]Source{{Name: f.tree.Documents[0].Name, Data: part.Text}}, f.options, f.budget, f.included)
	if found.HasErrors() || x.refersToUnread() {
		return nil, false
	}
	canonical, ok := e.canonicalDocument(x)
	if !ok {
		return nil, false
	}
	edit := &DocumentEdit{File: e.newFile(x, canonical), Removed: e.Removed}
	edit.Agents = slices.DeleteFunc(x.Agents, func(a *spec.Agent) bool { return !reached[a.ID] })
	edit.Models = slices.DeleteFunc(x.Models, func(m spec.Model) bool { return !e.Has(keys.Models, m.ID) })
	edit.Pools = slices.DeleteFunc(x.Pools, func(p spec.Pool) bool { return !e.Has(keys.Pools, p.ID) })
	return edit, true
}

// reachedAgents returns the changed agents and those that extend them.
func (e *editor) reachedAgents() map[string]bool {
	reached := make(map[string]bool, len(e.Changed[keys.Agents]))
	for _, m := range e.Changed[keys.Agents] {
		reached[e.Next.IDOf(m)] = true
	}
	if len(reached) == 0 {
		return reached
	}
	for grown := true; grown; {
		grown = false
		for id, base := range e.extends {
			if reached[base] && !reached[id] {
				reached[id], grown = true, true
			}
		}
	}
	return reached
}

// withAncestors returns agents and those they extend.
func withAncestors(ids map[string]bool, extends map[string]string) map[string]bool {
	all := maps.Clone(ids)
	for id := range ids {
		for base, ok := extends[id]; ok && !all[base]; base, ok = extends[base] {
			all[base] = true
		}
	}
	return all
}

// canonicalDocument returns the document in Document's form, where x has the changed entries.
func (e *editor) canonicalDocument(x *File) (*document.Layout, bool) {
	text, err := x.Document()
	if err != nil {
		return nil, false
	}
	part, ok := document.LayoutOf(text)
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	done := 0
	for _, name := range keys.Declared {
		for _, m := range e.Changed[name] {
			s := part.Section(name)
			at := part.Find(s, e.Next.IDOf(m))
			if at < 0 {
				return nil, false
			}
			if written := part.ValueOf(s.Entries[at]); !bytes.Equal(written, e.Next.ValueOf(m)) {
				out.Write(e.Next.Text[done:m.Value])
				out.Write(written)
				done = int(m.End)
			}
		}
	}
	if done == 0 {
		return e.Next, true
	}
	out.Write(e.Next.Text[done:])
	return document.LayoutOf(out.Bytes())
}

// newFile returns the file of the document.
func (e *editor) newFile(x *File, canonical *document.Layout) *File {
	old := e.file
	first := old.tree.Documents[0]
	f := &File{options: old.options, TenantRules: old.TenantRules, budget: x.budget, included: x.included, looked: maps.Clone(old.looked)}
	f.tree = tree.Tree{
		Documents: []*tree.SourceFile{{Document: yamltree.Document{Name: first.Name, Data: canonical.Text}, Dir: first.Dir}},
		Origins:   overlay.NewOrigins(), Referred: old.tree.Referred, Redactor: old.tree.Redactor.With(&x.tree.Redactor),
	}
	if f.looked == nil && len(x.looked) > 0 {
		f.looked = make(map[string]expand.Variable, len(x.looked))
	}
	maps.Copy(f.looked, x.looked)
	f.edited = &edited{Layout: canonical, extends: e.extends}
	return f
}

// completeEdited is Complete for an edit's file, without loading findings: it reads the entries
// that the findings concern, to locate them.
func (f *File) completeEdited(list diag.List) diag.List {
	if len(list) == 0 {
		return list
	}
	known := f.edited
	wanted := make(map[string]map[string]bool)
	note := func(path string) {
		segments, ok := diag.ParsePath(path)
		if !ok || len(segments) < 2 || segments[0].IsIndex || segments[1].IsIndex {
			return
		}
		if wanted[segments[0].Key] == nil {
			wanted[segments[0].Key] = make(map[string]bool)
		}
		wanted[segments[0].Key][segments[1].Key] = true
	}
	for i := range list {
		note(list[i].Path)
		for j := range list[i].Related {
			note(list[i].Related[j].Path)
		}
	}
	wanted[keys.Agents] = withAncestors(wanted[keys.Agents], known.extends)
	part := known.ExcerptOf(wanted)
	x, _ := parse([]Source{{Name: f.tree.Documents[0].Name, Data: part.Text}}, f.options, newBudget(), f.included)
	x.tree.Redactor = f.tree.Redactor
	shown := x.Complete(nil, list)
	part.MoveSpans(shown, f.tree.Documents[0].Name)
	return shown
}

// readAgent reads an agent of an edit's document, with those it extends.
func (f *File) readAgent(id string) *File {
	part := f.edited.ExcerptOf(map[string]map[string]bool{keys.Agents: withAncestors(map[string]bool{id: true}, f.edited.extends)})
	x, _ := parse([]Source{{Name: f.tree.Documents[0].Name, Data: part.Text}}, f.options, newBudget(), f.included)
	return x
}
