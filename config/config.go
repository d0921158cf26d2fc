// Package config reads configuration files: YAML into the records of package
// spec and of the component kinds, with a diagnostic and an exact place for
// everything that is wrong.
//
// A field is described once, by the tags of its struct field. That one
// description gives decoding, the checks of a record's shape, the JSON Schema
// that editors use (Schema) and the reference page (Reference). The tags are
//
//	json      the name of the field
//	doc       its meaning, one sentence
//	enum      the values allowed, separated by |; on a list, of its elements
//	default   what its absence means
//	min, max  limits of a number, or of the length of a list
//	pattern   a regular expression that a text must match
//	required  "true": the field must be there, and a text must not be empty;
//	          "name=value" or "name!=value": of a text, when another text of the
//	          record has, or does not have, that value
//	secret    "true": the value is never shown
//	path      "true": a path, relative to the directory of its file; "read": the
//	          same, of a file that is read whenever the configuration is
//	key       "true": no field of the file; "id" is filled from the mapping key
//	of        the values of "type", separated by |, that the field belongs to
//	alias     other spellings as a number of a unit: name:ms or name:s
//	remote    of an agent: what the field does for one with an endpoint; see
//	          spec.RemoteEffect
//
// Config checks each record by itself. References between records,
// such as a model_id, are checked where revisions are built; File.Complete merges
// the findings of both.
package config

import (
	"io"
	"maps"
	"os"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/workflow"
)

// Version is the one version of the file format that this package reads.
const Version = 1

// Kinds are the component kinds that the binary knows.
type Kinds struct {
	Providers []model.ProviderKind
	Tools     []tools.Kind
	Plugins   []plugins.Kind
	// AgentProviders are the ways to host a provider of agents.
	AgentProviders []backend.AgentProviderKind
	// Sections are the agent sections that the binary's own plugins and its
	// pipeline claim. Only the JSON Schema and the reference need them.
	Sections []plugins.Section
	// Scopes are those that routes of the server need; empty is settings.Scopes.
	Scopes []string
	// Stores are the values of store.driver, and Surfaces the protocols with a section
	// below server, that the binary was built with; nil is all that package settings
	// describes.
	Stores, Surfaces []string
}

// Options control how files are read.
type Options struct {
	Kinds Kinds
	// LookupEnv returns the value of a variable; nil is os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Stdin is read for the path "-". If it is nil, "-" is the name of a file.
	Stdin io.Reader
	// RequireVariables makes a variable that is not set an error instead of a
	// warning.
	RequireVariables bool
	// Keyed is set for documents without server settings whose process has a server that requires
	// credentials.
	Keyed bool
}

func (o *Options) lookupFunc() func(string) (string, bool) {
	if o.LookupEnv != nil {
		return o.LookupEnv
	}
	return os.LookupEnv
}

// Source is a configuration file that was already read.
type Source struct {
	// Name names the file in diagnostics. Relative paths in the file are
	// relative to the directory of Name.
	Name string
	Data []byte
	// Stored is set for the document of a revision, or an overlay, that the store has. It
	// is used even if an earlier version of the runtime stored secrets in it.
	Stored bool
}

// Entry is one entry of a registry of components.
type Entry[K any] struct {
	ID string
	// Dir is the directory of the file that contains the entry; relative paths
	// start there.
	Dir string
	// Kind is the entry's kind, selected by its type; the zero value if Broken and the type is
	// unknown.
	Kind K
	// Config is the kind's record, a pointer as NewConfig returns it; nil when
	// the type is unknown.
	Config any
	// Broken is set if the entry has errors, so that nothing can be made of
	// it. It is listed nevertheless, so that references to it are not
	// reported as well.
	Broken bool
}

// File is the merged content of the files of a configuration. The entries of a
// registry are in the order in which their ids first appeared.
//
// Redact may be called from many goroutines at once; Complete and Source
// compute places on demand and belong to one at a time.
type File struct {
	Providers []Entry[model.ProviderKind]
	Tools     []Entry[tools.Kind]
	Plugins   []Entry[plugins.Kind]
	// AgentProviders are the providers of agents that the runtime hosts.
	AgentProviders []Entry[backend.AgentProviderKind]
	Models         []spec.Model
	Pools          []spec.Pool
	RemoteAgents   []spec.RemoteSource
	// BrokenSources are the positions of sources with errors in RemoteAgents, which must not be
	// asked for their agents.
	BrokenSources map[int]bool
	Agents        []*spec.Agent
	// PluginKinds are the kinds that the entries of Plugins may be of.
	PluginKinds []plugins.Kind
	// Defaults is nil when no file has defaults.
	Defaults *spec.Defaults
	// Store is where sessions and turns are kept. Its driver, and its paths as
	// seen from the working directory, are filled in.
	Store settings.Store
	// Revisions selects where the agents come from.
	Revisions settings.Revisions
	// TenantRules allows and bounds the overlays of tenants, and declares their variables; nil allows
	// none.
	TenantRules *spec.Tenants
	// Turns configures how a process works on them.
	Turns settings.Turns
	// Workspaces configures the directories that sessions work in. Where they are is
	// filled in.
	Workspaces settings.Workspaces
	// Server configures how it answers HTTP requests.
	Server settings.Server
	// Schedules make turns when they are due.
	Schedules []settings.Schedule
	// Workflows are steps that schedules and events begin.
	Workflows []*workflow.Workflow
	// Partial is set if a file, or a whole registry of one, could not be
	// read. A reference to a missing entry is then not a mistake.
	Partial bool

	documents []*document
	// referred are the files that these files refer to.
	referred  map[string]struct{}
	root      *node
	redactor  redactor
	index     map[*node]map[string]int
	spellings map[string][]string // other spellings in files, by field name
	// workflowGroups are the groups below workflows in which workflows are written, by id.
	workflowGroups map[string]string
	// meant are the paths of fields that seem to be there under a misspelled
	// name, so that they are not reported missing as well.
	meant map[string]bool
	// overlays records the effect of patches and extends, patched are the applied patches, and
	// unextended the agents with an invalid extends.
	overlays overlays
	patched  []patch
	// options are those that the files were read with, and included the files that
	// their values are.
	options    Options
	included   map[string]included
	unextended map[string]bool
	// looked are the variables that values come from, and budget is the remaining size of the
	// configuration.
	looked map[string]variable
	budget budget
	// edited holds what Edit needs to know about the document: set in a file returned by Edit,
	// read on demand in others.
	edited     *edited
	readEdited func() *edited
	// declared is the tree before agents were extended, and noted what decoding found out
	// about its texts.
	declared *node
	noted    notedTexts
}

// Files returns the names of the files that the configuration consists of: those
// that were given, and then, sorted, those that they refer to and that count as
// they are when it is read, such as prompts, scripts and certificates. They are
// listed whether or not they are there.
func (f *File) Files() []string {
	return append(f.fileNames(), slices.Sorted(maps.Keys(f.referred))...)
}

// addReferredFile notes that the configuration refers to a file.
func (f *File) addReferredFile(name string) {
	if name == "" {
		return
	}
	if f.referred == nil {
		f.referred = map[string]struct{}{}
	}
	f.referred[name] = struct{}{}
}

// fileNames returns the names of the files in the order in which they were given.
func (f *File) fileNames() []string {
	names := make([]string, len(f.documents))
	for i, doc := range f.documents {
		names[i] = doc.name
	}
	return names
}

// kind is what config needs to know of a component kind, whatever it makes.
type kind struct {
	typ, summary string
	newConfig    func() any
}

func kindsOf[S, T any](kinds []spec.Kind[S, T]) []kind {
	list := make([]kind, len(kinds))
	for i, k := range kinds {
		list[i] = kind{k.Type, k.Summary, k.NewConfig}
	}
	return list
}

// Validator is implemented by records with checks that tags cannot express. The paths of its
// diagnostics are relative to the record. For a registry's entry, Validate runs once all fields
// are decoded and must call Validate of the entry's parts itself.
type Validator interface {
	Validate() diag.List
}
