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
	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
)

// Kinds are the component kinds known to the binary.
type Kinds struct {
	Providers []model.ProviderKind
	Tools     []tools.Kind
	Plugins   []plugins.Kind
	// AgentProviders are the ways to host an agent provider.
	AgentProviders []backend.AgentProviderKind
	// Sections are the agent sections that the binary's own plugins and its
	// pipeline claim. Only the JSON Schema and the reference need them.
	Sections []plugins.Section
	// Scopes are the scopes required by server routes; empty means settings.Scopes.
	Scopes []string
	// Stores are the values of store.driver, and Surfaces the protocols with a section below
	// server, that the binary was built with; nil means all in package settings.
	Stores, Surfaces []string
}

// Options control how files are read.
type Options struct {
	Kinds Kinds
	// LookupEnv returns the value of a variable; nil means os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Stdin is read for the path "-". If nil, "-" is a file name.
	Stdin io.Reader
	// RequireVariables makes an unset variable an error instead of a warning.
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
	// Stored is set for the stored document of a revision or an overlay. It is used even if an
	// earlier version of the runtime stored secrets in it.
	Stored bool
}

// Entry is one entry of a component registry.
type Entry[K any] struct {
	ID string
	// Dir is the directory of the file that contains the entry; relative paths
	// start there.
	Dir string
	// Kind is the entry's kind, selected by its type; the zero value if Broken and the type is
	// unknown.
	Kind K
	// Config is the kind's record, a pointer as NewConfig returns it; nil if the type is unknown.
	Config any
	// Broken is set if the entry has errors, so that it cannot be used. It is still listed, so that
	// references to it are not reported too.
	Broken bool
}

// File is the merged content of a configuration's files. A registry's entries are in the order in
// which their ids first appeared.
//
// Redact is safe for concurrent use; Complete and Source compute places on demand and must be used
// by one goroutine at a time.
type File struct {
	Providers []Entry[model.ProviderKind]
	Tools     []Entry[tools.Kind]
	Plugins   []Entry[plugins.Kind]
	// AgentProviders are the agent providers that the runtime hosts.
	AgentProviders []Entry[backend.AgentProviderKind]
	Models         []spec.Model
	Pools          []spec.Pool
	RemoteAgents   []spec.RemoteSource
	// BrokenSources are the indexes of sources with errors in RemoteAgents. They must not be
	// queried for agents.
	BrokenSources map[int]bool
	Agents        []*spec.Agent
	// PluginKinds are the possible kinds of Plugins entries.
	PluginKinds []plugins.Kind
	// Defaults is nil if no file has defaults.
	Defaults *spec.Defaults
	// Store configures where sessions and turns are stored. Its driver, and its paths relative to
	// the working directory, are filled in.
	Store settings.Store
	// Revisions selects where the agents come from.
	Revisions settings.Revisions
	// TenantRules allows and bounds the overlays of tenants, and declares their variables; nil allows
	// none.
	TenantRules *spec.Tenants
	// Turns configures how a process runs turns.
	Turns settings.Turns
	// Workspaces configures the working directories of sessions. Their location is filled in.
	Workspaces settings.Workspaces
	// Server configures the HTTP server.
	Server settings.Server
	// Schedules start turns when they are due.
	Schedules []settings.Schedule
	// Workflows are steps that schedules and events begin.
	Workflows []*workflow.Workflow
	// Partial is set if a file or one of its registries could not be read. A reference to a missing
	// entry is then not a mistake.
	Partial bool

	tree tree.Tree
	// workflowGroups are the groups below workflows that contain workflows, by workflow id.
	workflowGroups map[string]string
	// patched are the applied patches, and unextended the agents with an invalid extends.
	patched []patch
	// options are the options of loading, and included the files used as values.
	options    Options
	included   map[string]expand.Included
	unextended map[string]bool
	// looked are the variables used in values, and budget is the remaining size of the
	// configuration.
	looked map[string]expand.Variable
	budget budget
	// edited holds the document's data for Edit: set in a file returned by Edit, read on demand in
	// others.
	edited     *edited
	readEdited func() *edited
	// declared is the tree before agents were extended.
	declared *yamltree.Node
}

// Files returns the names of the configuration's files: the given ones, and then, sorted, the
// referenced files whose content matters when it is read, such as prompts, scripts and
// certificates. Missing files are listed too.
func (f *File) Files() []string {
	return append(f.tree.FileNames(), slices.Sorted(maps.Keys(f.tree.Referred))...)
}

// Validator is implemented by records with checks that tags cannot express. The paths of its
// diagnostics are relative to the record. For a registry's entry, Validate runs once all fields
// are decoded and must call Validate of the entry's parts itself.
type Validator interface {
	Validate() diag.List
}

// budget limits the remaining size of a configuration.
type budget struct {
	// expanded is the number of bytes allowed in texts, unread the number allowed from files, and
	// overlaid the number of fields that patches and extended agents may add.
	expanded, unread, overlaid int
}

func newBudget() budget {
	return budget{yamltree.MaxExpanded, expand.MaxIncludedTotal, overlay.MaxFields}
}

// edited indexes a file's document so that Edit can read documents that differ in a few entries.
type edited struct {
	*document.Layout

	// extends maps agents to the agents they extend.
	extends map[string]string
}

// isEdited reports whether Edit returned the file.
func (f *File) isEdited() bool { return f.edited != nil }

// asEdited returns the index of the file's document, or nil if it cannot be used for edits.
func (f *File) asEdited() *edited {
	if f.edited == nil && f.readEdited != nil {
		return f.readEdited()
	}
	return f.edited
}
