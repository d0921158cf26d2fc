package settings

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// Where agents come from.
const (
	RevisionsFromFile  = "file"
	RevisionsFromStore = "store"
)

// Revisions selects what decides which agents, models and tools there are, and how long
// what was published before is kept.
type Revisions struct {
	Source    string        `json:"source,omitempty" enum:"file|store" default:"file" doc:"What decides which agents, models, tools and plugins there are: with file the configuration files of each process, with store the revision that was published last in the store, which all processes follow. The files are then its first revision, if the store has none."`
	Retention spec.Duration `json:"retention,omitempty" default:"0s" doc:"How long a revision is kept that is not current and that no live turn began in; for ever when 0."`
}

// FromStore reports whether the store decides.
func (r *Revisions) FromStore() bool { return r.Source == RevisionsFromStore }

// Validate checks the record by itself.
func (r *Revisions) Validate() diag.List {
	list := check.OneOf("source", r.Source, RevisionsFromFile, RevisionsFromStore)
	return append(list, check.NotNegativeSpan("retention", &r.Retention)...)
}
