package service

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// Settings configures a service. Runtime and Store are required. Without a Dispatcher, the
// service only reads and writes the store and runs no turns.
type Settings struct {
	Runtime *runtime.AgentRuntime
	Store   store.Store
	// Dispatcher brings turns to this process. Notifier reports changes of turns that run in
	// other processes; without it, the service polls followed turns every two seconds.
	Dispatcher dispatch.Dispatcher
	Notifier   dispatch.Notifier
	// Revisions finds revisions of turns that this process does not have in memory; nil finds
	// none. Revision selects the revision in which turns continue. OnRevisionGone decides about
	// turns whose revision is not found.
	Revisions      Revisions
	Revision       RevisionPolicy
	OnRevisionGone GonePolicy
	// Handoff decides which agent works on the turn after a handoff.
	Handoff HandoffPolicy
	// KeepRequests stores the requests that turns send to models, for ModelRequests. They are as
	// large as the conversation, for each step, and no transform changes them.
	KeepRequests bool
	// Tenants finds the revisions in which the turns of tenants begin; nil is the current
	// one for all of them.
	Tenants Tenants
	// Worker names this process among those that use the store; empty makes a
	// new name.
	Worker string
	// Lease, Strikes and Expiry have the defaults above.
	Lease   time.Duration
	Strikes int
	Expiry  time.Duration
	// MemoryLimit is the memory in bytes above which the process fails turns; 0 for no limit.
	MemoryLimit int64
	// Indeterminate decides what becomes of a call that must not be repeated, if a
	// worker died while it ran.
	Indeterminate backend.Indeterminate
	// InteractionTimeout is how long a turn waits for a person; 0 is forever.
	// OnTimeout decides what happens then.
	InteractionTimeout time.Duration
	OnTimeout          TimeoutPolicy
	// TurnTools makes the tools that turns bring along; nil refuses such turns.
	TurnTools TurnTools
	// Workspaces makes the directories that sessions work in; nil refuses such sessions.
	// The service closes it.
	Workspaces *workspace.Manager
	// EncryptionKey has 32 bytes, with which the store keeps what describes these
	// tools: there may be credentials in it. Without one it is kept as it is. All
	// processes with the store have the same.
	EncryptionKey []byte
	// Retention configures pruning. It runs within seconds of Start, so that short-lived
	// processes prune, too, and then once an hour.
	Retention store.Retention
	// Jitter returns a part of a time span, so that processes that were started
	// together do not all do the same at once; nil is a random part of it.
	Jitter func(time.Duration) time.Duration
	// Webhooks deliver events to receivers, by the surface of the webhook; without
	// any, webhooks are stored but not delivered.
	Webhooks map[string]webhook.Sender
	// StateTransform and EventTransform change what callers see of states and
	// events.
	StateTransform StateTransform
	EventTransform EventTransform
	// OnNotify is called with the ids of each notification; may be nil.
	OnNotify func(ids []string)
	// OnChange is told of turns that ended, or wait, as far as this process had a part in
	// that. It must not block; nil for nobody.
	OnChange func(turnID string)
	// Logger receives the service's log; nil drops it.
	Logger *zap.Logger
	// Clock tells the time; nil is time.Now. NewID makes ids; nil makes UUIDs of
	// version 7.
	Clock func() time.Time
	NewID func() string

	_ struct{} // keyed literals only
}

// Revisions finds revisions by the hash of their content. It is used by many goroutines
// at once.
type Revisions = work.Revisions

// Tenants finds the revisions in which the turns of tenants begin, where those differ from
// tenant to tenant. It is used by many goroutines at once.
type Tenants = work.Tenants

// RevisionPolicy selects the revision in which a stopped or waiting turn continues.
type RevisionPolicy string

// The policies. The empty one is RevisionPinned.
const (
	// RevisionPinned continues a turn in the revision it started in.
	RevisionPinned RevisionPolicy = "pin"
	// RevisionLatest continues a turn in the current revision.
	RevisionLatest RevisionPolicy = "latest"
)

// latestIfGone reports whether a turn whose revision is gone continues in the current one.
func (s *Settings) latestIfGone() bool {
	return s.OnRevisionGone == GoneLatest || s.OnRevisionGone == "" && s.Revisions == nil
}

// GonePolicy decides what becomes of a pinned turn whose revision is gone.
type GonePolicy string

// The policies. The empty one is GoneFails, and without Settings.Revisions, which could
// find one, GoneLatest.
const (
	// GoneFails ends the turn as failed, with CodeRevisionGone.
	GoneFails GonePolicy = "fail"
	// GoneLatest continues the turn in the current revision.
	GoneLatest GonePolicy = "latest"
)

// TimeoutPolicy decides what becomes of a turn whose interaction was not answered
// in time.
type TimeoutPolicy string

// The policies. The empty one is TimeoutCancels.
const (
	// TimeoutCancels answers for the person: the call is refused, the model gets
	// the reason, and the turn continues.
	TimeoutCancels TimeoutPolicy = "cancel"
	// TimeoutFails ends the turn as failed.
	TimeoutFails TimeoutPolicy = "fail"
)

const (
	// DefaultLease is how long a turn belongs to a worker that gives no sign of
	// life.
	DefaultLease = 5 * time.Second
	// DefaultStrikes is how many workers a turn may crash without making progress.
	DefaultStrikes = 3
	// DefaultExpiry is how old the latest sign of life of a turn's worker is when
	// the turn reads as expired.
	DefaultExpiry = time.Minute
)

// StateTransform changes a copy of a state before a caller sees it; stored states are not
// affected. Return nil to omit the state, an error to reject the request. It also runs for
// custom_patch events, with only the application's state; nil or an error omits the event.
type StateTransform func(ctx context.Context, state *SessionState) (*SessionState, error)

// EventTransform changes a copy of an event before a caller sees it; the log is not affected.
// Return nil to omit the event, an error to end the caller's stream.
type EventTransform func(ctx context.Context, ev *event.Event) (*event.Event, error)

// TurnTools makes the tools that turns bring along. It is used by many goroutines
// at once.
type TurnTools interface {
	// Check validates the descriptions of tools without network access.
	Check(list []EphemeralTool) error
	// Make returns the tools for one turn, each time that a worker begins to work on
	// it. release is called when the worker has; it may be nil. An error fails the
	// turn.
	Make(ctx context.Context, list []EphemeralTool) (made []resolve.EphemeralTool, release func(), err error)
}

// TurnContexts is implemented by TurnTools whose turns bring along more than tools.
type TurnContexts interface {
	// TurnContext returns the context that a turn with these descriptions runs in, derived
	// from ctx. It reaches nothing.
	TurnContext(ctx context.Context, list []EphemeralTool) context.Context
}

// EphemeralTool describes a tool, or a server of tools, that a turn brings along.
type EphemeralTool struct {
	// Kind is the tool kind that makes the tool from Config, a JSON object.
	Kind   string          `json:"kind"`
	Config json.RawMessage `json:"config"`
	// Silent is set for an entry that adds to the context of the turn but creates no tool.
	Silent bool `json:"silent,omitempty"`
}

// Ephemeral is an agent that a stored turn brings along, which no revision
// declares: as it is kept with the turn.
type Ephemeral struct {
	// Agent is the agent. Its id is the id of the turn's agent.
	Agent spec.Agent `json:"agent"`
	// Tools are added to the revision's tools. ServiceSettings.TurnTools creates them.
	Tools []EphemeralTool `json:"tools,omitempty"`
	// Call, if set, is all that the turn does: no model is asked.
	Call *resolve.SingleCall `json:"call,omitempty"`
}

// SessionState is the state of a session after a turn.
type SessionState struct {
	// Messages is the conversation, the oldest first.
	Messages []model.Message `json:"messages,omitempty"`
	// Custom is the application's own state; nil if it has none.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Artifacts are those that the session holds, without their data.
	Artifacts []tools.Artifact `json:"artifacts,omitempty"`
}
