package native

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
)

// Turn is a turn in the protocol's form.
type Turn struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"session_id"`
	Owner      service.Owner   `json:"owner"`
	AgentID    string          `json:"agent_id"`
	Status     service.Status  `json:"status" enum:"pending,running,waiting,succeeded,failed,canceled"`
	Expired    bool            `json:"expired,omitempty" jsonschema:"Whether the turn is running and its worker is considered dead."`
	Worker     string          `json:"worker,omitempty"`
	Strikes    int             `json:"strikes,omitempty" minimum:"0" jsonschema:"Number of workers that died while running the turn since it last made progress."`
	Steps      int             `json:"steps" minimum:"0" jsonschema:"Number of model calls."`
	Events     uint64          `json:"events" jsonschema:"Number of the latest event."`
	Background bool            `json:"background,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty" type:"object" jsonschema:"The owner's metadata, without the values of headers."`
	CreatedAt  time.Time       `json:"created_at"`
	NotBefore  time.Time       `json:"not_before,omitzero"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	FinishedAt time.Time       `json:"finished_at,omitzero"`
	// Input and Variables are set by GetTurn only.
	Input     []model.Message `json:"input,omitempty" items:"{'type':'object','required':['role','parts']}" jsonschema:"Messages given to the turn. Present only when a single turn is read."`
	Variables []string        `json:"variables,omitempty" jsonschema:"Names of the variables given to the turn. Present only when a single turn is read. Values cannot be read."`
	// WaitsFor lists the questions of a waiting turn.
	WaitsFor []Question `json:"waits_for,omitempty"`
	// Outcome is the outcome of the turn; nil while it is live.
	Outcome *event.Outcome `json:"outcome,omitempty"`
}

// Question is the short form of an interaction.
type Question struct {
	ID      string `json:"id"`
	Action  string `json:"action,omitempty"`
	Message string `json:"message"`
}

// TurnList is a page of turns.
type TurnList struct {
	Turns []Turn `json:"turns"`
	// Next is empty on the last page.
	Next string `json:"next,omitempty" jsonschema:"Value of after for the next page."`
}

// TurnQuery selects a page of turns, newest first. Non-empty fields restrict it.
type TurnQuery struct {
	Tenant    string            `query:"tenant" jsonschema:"Only turns of this tenant. Credentials see only their own tenant."`
	SessionID string            `query:"session_id" jsonschema:"Only turns of this session."`
	AgentID   string            `query:"agent_id" jsonschema:"Only turns of this agent."`
	Statuses  []service.Status  `query:"status" enum:"pending,running,waiting,succeeded,failed,canceled" jsonschema:"Only turns in one of these states."`
	Labels    map[string]string `query:"label" pattern:"^[^=]+=" jsonschema:"Only turns of sessions with this label, as name=value."`
	// Text is case-insensitive.
	Text    string  `query:"q" jsonschema:"Only turns with this text in their id, agent, metadata, answer, error or question."`
	MinCost float64 `query:"min_cost" minimum:"0" jsonschema:"Only turns that cost at least this much in the currency of their model."`
	// MinDuration is rounded up to milliseconds.
	MinDuration time.Duration `query:"min_duration_ms" minimum:"0" jsonschema:"Only turns that have run for at least this long."`
	Page        service.Page
}

// CreateTurn is a request to create a turn.
type CreateTurn struct {
	// SessionID is the session that the turn belongs to. It is required.
	SessionID string `json:"session_id"`
	// ID is the turn's id; empty means a new one.
	ID      string `json:"id,omitempty" minLength:"1" maxLength:"255"`
	AgentID string `json:"agent_id,omitempty" jsonschema:"Agent of the turn, which takes over the conversation. Defaults to the agent that has the conversation."`
	// Input is the input of the turn: at least one user or system message.
	Input   []model.Message `json:"input" minItems:"1" items:"{'type':'object','required':['role','parts'],'properties':{'role':{'enum':['user','system']},'parts':{'type':'array','items':{'type':'object'}}}}"`
	ModelID string          `json:"model_id,omitempty" jsonschema:"Model or pool of the turn. Replaces the model of the agent, which must run on this server."`
	// ToolIDs are the only tools of the turn; nil means all tools of the agent.
	ToolIDs    []string        `json:"tool_ids,omitzero" jsonschema:"Tools that the turn may call. The agent must have each of them. Defaults to all tools of the agent."`
	Variables  json.RawMessage `json:"variables,omitempty" type:"object" jsonschema:"Variables that the prompts of the turn's agents refer to as ${turn.NAME}, as the agent declares them. They are stored with the turn and not shown."`
	Metadata   json.RawMessage `json:"metadata,omitempty" type:"object"`
	SnapshotID string          `json:"snapshot_id,omitempty" jsonschema:"Snapshot of the session that the turn continues from. Defaults to the latest."`
	FromStart  bool            `json:"from_start,omitempty" jsonschema:"Whether the turn starts without history."`
	// Revision needs a scope, since an earlier revision may permit more.
	Revision string             `json:"revision,omitempty" jsonschema:"Hash of the published revision to run in. Defaults to the current one. Requires the scope config:write."`
	OnBusy   service.BusyPolicy `json:"on_busy,omitempty" enum:"queue,reject,interrupt" default:"queue" jsonschema:"What happens to the turn if the session has a live one."`
	// NotBefore is when the turn is due; zero means immediately.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Background is set when no client waits for the turn.
	Background bool `json:"background,omitempty"`
	// IdempotencyKey makes the request repeatable: the same key returns the turn created first.
	IdempotencyKey string `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat."`
}

func (c *CreateTurn) toRequest() service.CreateTurn {
	return service.CreateTurn{
		SessionID: c.SessionID, ID: c.ID, AgentID: c.AgentID, Input: c.Input, Variables: c.Variables, Metadata: c.Metadata, SnapshotID: c.SnapshotID, FromStart: c.FromStart, Published: c.Revision,
		Overrides: resolve.Overrides{ModelID: c.ModelID, Tools: c.ToolIDs}, OnBusy: c.OnBusy, NotBefore: c.NotBefore, Background: c.Background, IdempotencyKey: c.IdempotencyKey,
	}
}

// Interaction is something outside that a turn waits for.
type Interaction struct {
	ID        string `json:"id"`
	TurnID    string `json:"turn_id"`
	SessionID string `json:"session_id"`
	// AgentID is the agent of the turn. It is set only in the list of all pending interactions.
	AgentID string                   `json:"agent_id,omitempty" jsonschema:"Agent of the turn. Present only in the list of all pending interactions."`
	State   service.InteractionState `json:"state" enum:"pending,resolved,canceled"`
	Request interaction.Request      `json:"ticket" jsonschema:"The question or approval."`
	// Answer is the answer, and AnsweredBy the subject that gave it; empty means the runtime
	// itself.
	Answer     json.RawMessage `json:"resolution,omitempty" type:"object"`
	AnsweredBy string          `json:"resolved_by,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	// ExpiresAt is when the runtime stops waiting; zero means never.
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	AnsweredAt time.Time `json:"resolved_at,omitzero"`
}

// interactionList lists interactions.
type interactionList struct {
	Interactions []Interaction `json:"interactions"`
}

// turnID is the turn in the path of a request.
type turnID struct {
	Turn string `json:"-" path:"turn" jsonschema:"The id of the turn."`
}

// answer is the answer to the interaction in the path.
type answer struct {
	turnID

	Interaction string                   `json:"-" path:"interaction" jsonschema:"The id of the interaction or of the call."`
	Key         string                   `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat."`
	ID          string                   `json:"id,omitempty" jsonschema:"The id of the answer."`
	Action      interaction.AnswerAction `json:"action,omitempty" enum:"resume,cancel" default:"resume" jsonschema:"Whether the call continues."`
	Result      json.RawMessage          `json:"result,omitempty" jsonschema:"The answer, which must match the schema of the ticket."`
	Arguments   json.RawMessage          `json:"arguments,omitempty" jsonschema:"Arguments that replace those of the call."`
	Reason      string                   `json:"reason,omitempty" jsonschema:"Reason to give to the model."`
}

// cancellation is the reason for ending a turn.
type cancellation struct {
	turnID

	Key    string `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat."`
	Reason string `json:"reason,omitempty" maxLength:"4096" jsonschema:"Reason for the cancellation. Everyone who can see the turn sees it."`
}

// eventList is a part of the log of a turn.
type eventList struct {
	Events []event.Record `json:"events"`
}

// isWhole reports whether a response is a turn.
func (t *Turn) isWhole() bool { return t.ID != "" && t.Status != "" }

// isWhole reports whether a response is an interaction.
func (i *Interaction) isWhole() bool { return i.ID != "" && i.State != "" }

func turnOf(t *service.Turn, waitsFor []Question) Turn {
	return Turn{
		ID: event.ShownID(t.ID), SessionID: event.ShownID(t.SessionID), Owner: t.Owner, AgentID: t.AgentID, Status: t.Status, Expired: t.Expired, Worker: t.Worker, Strikes: t.Strikes,
		Steps: t.Steps, Events: t.Seq, Background: t.Background, Metadata: withoutHeaders(t.Metadata),
		CreatedAt: t.CreatedAt, NotBefore: t.NotBefore, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt, WaitsFor: waitsFor, Outcome: t.Outcome,
	}
}

func interactionOf(i *service.Interaction) Interaction {
	return Interaction{
		ID: i.ID, TurnID: event.ShownID(i.TurnID), SessionID: event.ShownID(i.SessionID), State: i.State, Request: i.Request, Answer: i.Answer, AnsweredBy: i.AnsweredBy,
		CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt, AnsweredAt: i.AnsweredAt,
	}
}

func questionOf(i *service.Interaction) Question {
	t := &i.Request
	return Question{ID: i.ID, Action: i.Action, Message: fmt.Sprintf("%s (%s %s)", cmp.Or(t.Message, t.Action), t.Tool, t.Arguments)}
}
