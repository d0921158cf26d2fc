package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/spec"
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
		return io.ReadAll(io.LimitReader(stdin, maxFileSize))
	}
	return readLimited(path, maxFileSize)
}

// Parse is Load for files that were read already. The file is never nil.
func Parse(sources []Source, opts Options) (*File, diag.List) {
	return parse(sources, opts, newBudget(), nil)
}

// parseBare is Parse without any patches.
func parseBare(source Source, opts Options, known map[string]included) (*File, diag.List) {
	l := newLoader(opts, newBudget(), known)
	l.leavesOut = func(*patch) bool { return true }
	return l.parse([]Source{source})
}

// budget limits the remaining size of a configuration.
type budget struct {
	// expanded is the number of bytes allowed in texts, unread the number allowed from files, and
	// overlaid the number of fields that patches and extended agents may add.
	expanded, unread, overlaid int
}

func newBudget() budget { return budget{maxExpanded, maxIncludedTotal, maxOverlaid} }

// parse is Parse with a remaining budget and files that were already read.
func parse(sources []Source, opts Options, left budget, known map[string]included) (*File, diag.List) {
	return newLoader(opts, left, known).parse(sources)
}

// loader reads the documents of a configuration, merges them with their patches, and decodes their
// registries.
type loader struct {
	decoder
	// patches are the patches of all files; leavesOut selects those to skip.
	patches   []patch
	leavesOut func(*patch) bool
	// overlaid is the number of fields that patches and extended agents may still add.
	overlaid int
}

func newLoader(opts Options, left budget, known map[string]included) *loader {
	return &loader{decoder: newDecoder(opts, left, known), overlaid: left.overlaid}
}

func newDecoder(opts Options, left budget, known map[string]included) decoder {
	return decoder{
		file: &File{overlays: newOverlays(), options: opts}, strict: opts.RequireVariables, kinds: opts.Kinds,
		expander: expander{lookup: opts.lookupFunc(), left: left.expanded, unread: left.unread, files: maps.Clone(known)},
	}
}

// parse reads all files.
func (l *loader) parse(sources []Source) (*File, diag.List) {
	f, opts := l.file, l.file.options
	for i, source := range sources {
		doc := &sourceFile{
			yamlDocument: yamlDocument{name: source.Name, data: bytes.TrimPrefix(source.Data, []byte("\ufeff"))},
			dir:          filepath.Dir(source.Name), stored: source.Stored,
		}
		f.documents = append(f.documents, doc)
		found, ok := parseDocument(&doc.yamlDocument, i, nounOf)
		l.addAll(doc, found)
		if !ok || !l.checkVersion(doc) {
			doc.root = nil
		}
		if doc.root == nil || found.HasErrors() {
			f.Partial = true
		}
	}
	f.root = l.mergeDocuments()
	l.readDirs()
	l.decodeComponents(opts.Kinds)
	l.decodeModels()
	l.remoteAgents()
	l.decodeAgents()
	l.decodeSettings()
	l.warnWorkspaceTools()
	l.decodeSchedules()
	l.decodeWorkflows()
	list := l.found
	for _, doc := range f.documents {
		list = append(list, doc.omittedFindings()...)
		f.Partial = f.Partial || doc.hasTooManyErrors()
	}
	f.included, f.looked = l.expander.files, l.expander.looked
	f.readEdited = sync.OnceValue(f.newEdited)
	f.budget = budget{l.expander.left, l.expander.unread, l.overlaid}
	for name := range l.expander.files {
		f.addReferredFile(name)
	}
	for i := range list {
		f.relateOverlay(&list[i])
	}
	f.redactor.sortValues()
	f.nameCharacters(list)
	f.redactor.redactDiagnostics(list)
	list = onePerPlace(list)
	list.Sort(f.fileNames())
	return f, list
}

// addAll adds diagnostics of a document that already have positions.
func (d *decoder) addAll(doc *sourceFile, found diag.List) {
	for _, one := range found {
		if doc.countFinding(one.Severity) {
			d.found = append(d.found, one)
		} else if doc.omitted == nil {
			doc.omitted = &one
		}
	}
}

// checkVersion reports a file with an unknown format, about which nothing else can be reported.
func (d *decoder) checkVersion(doc *sourceFile) bool {
	supported := fmt.Sprintf("the supported version is %d: write version: %d", Version, Version)
	if doc.root == nil || doc.root.kind == nullNode {
		found := diag.New(diag.UnsupportedVersion, "version", "the file is empty; it must set the version of the file format").WithHint("%s", supported)
		found.Span = doc.spanOf(0, 0)
		d.addAll(doc, diag.List{found})
		return false
	}
	if doc.root.kind != mappingNode {
		d.addDiagnostic(diag.InvalidValue, nil, doc.root, "a configuration file must be a mapping, not %s", doc.root.describe(false))
		return false
	}
	key, value := doc.root.findField("version")
	if value == nil {
		d.addAll(doc, diag.List{doc.missingVersion(supported)})
		return false
	}
	if value.kind == intNode || value.kind == floatNode {
		if n, err := parseNumber(value.text); err == nil && n.asFloat() == Version {
			return true
		}
	}
	var root *place
	found := d.addDiagnostic(diag.UnsupportedVersion, root.fieldPlace("version", key), value, "version %s is not supported", describeVersion(value))
	found.setHint(supported)
	return false
}

// missingVersion returns the diagnostic for a file without a version. Its place is the start of
// the file, or a key that other systems use instead.
func (doc *sourceFile) missingVersion(supported string) diag.Diagnostic {
	found := diag.New(diag.UnsupportedVersion, "version", "version is required").WithHint("%s", supported)
	found.Span = doc.spanOf(0, 0)
	for key := range doc.root.pairs {
		near, isNear := nearest.Of(snakeCase(key.text), []string{"version"})
		if f, known := findForeign(readForeignNames().Top, key.text); isNear || known && f.Field == "version" {
			found.Span = doc.spanOfNode(key)
			return found.WithHint("write %s: %d instead of %s", cmp.Or(near, f.Field), Version, clip.Text(key.text))
		}
	}
	return found
}

func describeVersion(n *node) string {
	if n.kind == stringNode {
		return fmt.Sprintf("%q", clip.Text(n.text))
	}
	if n.isScalar() && n.kind != nullNode {
		return clip.Text(n.text)
	}
	return "(" + n.describe(false) + ")"
}

// mergeDocuments merges all files and returns the root.
func (l *loader) mergeDocuments() *node {
	m := merger{root: &node{kind: mappingNode}, position: map[*node]map[string]int{}}
	for _, doc := range l.file.documents {
		for key, value := range doc.root.pairs {
			switch name := key.text; {
			case registryNamed(name) != nil:
				if l.isMapping(key, value) {
					if name == workflowsKey {
						value = l.ungroupWorkflows(value)
					}
					m.mergeRegistry(m.root, key, value)
				}
			case name == "defaults" || settingNamed(name) != nil:
				if l.isMapping(key, value) {
					m.mergeFields(key, value, isMergedByKey)
				}
			case name == "remote_agents":
				if value.kind == sequenceNode {
					m.appendList(key, value)
				} else if value.kind != nullNode {
					l.wrongTop(key, value, "a list")
				}
			case isExtension(name):
				l.hideSecrets(value, false)
			case name == patchesKey:
				if l.isMapping(key, value) {
					l.readPatches(key, value)
					m.mergeFields(key, value, isAnyField) // so that their paths can be located
				}
			case name != "version":
				l.unknownTop(key, value)
			}
		}
	}
	l.applyPatches(&m)
	l.file.declared = m.copyDeclared()
	l.extendAgents(&m)
	return m.root
}

// isMapping reports whether a top-level value is a mapping, and adds a diagnostic
// if it is neither a mapping nor null.
func (d *decoder) isMapping(key, value *node) bool {
	if value.kind != mappingNode && value.kind != nullNode {
		d.wrongTop(key, value, "a mapping")
	}
	return value.kind == mappingNode
}

func (d *decoder) wrongTop(key, value *node, want string) {
	var root *place
	d.file.Partial = true
	d.addDiagnostic(diag.InvalidValue, root.fieldPlace(key.text, key), value, "%s must be %s, not %s", key.text, want, value.describe(false)).setHint(formOf(key.text, value))
}

// formOf describes the expected form of a top-level value, using an id from the file.
func formOf(name string, value *node) string {
	if name == "remote_agents" {
		return "write a list: remote_agents: [{name: cloud, base_url: https://…}]"
	}
	if registryNamed(name) == nil {
		return ""
	}
	id := "<id>"
	if len(value.children) > 0 {
		id = cmp.Or(findEntryID(value.children[0]), id)
	}
	return "write each entry under its id, without a dash: " + name + ": {" + id + ": {…}}"
}

// findEntryID returns the likely id of a list entry: its id or name, or its only key.
func findEntryID(entry *node) (id string) {
	for key, value := range entry.pairs {
		switch {
		case (key.text == "id" || key.text == "name") && value.kind == stringNode && len(spec.CheckID("", "", value.text)) == 0:
			id = value.text
		case len(entry.children) == 2 && value.kind == mappingNode && len(spec.CheckID("", "", key.text)) == 0:
			id = key.text
		}
	}
	return id
}

func (d *decoder) unknownTop(key, value *node) {
	names := topNames()
	found := d.addDiagnostic(diag.UnknownField, (*place)(nil).fieldPlace(key.text, key), key, "unknown field %q", clip.Text(key.text))
	found.setHint(listAllowed(names))
	near, isNear := nearest.Of(key.text, names)
	f, known := findForeign(readForeignNames().Top, key.text)
	switch {
	case strings.HasPrefix(key.text, "//"):
		found.setHint("write comments with #")
	case isNear && contains(names, nearestForeign(readForeignNames().Top, snakeCase(key.text), names)):
		found.setHint(didYouMean(near))
	case known:
		near = f.Field
		found.setHint(f.hintText())
	}
	// The definition meant for this place is missing.
	d.file.Partial = d.file.Partial || near != ""
	d.hideSecrets(value, false)
}
