package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/resolve"
	"go.uber.org/zap"
)

// errNoTurnTools means that requests cannot bring their own tools.
var errNoTurnTools = errors.New("the service makes no tools for turns")

// checkEphemeral returns an error if a turn cannot bring its agent along.
func (s *Turns) checkEphemeral(e *Ephemeral) error {
	switch {
	case e.Agent.ID == "":
		return &InvalidError{"ephemeral.agent.id", "the agent has no id"}
	case !e.Agent.UsesTools():
		return &InvalidError{"ephemeral.agent.endpoint", "an agent that a turn brings along runs here, or at a hosted provider"}
	case len(e.Tools) == 0:
		return nil
	case s.settings.TurnTools == nil:
		return &InvalidError{"ephemeral.tools", errNoTurnTools.Error()}
	}
	if err := s.settings.TurnTools.Check(e.Tools); err != nil {
		return &InvalidError{"ephemeral.tools", err.Error()}
	}
	return nil
}

// placeTools returns the place of a turn's sealed tools.
func placeTools(turnID string) string { return sealed.Place("turn tools", turnID) }

// sealTools returns the stored form of the agent that a turn brings along and, if tools are
// encrypted, its sealed tools, which may contain secrets.
func (s *Turns) sealTools(turnID string, e *Ephemeral) (*Ephemeral, json.RawMessage, error) {
	if s.badKey != nil {
		return nil, nil, s.badKey
	}
	if e == nil || len(e.Tools) == 0 || s.box == nil {
		return e, nil, nil
	}
	plain, err := json.Marshal(e.Tools)
	if err != nil {
		return nil, nil, &InvalidError{"ephemeral.tools", err.Error()}
	}
	kept, err := s.box.Seal(placeTools(turnID), plain)
	return &Ephemeral{Agent: e.Agent, Call: e.Call}, kept, err
}

// openTools returns the tools that a turn brings along.
func (s *Turns) openTools(turnID string, asked *storedRequest) ([]EphemeralTool, error) {
	if len(asked.SealedTools) == 0 {
		return asked.Ephemeral.Tools, nil
	}
	plain, err := s.box.Open(placeTools(turnID), asked.SealedTools)
	if err != nil {
		return nil, fmt.Errorf("read the tools of the turn: %w", err)
	}
	var list []EphemeralTool
	if err := json.Unmarshal(plain, &list); err != nil {
		return nil, fmt.Errorf("read the tools of the turn: %w", err)
	}
	return list, nil
}

// makeTools makes the tools that a turn brings along for its agent and returns the context in which
// the turn runs. release, which is never nil, must be called when the tools are no longer needed.
func (s *Turns) makeTools(ctx context.Context, turnID string, asked *storedRequest, agent *resolve.Ephemeral) (turning context.Context, release func(), err error) {
	turning, release = ctx, func() {}
	list, err := s.openTools(turnID, asked)
	if err != nil || len(list) == 0 {
		return turning, release, err
	}
	if s.settings.TurnTools == nil {
		return turning, release, errNoTurnTools
	}
	defer panics.Recover(&err)
	made, done, err := s.settings.TurnTools.Make(ctx, list)
	if err != nil {
		return turning, release, fmt.Errorf("make the tools of the turn: %w", err)
	}
	if done != nil {
		release = func() { s.releaseTools(turnID, done) }
	}
	agent.Tools = made
	if with, ok := s.settings.TurnTools.(TurnContexts); ok {
		turning = with.TurnContext(ctx, list)
	}
	return turning, release, nil
}

// releaseTools releases the tools made for a turn. Panics are logged and do not stop the turn from
// ending.
func (s *Turns) releaseTools(turnID string, done func()) {
	defer panics.Handle(func(p *panics.Error) {
		s.settings.Logger.Error("releasing the tools of a turn failed", zap.String("turn_id", turnID), zap.Error(p))
	})
	done()
}
