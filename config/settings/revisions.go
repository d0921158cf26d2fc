package settings

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// Where agents come from.
const (
	revisionsFromFile  = "file"
	revisionsFromStore = "store"
)

// Revisions selects the source of agents, models and tools, and how long earlier revisions are
// kept.
type Revisions struct {
	Source    string        `json:"source,omitempty" enum:"file|store" default:"file" doc:"The source of agents, models, tools and plugins: file uses each process's configuration files, store the latest revision in the store, which all processes follow. If the store has no revision, the files become its first."`
	Retention spec.Duration `json:"retention,omitempty" default:"0s" doc:"How long to keep revisions that are not current and in which no live turn began. 0 is forever."`
}

// FromStore reports whether the store decides.
func (r *Revisions) FromStore() bool { return r.Source == revisionsFromStore }

// Validate checks the record by itself.
func (r *Revisions) Validate() diag.List {
	list := check.OneOf("source", r.Source, revisionsFromFile, revisionsFromStore)
	return append(list, check.NotNegative("retention", &r.Retention)...)
}
