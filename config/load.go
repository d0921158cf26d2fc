package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/findings"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Load reads the files of a configuration, as Expand returns them. Mistakes in their content are
// returned as diagnostics. The error reports files that cannot be read; the file is then nil.
//
// A later file overrides an earlier one: in registries entry by entry, in the defaults and settings
// field by field. Remote agents add up. Then the patches of all files are applied, in the order of
// the files, and then agents get the fields of those that they extend.
func Load(paths []string, opts Options) (*File, diag.List, error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("read configuration: a file is required")
	}
	paths, err := Expand(paths)
	if err != nil {
		return nil, nil, err
	}
	sources := make([]Source, 0, len(paths))
	var errs []error
	for _, path := range paths {
		data, err := readSource(path, opts.Stdin)
		if path == "-" && opts.Stdin != nil {
			path = StdinName
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read configuration: %w", err))
			continue
		}
		sources = append(sources, Source{Name: path, Data: data})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	f, list := Parse(sources, opts)
	return f, list, nil
}

// StdinName names a configuration from standard input in diagnostics.
const StdinName = "<stdin>"

// readSource reads a configuration file, or stdin for the path "-".
func readSource(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" && stdin != nil {
		return io.ReadAll(io.LimitReader(stdin, yamltree.MaxFileSize))
	}
	return expand.ReadLimited(path, yamltree.MaxFileSize)
}

// Parse is Load for files that were read already. The file is never nil.
func Parse(sources []Source, opts Options) (*File, diag.List) {
	return parse(sources, opts, newBudget(), nil)
}

// parseBare is Parse without any patches.
func parseBare(source Source, opts Options, known map[string]expand.Included) (*File, diag.List) {
	l := newLoader(opts, newBudget(), known)
	l.leavesOut = func(*patch) bool { return true }
	return l.parse([]Source{source})
}

// parse is Parse with a remaining budget and files that were already read.
func parse(sources []Source, opts Options, left budget, known map[string]expand.Included) (*File, diag.List) {
	return newLoader(opts, left, known).parse(sources)
}

// parse reads all files.
func (l *loader) parse(sources []Source) (*File, diag.List) {
	f, opts := l.file, l.file.options
	for i, source := range sources {
		doc := tree.NewSourceFile(source.Name, bytes.TrimPrefix(source.Data, []byte("\ufeff")))
		doc.Stored = source.Stored
		f.tree.Documents = append(f.tree.Documents, doc)
		found, ok := yamltree.Parse(&doc.Document, i, keys.NounOf)
		l.AddAll(doc, found)
		if !ok || !l.CheckVersion(doc) {
			doc.Root = nil
		}
		if doc.Root == nil || found.HasErrors() {
			f.Partial = true
		}
	}
	f.tree.Root = l.mergeDocuments()
	l.readDirs()
	l.decodeComponents(opts.Kinds)
	l.decodeModels()
	l.remoteAgents()
	l.decodeAgents()
	l.decodeSettings()
	l.warnWorkspaceTools()
	l.decodeSchedules()
	l.decodeWorkflows()
	list := l.Found
	for _, doc := range f.tree.Documents {
		list = append(list, doc.OmittedFindings()...)
		f.Partial = f.Partial || doc.HasTooManyErrors()
	}
	f.included, f.looked = l.Expander.Files, l.Expander.Looked
	f.readEdited = sync.OnceValue(f.newEdited)
	f.budget = budget{l.Expander.Left, l.Expander.Unread, l.overlaid}
	for name := range l.Expander.Files {
		f.tree.AddReferredFile(name)
	}
	for i := range list {
		f.tree.RelateOverlay(&list[i])
	}
	f.tree.Redactor.SortValues()
	f.tree.NameCharacters(list)
	f.tree.Redactor.RedactDiagnostics(list)
	list = findings.OnePerPlace(findings.DropConsequent(list))
	list.Sort(f.tree.FileNames())
	return f, list
}

// mergeDocuments merges all files and returns the root.
func (l *loader) mergeDocuments() *yamltree.Node {
	m := overlay.NewTree()
	for _, doc := range l.Tree.Documents {
		for key, value := range doc.Root.Pairs {
			switch name := key.Text; {
			case keys.RegistryNamed(name) != nil:
				if l.IsMapping(key, value) {
					if name == keys.Workflows {
						value = l.ungroupWorkflows(value)
					}
					m.MergeRegistry(m.Root, key, value)
				}
			case name == "defaults" || keys.SettingNamed(name) != nil:
				if l.IsMapping(key, value) {
					m.MergeFields(key, value, isMergedByKey)
				}
			case name == "remote_agents":
				if value.Kind == yamltree.Sequence {
					m.AppendList(key, value)
				} else if value.Kind != yamltree.Null {
					l.WrongTop(key, value, "a list")
				}
			case keys.IsExtension(name):
				l.HideSecrets(value, false)
			case name == keys.Patches:
				if l.IsMapping(key, value) {
					l.readPatches(key, value)
					m.MergeFields(key, value, isAnyField) // so that their paths can be located
				}
			case name != "version":
				l.UnknownTop(key, value)
			}
		}
	}
	l.file.Partial = l.file.Partial || l.Partial
	l.applyPatches(m)
	l.file.declared = m.CopyDeclared()
	l.extendAgents(m)
	return m.Root
}

// isMergedByKey reports whether a field of a record is merged key by key.
func isMergedByKey(field string) bool {
	return slices.Contains([]string{"sections", "retention", "limits", "rate", "a2a"}, field)
}

// isAnyField is true for all fields.
func isAnyField(string) bool { return true }
