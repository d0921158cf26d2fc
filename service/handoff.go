package service

import (
	"cmp"
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// HandoffPolicy decides which agent works on the turn after a handoff.
type HandoffPolicy string

// The policies. The empty one is HandoffSession.
const (
	// HandoffSession gives the session to the agent that took over, until a request names
	// an agent.
	HandoffSession HandoffPolicy = "session"
	// HandoffPerTurn ends each handoff with its turn.
	HandoffPerTurn HandoffPolicy = "per_turn"
)

// A turn is created for one agent, Turn.AgentID, which its caller must be allowed to use. After a
// handoff, another agent runs the turn. This is decided when the turn starts, because earlier
// turns may still hand over.

// followMode decides whether a turn goes to the agent that has the conversation.
type followMode string

const (
	// followNone gives the turn to the agent that it is created for, which was named.
	followNone followMode = ""
	// followAny gives the turn to the current agent.
	followAny followMode = "any"
	// followSame gives the turn to the current agent if the previous turn was created for the same
	// agent.
	followSame followMode = "same"
)

// followOf returns how a requested turn finds its agent.
func followOf(req *CreateTurn) followMode {
	switch {
	case req.Addressed:
		return followSame
	case req.AgentID != "" || req.Ephemeral != nil:
		return followNone
	default:
		return followAny
	}
}

// currentAgent returns the agent that runs a turn created for agentID that continues from a
// snapshot of a session; a nil snapshot means a start without history.
func (s *Turns) currentAgent(how followMode, agentID string, session *store.Session, from *store.Snapshot) string {
	if from == nil || how == followNone || how == followSame && from.AgentID != agentID || s.settings.Handoff == HandoffPerTurn {
		return agentID
	}
	current := from.CurrentAgentID
	if from.ID == session.Tip {
		current = session.CurrentAgentID // it may have changed since
	}
	return cmp.Or(current, agentID)
}

// CurrentAgent returns the agent that would run the next turn of a session if the turn were created
// for agentID with Addressed.
func (s *Turns) CurrentAgent(ctx context.Context, session *store.Session, agentID string) (string, error) {
	agentID = cmp.Or(agentID, spec.EphemeralAgent)
	if session.CurrentAgentID == "" || session.CurrentAgentID == agentID {
		return agentID, nil
	}
	current, err := s.expectAgent(ctx, session, agentID, &CreateTurn{AgentID: agentID, Addressed: true})
	if err != nil || current == agentID {
		return agentID, err
	}
	if _, ok := s.agents.SetFor(ctx, session.Owner.Tenant).Agent(current); !ok {
		return agentID, nil
	}
	return current, nil
}

// expectAgent returns the agent that is expected to run a turn, before the turn begins.
func (s *Turns) expectAgent(ctx context.Context, session *store.Session, agentID string, req *CreateTurn) (string, error) {
	id := req.SnapshotID
	if id == "" && session.CurrentAgentID != "" && session.CurrentAgentID != agentID {
		id = session.Tip
	}
	how := followOf(req)
	if id == "" || req.FromStart || how == followNone || s.settings.Handoff == HandoffPerTurn {
		return agentID, nil
	}
	from, err := s.settings.Store.Snapshot(ctx, store.Of(session.Owner), id)
	if errors.Is(err, store.ErrNotFound) {
		return agentID, nil // checkSnapshot reports it
	}
	if err != nil {
		return "", err
	}
	return s.currentAgent(how, agentID, session, from), nil
}

// lastAddressed returns the agent that the latest turn of a session was created for; empty if it
// has none.
func (s *Turns) lastAddressed(ctx context.Context, session *store.Session) (string, error) {
	if session.Tip == "" {
		return "", nil
	}
	tip, err := s.settings.Store.Snapshot(ctx, store.Of(session.Owner), session.Tip)
	if err != nil || tip.AgentID == spec.EphemeralAgent || tip.CurrentAgentID == "" {
		return "", err
	}
	return tip.AgentID, nil
}

// hideCurrent clears the current agent of a session if it has no effect.
func (c *core) hideCurrent(session *store.Session) {
	if c.settings.Handoff == HandoffPerTurn {
		session.CurrentAgentID = ""
	}
}
