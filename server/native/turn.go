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
	ID        string         `json:"id"`
	SessionID string         `json:"session_id"`
	Owner     service.Owner  `json:"owner"`
	AgentID   string         `json:"agent_id"`
	Status    service.Status `json:"status"`
	// Expired is set if the turn is running and its worker is considered dead.
	Expired bool   `json:"expired,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// Strikes counts the workers that died over the turn since it last made progress.
	Strikes int `json:"strikes,omitempty"`
	// Steps is the number of model calls of the turn, and Events the number of its events.
	Steps      int    `json:"steps"`
	Events     uint64 `json:"events"`
	Background bool   `json:"background,omitempty"`
	// Metadata is the owner's metadata, without the values of headers.
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	NotBefore  time.Time       `json:"not_before,omitzero"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	FinishedAt time.Time       `json:"finished_at,omitzero"`
	// Input are the messages given to the turn; only GetTurn returns them.
	Input []model.Message `json:"input,omitempty"`
	// Variables are the names of the variables given to the turn; only GetTurn returns them. The
	// values cannot be read.
	Variables []string `json:"variables,omitempty"`
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
	// Next is the cursor of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// TurnQuery selects a page of turns, newest first. Non-empty fields restrict it.
type TurnQuery struct {
	Tenant    string
	SessionID string
	AgentID   string
	Statuses  []service.Status
	// Labels are labels of the turns' sessions.
	Labels map[string]string
	// Text is a case-insensitive part of a turn's id, agent, metadata, answer, error or question.
	Text string
	// MinCost is the minimum price, in the currency of the turn's model.
	MinCost float64
	// MinDuration is the minimum duration of turns.
	MinDuration time.Duration
	Page        service.Page
}

// CreateTurn is a request to create a turn.
type CreateTurn struct {
	// SessionID is the session that the turn belongs to. It is required.
	SessionID string `json:"session_id"`
	// ID is the turn's id; empty means a new one.
	ID string `json:"id,omitempty"`
	// AgentID is the agent that runs the turn and has the conversation from then on; empty means
	// the agent that has the conversation.
	AgentID string `json:"agent_id,omitempty"`
	// Input is the input of the turn: at least one user or system message.
	Input []model.Message `json:"input"`
	// ModelID is the model or pool to use instead of the agent's, which must run at the server.
	ModelID string `json:"model_id,omitempty"`
	// ToolIDs are the only tools that the turn may call. Its agent must have each of them. nil
	// means all tools of the agent.
	ToolIDs []string `json:"tool_ids,omitzero"`
	// Variables are the values for ${turn.NAME} in the prompts of the turn's agents.
	Variables json.RawMessage `json:"variables,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	// SnapshotID makes the turn continue from an earlier snapshot of the session; FromStart makes
	// it start without history.
	SnapshotID string `json:"snapshot_id,omitempty"`
	FromStart  bool   `json:"from_start,omitempty"`
	// Revision is the hash of the published revision to run in; empty means the current one. It
	// needs the scope config:write, since an earlier revision may permit more.
	Revision string `json:"revision,omitempty"`
	// OnBusy is what happens to the turn when the session has a live one.
	OnBusy service.BusyPolicy `json:"on_busy,omitempty"`
	// NotBefore is when the turn is due; zero means immediately.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Background is set when no client waits for the turn.
	Background bool `json:"background,omitempty"`
	// IdempotencyKey makes the request repeatable: the same key returns the turn created first. It
	// is sent in the header Idempotency-Key.
	IdempotencyKey string `json:"-"`
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
	AgentID string                   `json:"agent_id,omitempty"`
	State   service.InteractionState `json:"state"`
	// Request is the question or approval.
	Request interaction.Request `json:"ticket"`
	// Answer is the answer, and AnsweredBy the subject that gave it; empty means the runtime
	// itself.
	Answer     json.RawMessage `json:"resolution,omitempty"`
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

// answer is the answer to the interaction in the path.
type answer struct {
	ID        string                   `json:"id,omitempty"`
	Action    interaction.AnswerAction `json:"action,omitempty"`
	Result    json.RawMessage          `json:"result,omitempty"`
	Arguments json.RawMessage          `json:"arguments,omitempty"`
	Reason    string                   `json:"reason,omitempty"`
}

// cancellation is the reason for ending a turn.
type cancellation struct {
	Reason string `json:"reason,omitempty"`
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
