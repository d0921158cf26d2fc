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
	// Dispatcher delivers turns to this process. Notifier reports changes of turns that run in
	// other processes; without it, the service polls followed turns every two seconds.
	Dispatcher dispatch.Dispatcher
	Notifier   dispatch.Notifier
	// Revisions finds revisions of turns that this process does not have in memory; nil finds none.
	// Revision selects the revision in which turns continue. OnRevisionGone decides what happens to
	// turns whose revision is not found.
	Revisions      Revisions
	Revision       RevisionPolicy
	OnRevisionGone GonePolicy
	// Handoff decides which agent runs the turn after a handoff.
	Handoff HandoffPolicy
	// KeepRequests stores the requests that turns send to models, for ModelRequests. Each step
	// stores one as large as the conversation, and no transform changes them.
	KeepRequests bool
	// Tenants finds the revisions in which the turns of tenants begin; nil means the current one
	// for all.
	Tenants Tenants
	// Worker names this process among those that use the store; empty means a new name.
	Worker string
	// Lease, Strikes and Expiry default to the constants above.
	Lease   time.Duration
	Strikes int
	Expiry  time.Duration
	// MemoryLimit is the memory in bytes above which the process fails turns; 0 means no limit.
	MemoryLimit int64
	// Indeterminate decides what happens to a call that must not be repeated, if a worker died
	// while it ran.
	Indeterminate backend.Indeterminate
	// InteractionTimeout is how long a turn waits for a person; 0 means forever. OnTimeout decides
	// what happens then.
	InteractionTimeout time.Duration
	OnTimeout          TimeoutPolicy
	// TurnTools makes the tools that turns bring along; nil rejects such turns.
	TurnTools TurnTools
	// Workspaces creates the directories that sessions work in; nil rejects such sessions. The
	// service closes it.
	Workspaces *workspace.Manager
	// EncryptionKey is the 32-byte key that encrypts the descriptions of these tools in the store,
	// since they may contain credentials. Without it they are stored in plain text. All processes
	// that use the store must have the same key.
	EncryptionKey []byte
	// Retention configures pruning. It runs within seconds of Start, so that short-lived processes
	// also prune, and then once an hour.
	Retention store.Retention
	// Jitter returns a part of a duration, so that processes started together do not act at the
	// same time; nil means a random part.
	Jitter func(time.Duration) time.Duration
	// Webhooks deliver events to receivers, by the surface of the webhook; without senders,
	// webhooks are stored but not delivered.
	Webhooks map[string]webhook.Sender
	// StateTransform and EventTransform change what callers see of states and
	// events.
	StateTransform StateTransform
	EventTransform EventTransform
	// OnNotify is called with the ids of each notification; it may be nil.
	OnNotify func(ids []string)
	// OnChange is notified of turns that ended or wait, if this process was involved. It must not
	// block; it may be nil.
	OnChange func(turnID string)
	// Logger receives the service's log; nil drops it.
	Logger *zap.Logger
	// Clock returns the current time; nil means time.Now. NewID creates ids; nil means UUIDs of
	// version 7.
	Clock func() time.Time
	NewID func() string

	_ struct{} // keyed literals only
}

// Revisions finds revisions by the hash of their content. It must be safe for concurrent use.
type Revisions = work.Revisions

// Tenants finds the revisions in which the turns of tenants begin, if they differ by tenant. It
// must be safe for concurrent use.
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

// GonePolicy decides what happens to a pinned turn whose revision is gone.
type GonePolicy string

// The policies. The empty one is GoneFails, or GoneLatest without Settings.Revisions, which could
// find a revision.
const (
	// GoneFails ends the turn as failed, with CodeRevisionGone.
	GoneFails GonePolicy = "fail"
	// GoneLatest continues the turn in the current revision.
	GoneLatest GonePolicy = "latest"
)

// TimeoutPolicy decides what happens to a turn whose interaction was not answered in time.
type TimeoutPolicy string

// The policies. The empty one is TimeoutCancels.
const (
	// TimeoutCancels answers in place of the person: the call is refused, the model gets the
	// reason, and the turn continues.
	TimeoutCancels TimeoutPolicy = "cancel"
	// TimeoutFails ends the turn as failed.
	TimeoutFails TimeoutPolicy = "fail"
)

const (
	// DefaultLease is how long a turn belongs to a worker without a heartbeat.
	DefaultLease = 5 * time.Second
	// DefaultStrikes is how many workers a turn may crash without making progress.
	DefaultStrikes = 3
	// defaultExpiry is the age of the latest heartbeat of a turn's worker at which the turn counts
	// as expired.
	defaultExpiry = time.Minute
)

// StateTransform changes a copy of a state before a caller sees it; stored states are not
// affected. Return nil to omit the state, an error to reject the request. It also runs for
// custom_patch events, with only the application's state; nil or an error omits the event.
type StateTransform func(ctx context.Context, state *SessionState) (*SessionState, error)

// EventTransform changes a copy of an event before a caller sees it; the log is not affected.
// Return nil to omit the event, an error to end the caller's stream.
type EventTransform func(ctx context.Context, ev *event.Event) (*event.Event, error)

// TurnTools makes the tools that turns bring along. It must be safe for concurrent use.
type TurnTools interface {
	// Check validates the descriptions of tools without network access.
	Check(list []EphemeralTool) error
	// Make returns the tools for one turn, each time a worker starts on the turn. release is called
	// when the worker is done; it may be nil. An error fails the turn.
	Make(ctx context.Context, list []EphemeralTool) (made []resolve.EphemeralTool, release func(), err error)
}

// TurnContexts is implemented by TurnTools if turns bring along more than tools.
type TurnContexts interface {
	// TurnContext returns the context in which a turn with these descriptions runs, derived from
	// ctx. It makes no requests.
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

// Ephemeral is an agent that a stored turn brings along and that no revision declares, in its
// stored form.
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
	// Messages is the conversation, oldest first.
	Messages []model.Message `json:"messages,omitempty"`
	// Custom is the application's own state; nil if it has none.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Artifacts are the session's artifacts, without their data.
	Artifacts []tools.Artifact `json:"artifacts,omitempty"`
}
