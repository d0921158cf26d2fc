package runtime

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
)

// Request is a request for one turn.
type Request struct {
	// AgentID is the agent that runs the turn.
	AgentID string
	// HandedOver is set if AgentID took over the conversation, in an earlier turn, from the agent
	// that received this request. It gets the variables that it declares.
	HandedOver bool
	// Input is the turn's input, at least one message. An idle turn has none: it ends immediately
	// and does not change the session.
	Input []model.Message
	Idle  bool
	// History is the conversation before the input. The runtime does not modify it.
	History []model.Message
	// SessionID names the conversation; if empty, the turn is a separate conversation. Session is
	// the state after earlier turns, as in Result.Session.
	SessionID string
	Session   map[string]json.RawMessage
	// Custom is the application's session state, a JSON value. Artifacts are the session's
	// artifacts without their data. Both come from earlier turns.
	Custom    json.RawMessage
	Artifacts []tools.Artifact
	// Workspace is the directory of the session's tools; nil if it has none.
	Workspace *tools.Workspace
	// TurnID is the turn's id; if empty, a new one is generated.
	TurnID string
	// Params override the agent's parameters, field by field; Overrides override its limits and
	// output schema.
	Params    model.Params
	Overrides resolve.Overrides
	// Variables is a JSON object with the values for ${turn.NAME} in the prompts of the turn's
	// agents. The agent declares the allowed variables; delegates and handoff targets receive the
	// variables that they declare.
	Variables json.RawMessage
	// TenantVariables has the values of the turn's tenant for ${tenant.NAME}. Nil means no
	// tenant, so the declared defaults apply.
	TenantVariables tools.TenantSource
	// Ephemeral is an agent that the request itself defines. Its id is AgentID.
	Ephemeral *resolve.Ephemeral
	// Depth is the number of turns, in other runtimes, that led to this one.
	Depth int
	// DelegateEvents passes the events of delegates, which have a path, to the sink.
	DelegateEvents bool
	// Tenant owns the turn; empty if the turn is not stored. It can be a metric label.
	Tenant string

	// State continues a stopped or suspended turn, with its original input, history, turn id and
	// agent.
	State *backend.State
	// Revision is the revision to resolve in; nil for the current one. The caller must have
	// acquired it. The activation also acquires it until Close.
	Revision *registry.Revision
	// Answers answer the turn's interactions.
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
	// Checkpoint, if set, receives the turn's state after each step that does not end it. If it
	// returns backend.ErrYield, the turn stops there without ending; any other error fails it.
	Checkpoint func(ctx context.Context, state *backend.State) error
	// Journal, if set, records calls in the middle of a step, so that the turn can
	// continue there if the process dies.
	Journal backend.Journaler
	// KeepRequest, if set, receives the model requests of the turn and its local delegates before
	// they are sent. It is called concurrently and must not change them.
	KeepRequest func(ctx context.Context, call *backend.ModelCall)
	// Indeterminate decides how to handle a call that was running when the process died and must
	// not be repeated; empty means an error for the model.
	Indeterminate backend.Indeterminate
	// SnapshotID is reserved for the session snapshot that a successful turn creates;
	// ParentSnapshotID is the snapshot that it continues. Tools and hooks see both; empty if
	// there is no snapshot.
	SnapshotID       string
	ParentSnapshotID string
	// ShowCustom, if set, returns the view of the application's state for followers of the turn. It
	// gets a copy. If it fails, they do not see the change.
	ShowCustom func(custom json.RawMessage) (json.RawMessage, error)
}

// Prompt returns a request for a turn whose input is one user message.
func Prompt(agentID, text string) Request {
	return Request{AgentID: agentID, Input: []model.Message{model.User(text)}}
}
