// Package runtime runs one turn of a declared agent. An AgentRuntime holds the
// current revision, resolves the agent anew for each turn, and runs the turn where
// the agent lives: on the local loop or at a peer. Package builder makes one.
//
// Run runs a turn to its end and returns what it came to:
//
//	result, err := rt.Run(ctx, runtime.Prompt("guide", "How is Paris?"), nil)
//
// Start runs one in the background that somebody can answer and cancel. Package
// service keeps sessions and turns in a store; it works through Prepare, as Run and
// Start do.
package runtime

import (
	"context"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Settings is what a runtime is made of.
type Settings struct {
	// Registry holds the revisions that turns resolve in. It is required.
	Registry *registry.Store
	// Local runs the agents that have no endpoint. It is required.
	Local backend.Backend
	// Logger takes in the runtime's log; nil drops it.
	Logger *zap.Logger
	// Telemetry observes the turns; nil does not.
	Telemetry *telemetry.Telemetry
	// Warn is told of the warnings of each revision that becomes current and that
	// the one before did not have; nil writes them to Logger. It is called by
	// whoever publishes, and must not publish itself.
	Warn func(diag.List)
	// NewID makes the ids of turns; nil makes UUIDs of version 7.
	NewID func() string
	// Depth is how deep delegates may be nested; 0 means resolve.DefaultDepth.
	Depth int

	_ struct{} // keyed literals only
}

// AgentRuntime runs declared agents. It is safe for concurrent use.
type AgentRuntime struct {
	registry *registry.Store
	local    backend.Backend
	logger   *zap.Logger
	observer *telemetry.Telemetry
	newID    func() string
	depth    int

	tellWarnings func(diag.List)
}

// New returns a runtime. Package builder is the usual way to make one.
func New(s Settings) *AgentRuntime {
	r := &AgentRuntime{
		registry: s.Registry, local: s.Local, logger: s.Logger, observer: s.Telemetry, newID: s.NewID, depth: s.Depth, tellWarnings: s.Warn,
	}
	if r.logger == nil {
		r.logger = zap.NewNop()
	}
	if r.newID == nil {
		r.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if r.depth == 0 {
		r.depth = resolve.DefaultDepth
	}
	r.reportWarnings(nil, r.Diagnostics())
	return r
}

// Revision returns the current revision.
func (r *AgentRuntime) Revision() *registry.Revision { return r.registry.Current() }

// Diagnostics returns what the dry run of the current revision found: warnings
// and notes.
func (r *AgentRuntime) Diagnostics() diag.List { return r.registry.Current().Diagnostics() }

// Publish changes what the runtime knows. It hands edit a draft of the current
// revision, dry-runs every agent of what edit made of it, and makes it current.
// When edit fails, or an agent does not resolve (*registry.InvalidError),
// nothing changes. Turns in flight keep the revision they began with.
//
// Warnings that the revision before did not have are told to Settings.Warn, or
// logged.
func (r *AgentRuntime) Publish(ctx context.Context, edit func(*registry.Draft) error) (*registry.Revision, error) {
	before := r.registry.Current().Diagnostics()
	rev, err := r.registry.Publish(ctx, edit)
	if err == nil {
		r.reportWarnings(before, rev.Diagnostics())
	}
	return rev, err
}

// Resolve returns the plan of an agent in the current revision.
func (r *AgentRuntime) Resolve(ctx context.Context, agentID string, opts resolve.Options) (*resolve.Plan, error) {
	return resolve.Resolve(ctx, r.registry.Current(), agentID, opts)
}

// Explain says how an agent of the current revision resolves, or why it does
// not.
func (r *AgentRuntime) Explain(ctx context.Context, agentID string) (*resolve.Explanation, error) {
	return resolve.Explain(ctx, r.registry.Current(), agentID)
}

// Close closes what the components of the current revision hold open, such as
// connections to the servers that tools come from, and waits until that is done,
// for those of earlier revisions, too. It is called when no turn is under way any
// more, and may be called more than once if the components allow it.
func (r *AgentRuntime) Close() error { return r.registry.Close() }
