package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// turnRecord is the data that a turn stores for this protocol. A turn without it belongs to
// another protocol.
type turnRecord struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	// Messages are the original messages; nil if they are too large to be stored twice.
	Messages []message `json:"messages,omitempty"`
	// Structured is set if the answer has a required form.
	Structured bool            `json:"structured,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// turn is a turn of this protocol.
type turn struct {
	*service.Turn
	record turnRecord
}

func turnFrom(kept *service.Turn) (*turn, bool) {
	t := &turn{Turn: kept}
	return t, own.Decode(kept.Metadata, &t.record)
}

// getTurn returns the turn named in the path. It does not find turns of other protocols and
// callers.
func (c *call) getTurn() (*turn, error) {
	id := c.r.PathValue("turn")
	return askProvider(c, "get_turn", func(ctx context.Context) (*turn, error) {
		kept, err := c.settings.Service.GetTurn(ctx, c.caller, id)
		if err != nil {
			return nil, nameError(err, "turn", id)
		}
		t, own := turnFrom(kept)
		if !own {
			return nil, notFound("turn", id)
		}
		c.nameProvider(t.record.Provider)
		return t, nil
	})
}

// createTurn is a request to create a turn.
type createTurn struct {
	Model          string          `json:"model"`
	Messages       []message       `json:"messages"`
	ToolRefs       json.RawMessage `json:"toolRefs"`
	ToolSource     string          `json:"toolSource"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	Metadata       json.RawMessage `json:"metadata"`
	ModelOptions   json.RawMessage `json:"modelOptions"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// createTurn creates a turn, which a worker starts immediately.
func (c *call) createTurn() (any, error) {
	var in createTurn
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	key, err := c.readKey(in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	in.Model = strings.TrimSpace(in.Model)
	tools, err := toolgrant.Parse(in.ToolRefs, in.ToolSource)
	if err != nil {
		return nil, toolError(err)
	}
	s, err := c.getSession()
	if err != nil {
		return nil, err
	}
	made, err := c.composeTurn(s, &in, tools)
	if err != nil {
		return nil, err
	}
	in.IdempotencyKey = ""
	if made.IdempotencyBody, err = json.Marshal(in); err != nil {
		return nil, err
	}
	made.IdempotencyKey = prefixKey("turn", key)
	kept, err := askProvider(c, "create_turn", func(ctx context.Context) (*service.Turn, error) {
		return c.settings.Service.CreateTurn(ctx, c.caller, *made)
	})
	if err != nil {
		return nil, nameError(err, "session", s.ID)
	}
	t, _ := turnFrom(kept)
	c.status = http.StatusCreated
	return c.viewTurn(t, false)
}

// composeTurn returns the requested turn.
func (c *call) composeTurn(s *session, in *createTurn, tools *toolgrant.Request) (*service.CreateTurn, error) {
	p, err := c.chooseProvider(s.record.Provider)
	if err != nil {
		return nil, err
	}
	turn := &service.CreateTurn{SessionID: s.ID, AgentID: p.Agent, Addressed: p.Agent != "", Background: true, Depth: c.depth}
	if turn.Before, turn.Input, err = c.splitMessages(in.Messages); err != nil {
		return nil, err
	}
	if turn.Overrides, err = turnOverrides(in.ResponseSchema); err != nil {
		return nil, err
	}
	options := in.ModelOptions
	if len(options) == 0 {
		options = s.record.ModelOptions
	}
	if turn.Params, err = readParams(options); err != nil {
		return nil, err
	}
	modelName, agent := p.modelFor(in.Model, s.record.Model), p.Agent
	if agent != "" {
		if agent, err = c.settings.Service.CurrentAgent(c.r.Context(), s.Session, agent); err != nil {
			return nil, err
		}
	}
	if agent != p.Agent {
		modelName = in.Model // the other names are for the provider's own agent
	}
	k := composer{call: c, from: p, agent: agent, set: c.settings.Service.SetFor(c.r.Context(), c.caller.Tenant), entries: c.usable()}
	_, observed := c.operations.StartToolResolve(c.r.Context(), cmp.Or(tools.Source, toolgrant.SourceCatalog))
	turn.Ephemeral, err = k.composeAgent(modelName, tools, turn.Overrides.Output != nil, turn.Input)
	observed.End(failureType(err))
	if err != nil {
		return nil, err
	}
	if turn.Ephemeral != nil {
		modelName = cmp.Or(modelName, turn.Ephemeral.Agent.Model())
	}
	record := turnRecord{Provider: p.name, Model: modelName, Messages: in.Messages, Structured: turn.Overrides.Output != nil, Metadata: in.Metadata}
	if turn.Metadata, err = own.Encode(record); err != nil {
		record.Messages = nil
		turn.Metadata, err = own.Encode(record)
	}
	return turn, err
}

// readParams returns the model parameters of a request.
func readParams(raw json.RawMessage) (model.Params, error) {
	var params model.Params
	if len(raw) == 0 || string(raw) == "null" {
		return params, nil
	}
	if err := server.DecodeJSON(raw, &params, true); err != nil {
		return params, badRequest("modelOptions cannot be used: %v", err)
	}
	if effort := params.ReasoningEffort; effort != nil && len(effort.Validate()) > 0 {
		return params, badRequest("modelOptions cannot be used: %s", effort.Validate()[0].Message)
	}
	return params, nil
}

// statusWaiting is the protocol's status of a waiting turn.
const statusWaiting = "waiting_for_input"

// statusOf returns the protocol's name of a status.
func statusOf(s service.Status) string {
	if s == service.Waiting {
		return statusWaiting
	}
	return string(s)
}

// turnStatuses maps the protocol's names to statuses.
var turnStatuses = map[string]service.Status{
	"pending": service.Pending, "running": service.Running, statusWaiting: service.Waiting,
	"succeeded": service.Succeeded, "failed": service.Failed, "canceled": service.Canceled,
}

// turnView is a turn in the protocol's form.
type turnView struct {
	ID               string          `json:"id"`
	SessionID        string          `json:"sessionId"`
	Provider         string          `json:"provider"`
	Model            string          `json:"model,omitempty"`
	Status           string          `json:"status" enum:"pending,running,waiting_for_input,succeeded,failed,canceled"`
	Messages         []message       `json:"messages,omitempty"`
	OutputText       string          `json:"outputText,omitempty"`
	StructuredOutput json.RawMessage `json:"structuredOutput,omitempty"`
	StatusMessage    string          `json:"statusMessage,omitempty" jsonschema:"Reason why the turn failed or was canceled."`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
	CreatedBy        actor           `json:"createdBy"`
	CreatedAt        time.Time       `json:"createdAt"`
	StartedAt        time.Time       `json:"startedAt,omitzero"`
	CompletedAt      time.Time       `json:"completedAt,omitzero"`
	ExecutionRef     string          `json:"executionRef"`
	_                struct{}        `additionalProperties:"false"`
}

// viewTurn returns a turn in the protocol's form; the short form has neither messages nor output.
func (c *call) viewTurn(t *turn, short bool) (turnView, error) {
	v := turnView{
		ID: t.ID, SessionID: t.SessionID, Provider: t.record.Provider, Model: t.record.Model, Status: statusOf(t.Status), Metadata: t.record.Metadata,
		CreatedBy: actorOf(t.Owner), CreatedAt: t.CreatedAt, StartedAt: t.StartedAt, CompletedAt: t.FinishedAt, ExecutionRef: t.ID,
	}
	if t.Outcome != nil {
		v.StatusMessage = surfacekit.StatusMessage(&t.Outcome.Termination, t.record.Structured)
	}
	if short {
		v.Metadata = nil
		return v, nil
	}
	if v.Messages = t.record.Messages; v.Messages == nil {
		input, err := c.settings.Service.TurnInput(c.r.Context(), c.caller, t.ID)
		if err != nil {
			return v, nameError(err, "turn", t.ID)
		}
		v.Messages = messagesFrom(input)
	}
	if t.Outcome == nil {
		return v, nil
	}
	v.OutputText = t.Outcome.Response
	if t.record.Structured && t.Status == service.Succeeded && json.Valid([]byte(v.OutputText)) {
		v.StructuredOutput = json.RawMessage(v.OutputText)
	}
	return v, nil
}

// listTurns responds with the turns of a session, newest first.
func (c *call) listTurns() (any, error) {
	q, err := c.readListQuery()
	if err != nil {
		return nil, err
	}
	name, err := q.readWord("status", "turn status", "pending", "running", statusWaiting, "succeeded", "failed", "canceled")
	if err != nil {
		return nil, err
	}
	s, err := c.getSession()
	if err != nil {
		return nil, err
	}
	query := service.TurnQuery{SessionID: s.ID}
	if name != "" {
		query.Statuses = []service.Status{turnStatuses[name]}
	}
	return readPages(c, q, func(list []turnView, page service.Page) ([]turnView, string, error) {
		query.Page = page
		found, err := askProvider(c, "list_turns", func(ctx context.Context) (*service.TurnList, error) {
			return c.settings.Service.ListTurns(ctx, c.caller, query)
		})
		if err != nil {
			return nil, "", nameError(err, "session", s.ID)
		}
		for _, kept := range found.Turns {
			t, own := turnFrom(kept)
			if !own {
				continue
			}
			view, err := c.viewTurn(t, q.summary)
			if err != nil {
				return nil, "", err
			}
			list = append(list, view)
		}
		return list, found.Next, nil
	})
}

// readTurn responds with a turn.
func (c *call) readTurn() (any, error) {
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	return c.viewTurn(t, false)
}

// cancelTurn ends a turn. It does not change an ended turn.
func (c *call) cancelTurn() (any, error) {
	var in cancellation
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	ended, err := askProvider(c, "cancel_turn", func(ctx context.Context) (*service.Turn, error) {
		return c.settings.Service.CancelTurn(ctx, c.caller, t.ID, cmp.Or(strings.TrimSpace(in.Reason), "canceled"))
	})
	if err != nil {
		return nil, nameError(err, "turn", t.ID)
	}
	t.Turn = ended
	return c.viewTurn(t, false)
}
