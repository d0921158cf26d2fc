// Package runtime runs one turn of a declared agent. An AgentRuntime holds the
// current revision, resolves the agent anew for each turn, and runs the turn on the
// agent's backend: the local loop or a peer. Package builder makes one.
//
// Run runs a turn to its end and returns the result:
//
//	result, err := rt.Run(ctx, runtime.Prompt("guide", "How is Paris?"), nil)
//
// Start runs a turn in the background, where it can be answered and canceled.
// Package service keeps sessions and turns in a store; like Run and Start, it uses
// Prepare.
package runtime

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Settings configures an AgentRuntime.
type Settings struct {
	// Registry holds the revisions that turns resolve in. It is required.
	Registry *registry.Store
	// Local runs the agents without an endpoint. It is required.
	Local backend.Backend
	// Logger receives the runtime's log; nil drops it.
	Logger *zap.Logger
	// Telemetry observes the turns; nil disables it.
	Telemetry *telemetry.Telemetry
	// Warn receives the warnings of each new revision that the previous one did not have; nil
	// writes them to Logger. The publishing goroutine calls it, so it must not publish.
	Warn func(diag.List)
	// NewID returns a new turn id; nil uses UUIDs of version 7.
	NewID func() string
	// Depth is the maximum nesting depth of delegates; 0 means resolve.DefaultDepth.
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

	// warm is set once agent providers are to start with each revision.
	warm atomic.Bool
	// workers are the goroutines of turns and tool calls; aside is their runAside.
	workers workers
	aside   func(func())
}

// New returns a runtime. Package builder is the usual way to create one.
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
	r.aside = r.workers.runAside
	r.reportWarnings(nil, r.Diagnostics())
	return r
}

// Telemetry returns the telemetry of the turns; nil if absent.
func (r *AgentRuntime) Telemetry() *telemetry.Telemetry { return r.observer }

// Revision returns the current revision.
func (r *AgentRuntime) Revision() *registry.Revision { return r.registry.Current() }

// AcquireRevision returns the current revision, whose components stay open until its Release is
// called.
func (r *AgentRuntime) AcquireRevision() *registry.Revision { return r.registry.Acquire() }

// ErrRevisionClosed reports that the components of a turn's revision are already closed.
var ErrRevisionClosed = errors.New("the components of the revision are closed")

// Diagnostics returns the warnings and notes of the current revision's dry run.
func (r *AgentRuntime) Diagnostics() diag.List { return r.registry.Current().Diagnostics() }

// Publish changes the configuration. It passes edit a draft of the current revision,
// dry-runs every agent of the edited draft, and makes it current. If edit fails, or
// an agent does not resolve (*registry.InvalidError), nothing changes. Turns in
// flight keep the revision they began with.
//
// New warnings, which the previous revision did not have, go to Settings.Warn or
// to the log.
func (r *AgentRuntime) Publish(ctx context.Context, edit func(*registry.Draft) error) (*registry.Revision, error) {
	before := r.registry.Current().Diagnostics()
	rev, err := r.registry.Publish(ctx, edit)
	if err == nil {
		r.reportWarnings(before, rev.Diagnostics())
		if r.warm.Load() {
			rev.Set().StartProviders(nil)
		}
	}
	return rev, err
}

// StartProviders starts the agent providers of the current revision and of each later one, instead
// of on first use. Servers call it. It returns immediately; errors are logged.
func (r *AgentRuntime) StartProviders() {
	r.warm.Store(true) // first, so that a revision that is published meanwhile starts its own
	r.registry.Current().Set().StartProviders(nil)
}

// Resolve returns the plan of an agent in the current revision.
func (r *AgentRuntime) Resolve(ctx context.Context, agentID string, opts resolve.Options) (*resolve.Plan, error) {
	return resolve.Resolve(ctx, r.registry.Current(), agentID, opts)
}

// Explain describes how an agent of the current revision resolves, or why it does
// not.
func (r *AgentRuntime) Explain(ctx context.Context, agentID string) (*resolve.Explanation, error) {
	return resolve.Explain(ctx, r.registry.Current(), agentID)
}

// Close closes the resources of the current and earlier revisions' components, such as
// connections to tool servers, waits for them, and ends idle goroutines. Call it after the last
// turn has ended. It may be called more than once if the components allow it.
func (r *AgentRuntime) Close() error {
	r.workers.close()
	return r.registry.Close()
}

// reportWarnings reports the warnings that the previous revision did not have.
func (r *AgentRuntime) reportWarnings(before, now diag.List) {
	known := make(map[diag.Identity]bool, len(before))
	for i := range before {
		known[before[i].Identity()] = true
	}
	var fresh diag.List
	for i := range now {
		if now[i].Severity == diag.Warning && !known[now[i].Identity()] {
			fresh = append(fresh, now[i])
		}
	}
	if fresh == nil {
		return
	}
	if r.tellWarnings != nil {
		r.tellWarnings(fresh)
		return
	}
	LogWarnings(r.logger, fresh)
}
