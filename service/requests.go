package service

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
)

// Limits of what callers store with sessions and turns.
const (
	// maxID bounds the ids and keys that callers choose, in bytes.
	maxID = 255
	// MaxLabels limits the labels of a session, and MaxLabel the name and the value of each, in
	// bytes.
	MaxLabels = 64
	MaxLabel  = 255
	// MaxMetadata limits metadata, in bytes. A surface may store the original request of a session
	// or turn there.
	MaxMetadata = 1 << 20
)

// BusyPolicy decides what happens to a turn whose session has a live one.
type BusyPolicy string

// The policies. The empty one is QueueBehind.
const (
	// QueueBehind makes the turn wait until the others have ended.
	QueueBehind BusyPolicy = "queue"
	// RejectBusy rejects the turn with a *store.BusyError.
	RejectBusy BusyPolicy = "reject"
	// Interrupt cancels the others.
	Interrupt BusyPolicy = "interrupt"
)

// Task is the kind of work that a turn does.
type Task string

// The tasks.
const (
	// TaskAnswer processes the input.
	TaskAnswer Task = ""
	// TaskNothing has no input: when its time comes, the turn ends, and its snapshot is the
	// unchanged session.
	TaskNothing Task = "nothing"
)

// CreateTurn is a request to create a turn.
type CreateTurn struct {
	// SessionID is the session that the turn belongs to. It is required.
	SessionID string `json:"session_id,omitempty"`
	// ID is the turn's id; empty means a new one.
	ID string `json:"id,omitempty"`
	// AgentID is the agent that runs the turn and then has the conversation. Empty means the
	// agent that has the conversation: the session's agent, until a handoff.
	AgentID string `json:"agent_id,omitempty"`
	// Addressed is set if the request had to name an agent, without choosing one: if the previous
	// turn was for the same agent, the turn goes to the agent that has the conversation.
	Addressed bool `json:"-"`
	// Input is the new input of the turn: at least one message, unless Task says otherwise.
	Input []model.Message `json:"input,omitempty"`
	Task  Task            `json:"task,omitempty"`
	// Before are messages that precede the input and that the session does not have yet: texts of
	// the user, the system and the assistant, and images and files of the user. With the input they
	// become part of the session.
	Before []model.Message `json:"before,omitempty"`
	// TextHistory shows the model only the texts of the session's history, as model.Spoken
	// returns them. The session keeps everything.
	TextHistory bool `json:"text_history,omitempty"`
	// Custom, if set, replaces the application's own state of the session: a JSON value of at most
	// MaxMetadata bytes. It is rejected if a StateTransform hides parts of the state.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Params override the agent's parameters field by field. Overrides replace its limits and its
	// output schema.
	Params    model.Params      `json:"params,omitzero"`
	Overrides resolve.Overrides `json:"overrides,omitzero"`
	// Limits are budgets of the turn in addition to the agent's. Deadline is when the turn must
	// end. Both are the remaining amounts at creation.
	Limits   *spec.Budgets `json:"limits,omitempty"`
	Deadline time.Time     `json:"deadline,omitzero"`
	// Variables is a JSON object of values for ${turn.NAME} in the prompts of the turn's agents.
	// They are stored with the turn, but never shown or logged.
	Variables json.RawMessage `json:"variables,omitempty"`
	// Depth is the number of turns, in other runtimes, that led to this one. The error is a
	// *DelegationError if it exceeds the nesting limit of delegates.
	Depth int `json:"depth,omitempty"`
	// rights are the rights of the caller.
	rights turnRights
	// Ephemeral is an agent that the turn supplies instead of a declared one. AgentID is then
	// ignored, unless the turn is Addressed.
	Ephemeral *Ephemeral `json:"ephemeral,omitempty"`
	// Revision is the hash of the revision that the turn starts in; empty means the current one.
	Revision string `json:"revision,omitempty"`
	// Published is the hash of a published document whose revision the turn starts in, and
	// replaces Revision. A tenant with an overlay cannot use it: the overlay is part of its
	// revisions. The caller decides who may set it.
	Published string `json:"-"`
	// InteractionTimeout and OnTimeout override the service's settings for the interactions of
	// the turn.
	InteractionTimeout time.Duration `json:"interaction_timeout,omitempty"`
	OnTimeout          TimeoutPolicy `json:"on_timeout,omitempty"`
	// Metadata is a JSON object that the caller stores with the turn.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SnapshotID makes the turn continue from an earlier snapshot of the session instead of the
	// latest.
	SnapshotID string `json:"snapshot_id,omitempty"`
	// FromStart makes the turn start without history: the model sees nothing of the earlier
	// conversation.
	FromStart bool `json:"from_start,omitempty"`
	// OnBusy decides what happens to the turn if the session has a live one.
	OnBusy BusyPolicy `json:"on_busy,omitempty"`
	// NotBefore is when the turn is due; zero means immediately.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Background is set if no client waits for the turn.
	Background bool `json:"background,omitempty"`
	// IdempotencyKey makes the request repeatable: the same key returns the turn created first.
	// Keys belong to the session.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// IdempotencyBody is the body of the key, as in CreateSession.
	IdempotencyBody json.RawMessage `json:"-"`
}

// CreateSession is a request to create a session.
type CreateSession struct {
	// ID is the session's id; empty means a new one.
	ID string
	// AgentID is the agent of its turns, unless a turn names another; it may be
	// empty.
	AgentID string
	// Revision is the hash of the revision in which the turns of the session start; empty means the
	// tenant's current one. The agent must exist in it.
	Revision string `json:",omitempty"`
	Labels   map[string]string
	Metadata json.RawMessage
	// SessionStart are programs that run once before the session exists, after the agent's own.
	SessionStart []spec.SessionHook `json:",omitempty"`
	// Workspace requests checkouts for the session, and Prepared is a directory that a host has
	// prepared; nil for none. At most one of them may be set.
	Workspace *workspace.Request  `json:",omitempty"`
	Prepared  *workspace.Prepared `json:",omitempty"`
	// IdempotencyKey makes the request repeatable: the same key returns the session created first.
	IdempotencyKey string
	// IdempotencyBody is the body that the key belongs to: the same key with another body fails
	// with a *store.KeyConflictError. nil means the request itself. Surfaces set it if the same
	// body can lead to different requests as the configuration changes.
	IdempotencyBody json.RawMessage `json:"-"`
}

// ForkSession is a request for a session that starts where another one is, or was.
type ForkSession struct {
	// SessionID is the session to fork, and SnapshotID the snapshot to start from; empty means the
	// latest.
	SessionID  string
	SnapshotID string
	// New is the session to create. Without an agent it uses the other session's agent.
	New CreateSession
}
