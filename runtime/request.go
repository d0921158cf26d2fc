package runtime

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
)

// Request asks for one turn.
type Request struct {
	// AgentID is the agent that runs the turn.
	AgentID string
	// HandedOver is set if AgentID took the conversation over in an earlier turn from the
	// agent that this turn was requested of. It gets the variables that it declares.
	HandedOver bool
	// Input is what the turn works on: at least one message. A turn that is idle has
	// none: it ends at once and leaves the session as it is.
	Input []model.Message
	Idle  bool
	// History is the conversation before the input. The runtime does not modify it.
	History []model.Message
	// SessionID names the conversation; if empty, the turn is a conversation of its
	// own. Session is the state that earlier turns left, as in Result.Session.
	SessionID string
	Session   map[string]json.RawMessage
	// Custom is the application's own state of the session, a JSON value, and
	// Artifacts are those of the session, without their data. Both are what earlier
	// turns left.
	Custom    json.RawMessage
	Artifacts []tools.Artifact
	// Workspace is the directory that the tools of the session work in; nil if it has
	// none.
	Workspace *tools.Workspace
	// TurnID is the turn's id; if empty, a new one is made.
	TurnID string
	// Params override those of the agent, field by field, and Overrides its limits
	// and the form of its answer.
	Params    model.Params
	Overrides resolve.Overrides
	// Variables is a JSON object of what the prompts of the turn's agents refer to as
	// ${turn.NAME}. The agent declares what it may contain; delegates, and agents that
	// take over, get of it what they declare.
	Variables json.RawMessage
	// TenantVariables has what the tenant of the turn has set for ${tenant.NAME}; nil for
	// a turn without a tenant, which has the declared defaults.
	TenantVariables tools.TenantSource
	// Ephemeral is an agent that the request itself defines. Its id is AgentID.
	Ephemeral *resolve.Ephemeral
	// Depth is the number of turns, in other runtimes, that led to this one.
	Depth int
	// DelegateEvents passes the events of delegates, which have a path, to the sink.
	DelegateEvents bool
	// Tenant owns the turn; empty if the turn is not stored. It can be a label of
	// metrics.
	Tenant string

	// State continues a turn that was stopped or suspended, with its original
	// input, history and turn id. The agent is that of the state.
	State *backend.State
	// Revision is the one to resolve in; nil is the current one. Whoever names one has
	// acquired it. The activation acquires it as well, until Close.
	Revision *registry.Revision
	// Answers answer what the turn waits for.
	Answers []interaction.Answer

	// Persistence is for callers that store turns while they run, as package
	// service does.
	Persistence
}

// Persistence stores a turn while it runs, so that another process can continue it.
// The zero value stores nothing.
type Persistence struct {
	// BegunIn is the hash of the revision that the turn began in, for a turn that
	// continues without a State; empty if it begins.
	BegunIn string
	// Checkpoint, if set, receives the turn's state after each step that does not
	// end it. If it returns backend.ErrYield, the turn stops there without having
	// ended; any other error fails it.
	Checkpoint func(ctx context.Context, state *backend.State) error
	// Journal, if set, records calls in the middle of a step, so that the turn can
	// continue there if the process dies.
	Journal backend.Journaler
	// Indeterminate decides what becomes of a call that was running when the
	// process died and must not be repeated; empty means an error for the model.
	Indeterminate backend.Indeterminate
	// SnapshotID is reserved for the session snapshot that a successful turn makes,
	// and ParentSnapshotID is the one that the turn continues from. Tools and hooks
	// see both; empty if there is no snapshot.
	SnapshotID       string
	ParentSnapshotID string
	// ShowCustom, if set, returns the application's state as those who follow the
	// turn may see it. It gets a copy. If it fails, they do not see the change.
	ShowCustom func(custom json.RawMessage) (json.RawMessage, error)
}

// Prompt returns a request for a turn whose input is one message of the user.
func Prompt(agentID, text string) Request {
	return Request{AgentID: agentID, Input: []model.Message{model.User(text)}}
}
