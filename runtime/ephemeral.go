package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Ephemeral is an agent that a stored turn brings along, which no revision
// declares: as it is kept with the turn.
type Ephemeral struct {
	// Agent is the agent. Its id is that of the turn's agent.
	Agent spec.Agent `json:"agent"`
	// Tools are those that it has besides the revision's, as ServiceSettings.TurnTools
	// makes them.
	Tools []EphemeralTool `json:"tools,omitempty"`
}

// EphemeralTool describes a tool, or a server of tools, that a turn brings along.
type EphemeralTool struct {
	// Kind says how the tool is made of its Config, a JSON object.
	Kind   string          `json:"kind"`
	Config json.RawMessage `json:"config"`
}

// TurnTools makes the tools that turns bring along. It is used by many goroutines
// at once.
type TurnTools interface {
	// Check reports what is wrong with the descriptions of tools, without reaching
	// out.
	Check(list []EphemeralTool) error
	// Make returns the tools for one turn, each time that a worker begins to work on
	// it. release is called when the worker has; it may be nil. An error fails the
	// turn.
	Make(ctx context.Context, list []EphemeralTool) (made []resolve.EphemeralTool, release func(), err error)
}

// errNoTurnTools says that turns cannot bring tools along.
var errNoTurnTools = errors.New("the service makes no tools for turns")

// checkEphemeral reports why a turn cannot bring its agent along.
func (s *Service) checkEphemeral(e *Ephemeral) error {
	switch {
	case e.Agent.ID == "":
		return &InvalidError{"ephemeral.agent.id", "the agent has no id"}
	case !e.Agent.Local():
		return &InvalidError{"ephemeral.agent.endpoint", "an agent that a turn brings along runs here"}
	case len(e.Tools) == 0:
		return nil
	case s.TurnTools == nil:
		return &InvalidError{"ephemeral.tools", errNoTurnTools.Error()}
	}
	if err := s.TurnTools.Check(e.Tools); err != nil {
		return &InvalidError{"ephemeral.tools", err.Error()}
	}
	return nil
}

// placeTools is where the tools of a turn are kept.
func placeTools(turnID string) string { return sealed.Place("turn tools", turnID) }

// sealTools returns the agent that a turn brings along as it is stored, and its
// tools apart, which may have secrets, when they are encrypted.
func (s *Service) sealTools(turnID string, e *Ephemeral) (*Ephemeral, json.RawMessage, error) {
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
	return &Ephemeral{Agent: e.Agent}, kept, err
}

// openTools returns the tools that the turn brings along.
func (w *worker) openTools() ([]EphemeralTool, error) {
	if len(w.asked.SealedTools) == 0 {
		return w.asked.Ephemeral.Tools, nil
	}
	plain, err := w.service.box.Open(placeTools(w.turn.ID), w.asked.SealedTools)
	if err != nil {
		return nil, fmt.Errorf("read the tools of the turn: %w", err)
	}
	var list []EphemeralTool
	if err := json.Unmarshal(plain, &list); err != nil {
		return nil, fmt.Errorf("read the tools of the turn: %w", err)
	}
	return list, nil
}

// bring gives the request the agent that the turn brings along, if it does, with
// its tools made. The function that is returned is called when they are not needed
// any more.
func (w *worker) bring(ctx context.Context, req *Request) (release func(), err error) {
	release = func() {}
	e := w.asked.Ephemeral
	if e == nil {
		return release, nil
	}
	req.Ephemeral = &resolve.Ephemeral{Agent: &e.Agent}
	list, err := w.openTools()
	if err != nil || len(list) == 0 {
		return release, err
	}
	if w.service.TurnTools == nil {
		return release, errNoTurnTools
	}
	defer func() {
		if v := recover(); v != nil {
			err = backend.Panicked(v)
		}
	}()
	made, done, err := w.service.TurnTools.Make(ctx, list)
	if err != nil {
		return release, fmt.Errorf("make the tools of the turn: %w", err)
	}
	if done != nil {
		release = func() { w.letGo(done) }
	}
	req.Ephemeral.Tools = made
	return release, nil
}

// letGo lets go of the tools that were made for the turn. What panics there keeps
// nothing from ending.
func (w *worker) letGo(done func()) {
	defer func() {
		if v := recover(); v != nil {
			w.service.Logger.Error("the tools of a turn cannot be let go", zap.String("turn_id", w.turn.ID), zap.Error(backend.Panicked(v)))
		}
	}()
	done()
}
