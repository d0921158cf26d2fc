package service

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
)

// Bounds of what callers keep with sessions and turns.
const (
	// maxID bounds the ids and keys that callers choose, in bytes.
	maxID = 255
	// MaxLabels is how many labels a session may have, and MaxLabel how long the
	// name and the value of each, in bytes.
	MaxLabels = 64
	MaxLabel  = 255
	// MaxMetadata bounds metadata, in bytes. A surface may store there the original request of a
	// session or turn.
	MaxMetadata = 1 << 20
)

// BusyPolicy decides what becomes of a turn whose session has a live one.
type BusyPolicy string

// The policies. The empty one is QueueBehind.
const (
	// QueueBehind lets the turn wait until the others have ended.
	QueueBehind BusyPolicy = "queue"
	// RejectBusy refuses the turn with a *store.BusyError.
	RejectBusy BusyPolicy = "reject"
	// Interrupt cancels the others.
	Interrupt BusyPolicy = "interrupt"
)

// Task is the kind of work a turn does.
type Task string

// The tasks.
const (
	// TaskAnswer is to work on the input.
	TaskAnswer Task = ""
	// TaskNothing has no input: when it is the turn's time, it ends, and its snapshot is
	// the session as it is.
	TaskNothing Task = "nothing"
)

// CreateTurn asks for a turn.
type CreateTurn struct {
	// SessionID is the session that the turn belongs to. It is required.
	SessionID string `json:"session_id,omitempty"`
	// ID is the turn's id; empty makes a new one.
	ID string `json:"id,omitempty"`
	// AgentID is the agent that runs the turn and then has the conversation. Empty means the
	// agent that has the conversation: the session's agent, until a handoff.
	AgentID string `json:"agent_id,omitempty"`
	// Addressed is set for a request that has to carry an agent, which is not a choice: a
	// turn for the same agent as the turn before goes to the agent that has the
	// conversation.
	Addressed bool `json:"-"`
	// Input is the new input of the turn: at least one message, unless Task says otherwise.
	Input []model.Message `json:"input,omitempty"`
	Task  Task            `json:"task,omitempty"`
	// Before are messages from before the input that the session does not have yet:
	// texts of the user, the system and the assistant, and images and files of the user.
	// With the input they become part of the session.
	Before []model.Message `json:"before,omitempty"`
	// TextHistory shows the model only the texts of the session's history, as model.Spoken
	// returns them. The session keeps everything.
	TextHistory bool `json:"text_history,omitempty"`
	// Custom, if set, replaces the application's own state of the session: a JSON value of
	// at most MaxMetadata bytes. It is rejected where a StateTransform hides parts of it.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Params override the agent's parameters field by field. Overrides replace its limits and the
	// form of its answer.
	Params    model.Params      `json:"params,omitzero"`
	Overrides resolve.Overrides `json:"overrides,omitzero"`
	// Limits are budgets of the turn in addition to the agent's. Deadline is when the turn must
	// end. Both are the remaining amounts at creation.
	Limits   *spec.Budgets `json:"limits,omitempty"`
	Deadline time.Time     `json:"deadline,omitzero"`
	// Variables is a JSON object of values for ${turn.NAME} in the prompts of the turn's agents.
	// They are stored with the turn, but never shown or logged.
	Variables json.RawMessage `json:"variables,omitempty"`
	// Depth is how many turns, in other runtimes, led to this one. The error is a
	// *DelegationError where that is more than delegates may be nested.
	Depth int `json:"depth,omitempty"`
	// rights are those of the caller.
	rights turnRights
	// Ephemeral is an agent that the turn supplies instead of a declared one. AgentID is then
	// ignored, unless the turn is Addressed.
	Ephemeral *Ephemeral `json:"ephemeral,omitempty"`
	// Revision is the hash of the revision that the turn starts in; empty for the current one.
	Revision string `json:"revision,omitempty"`
	// Published is the hash of a published document whose revision the turn starts in, and
	// replaces Revision. A tenant with an overlay cannot use it: the overlay is part of its
	// revisions. The caller decides who may set it.
	Published string `json:"-"`
	// InteractionTimeout and OnTimeout override the service's settings for the interactions of
	// the turn.
	InteractionTimeout time.Duration `json:"interaction_timeout,omitempty"`
	OnTimeout          TimeoutPolicy `json:"on_timeout,omitempty"`
	// Metadata is a JSON object that the caller keeps with the turn.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SnapshotID makes the turn continue from an earlier snapshot of the session instead of the
	// latest.
	SnapshotID string `json:"snapshot_id,omitempty"`
	// FromStart makes the turn start without history: the model sees nothing of the earlier
	// conversation.
	FromStart bool `json:"from_start,omitempty"`
	// OnBusy decides what becomes of the turn if the session has a live one.
	OnBusy BusyPolicy `json:"on_busy,omitempty"`
	// NotBefore is when the turn is due; zero is at once.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Background is set if nobody waits for the turn.
	Background bool `json:"background,omitempty"`
	// IdempotencyKey makes the request repeatable: with the same key it returns
	// the turn that was made first. Keys belong to the session.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// IdempotencyBody is the body of the key, as in CreateSession.
	IdempotencyBody json.RawMessage `json:"-"`
}

// CreateSession asks for a session.
type CreateSession struct {
	// ID is the session's id; empty makes a new one.
	ID string
	// AgentID is the agent of its turns, unless a turn names another; it may be
	// empty.
	AgentID string
	// Revision is the hash of the revision in which the turns of the session start; empty for the
	// current one of the tenant. The agent must exist in it.
	Revision string `json:",omitempty"`
	Labels   map[string]string
	Metadata json.RawMessage
	// SessionStart are programs that run once before the session exists, after the agent's own.
	SessionStart []spec.SessionHook `json:",omitempty"`
	// Workspace asks for checkouts that the session works in, and Prepared is a
	// directory that a host has prepared; nil for none. There is one of them at most.
	Workspace *workspace.Request  `json:",omitempty"`
	Prepared  *workspace.Prepared `json:",omitempty"`
	// IdempotencyKey makes the request repeatable: with the same key it returns
	// the session that was made first.
	IdempotencyKey string
	// IdempotencyBody is the body that the key belongs to: the same key with
	// another body fails with a *store.KeyConflictError. Nil is the request itself.
	// Surfaces set it if the same body can lead to different requests as the
	// configuration changes.
	IdempotencyBody json.RawMessage `json:"-"`
}

// ForkSession asks for a session that begins where another one is, or was.
type ForkSession struct {
	// SessionID is the session to fork, and SnapshotID the one of its snapshots
	// to begin with; empty is the latest.
	SessionID  string
	SnapshotID string
	// New is the session to create. Without an agent it uses the other session's agent.
	New CreateSession
}
