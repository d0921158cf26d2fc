package resolve

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// served is an executor for a model, or for the members of a pool.
type served struct {
	// model or pool is the named entry.
	model *spec.Model
	pool  *spec.Pool
	// upstream is the vendor's name of the model, or the pool's id.
	upstream string
	// executor is nil if the model cannot be called.
	executor model.Executor
	// capabilities describe the model, or the pool's members combined.
	capabilities capabilities
}

// capabilities are the known properties of an agent's model, or of all members of its pool
// combined.
type capabilities struct {
	// ContextWindow is the number of tokens in one request, including the answer; for a pool the
	// smallest. 0 if no model states it.
	ContextWindow int
	// MaxOutput is the maximum number of tokens in one answer; for a pool the smallest. 0 if no
	// model states it.
	MaxOutput int
	// DeclaredOutput is MaxOutput as declared in the configuration.
	DeclaredOutput int
	// KnowledgeCutoff is the model's knowledge cutoff; empty if unknown, or if the members of a
	// pool differ.
	KnowledgeCutoff string
	// ListedCutoff is KnowledgeCutoff including the values from the catalog.
	ListedCutoff string
	// Pricing holds the prices of the models whose price is known, by id.
	Pricing map[string]*spec.Pricing
}
