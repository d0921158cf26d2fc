package run

import (
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// ResumeOrBegin continues the run that waits for the outputs in the request, or begins one in a new
// session. Outputs of a completion that no run accepts become part of the history of a new run.
func (c *Call) ResumeOrBegin(asked *Request, prefix string, body []byte) (*Answer, error) {
	if len(asked.Outputs) > 0 {
		a, err := c.resume(prefix, asked.Agent, &asked.Input)
		if prefix == ChatPrefix && (errors.As(err, new(*service.StateError)) || errors.As(err, new(*service.ConflictError)) || errors.As(err, new(*server.Refusal))) {
			err = nil
		}
		if a != nil || err != nil {
			return a, err
		}
		if prefix == ResponsePrefix {
			if err := asked.checkOutputs(); err != nil {
				return nil, err
			}
		}
	}
	turn := &service.CreateTurn{ID: prefix + c.Service.NewID()}
	if err := c.composeTurn(asked, "", turn); err != nil {
		return nil, err
	}
	key, err := c.ReadKey()
	if err != nil {
		return nil, err
	}
	in := service.CreateSession{AgentID: asked.Agent, Labels: map[string]string{Label: strings.Trim(prefix, "-_")}}
	if key != "" {
		turn.IdempotencyKey, turn.IdempotencyBody = key, body
		in.IdempotencyKey, in.IdempotencyBody = key, body
	}
	made, err := surfacekit.BeginAlone(c.Context(), c.Service, c.Caller, turn, in)
	if err != nil {
		return nil, err
	}
	return c.NewAnswer(made, asked.Record, 0), nil
}

// ReadKey returns the service's key for the idempotency key of the request; empty without one.
func (c *Call) ReadKey() (string, error) {
	key, err := surfacekit.ReadKey(c.R, Label, c.R.URL.Path)
	if err != nil {
		err = BadField(surfacekit.IdempotencyHeader, "%s", err)
	}
	return key, err
}

// BeginIn begins a turn in a session.
func (c *Call) BeginIn(session *service.Session, asked *Request, turn *service.CreateTurn) (*Answer, error) {
	if n := len(asked.Outputs); n > 0 {
		return nil, unknownCall(asked.Outputs[n-1].CallID)
	}
	current, err := c.Service.CurrentAgent(c.Context(), session, asked.Agent)
	if err != nil {
		return nil, err
	}
	turn.ID, turn.SessionID = ResponsePrefix+c.Service.NewID(), session.ID
	if err := c.composeTurn(asked, current, turn); err != nil {
		return nil, err
	}
	made, err := c.Service.CreateTurn(c.Context(), c.Caller, *turn)
	if err != nil {
		return nil, err
	}
	return c.NewAnswer(made, asked.Record, 0), nil
}

// composeTurn sets the fields of the turn for a request. current is the agent of the conversation;
// empty for a new conversation.
func (c *Call) composeTurn(r *Request, current string, turn *service.CreateTurn) error {
	before, input, err := r.SplitInput()
	if err != nil {
		return err
	}
	set := c.Service.SetFor(c.Context(), c.Caller.Tenant)
	agent, err := service.NewCatalog(set, c.Caller).Agent(r.Agent)
	if err != nil {
		return UnknownModel(r.Agent)
	}
	if taken, ok := set.Agent(current); ok && current != r.Agent {
		agent = taken
	}
	turn.AgentID, turn.Addressed, turn.Before, turn.Input, turn.Params = r.Agent, true, before, input, r.Params
	turn.Overrides = resolve.Overrides{Output: r.output, ToolChoice: r.choice, MaxCalls: r.maxCalls}
	if turn.Metadata, err = Encode(r.Record, r.longest()); err != nil {
		return err
	}
	if !agent.UsesTools() {
		return r.checkRemote(turn)
	}
	brought := surfacekit.Brought{Surface: Label, Instructions: r.Instructions, Functions: r.functions, CutOff: r.Params.MaxOutputTokens > 0}
	turn.Ephemeral, err = brought.Ephemeral(c.Context(), c.Service, c.Caller.Tenant, agent)
	return asBadField(err)
}
