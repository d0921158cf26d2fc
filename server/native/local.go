package native

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
)

// Local answers what one caller asks for from a service in this process. It does
// what a Client does that has the caller's credential, and gives the same errors.
// It is safe for concurrent use.
type Local struct {
	Service *runtime.Service
	Caller  runtime.Caller
	// MayUse reports whether the caller may use an agent; nil is all of them. Then
	// what belongs to other agents looks as if it did not exist, and so do sessions
	// that name no agent.
	MayUse func(agentID string) bool
}

func (l *Local) mayUse(agentID string) bool { return l.MayUse == nil || l.MayUse(agentID) }

// knows returns an error as one may see it who may not use all agents: what is
// near to an agent that there is not might be one of the others.
func (l *Local) knows(err error) error {
	missing, ok := errors.AsType[*resolve.AgentNotFoundError](err)
	if !ok || l.MayUse == nil {
		return err
	}
	return noAgent(missing.ID)
}

// noAgent is the error for an agent that may not be used, as for one that there is
// not.
func noAgent(id string) error {
	return &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: id, Agent: id}}
}

// session returns a session, if the caller may see it.
func (l *Local) session(ctx context.Context, id string) (*store.Session, error) {
	s, err := l.Service.GetSession(ctx, l.Caller, id)
	if err == nil && !l.mayUse(s.AgentID) {
		return nil, &runtime.NotFoundError{Kind: "session", ID: id}
	}
	return s, err
}

// turn returns a turn, if the caller may see it.
func (l *Local) turn(ctx context.Context, id string) (*runtime.StoredTurn, error) {
	t, err := l.Service.GetTurn(ctx, l.Caller, id)
	if err == nil && !l.mayUse(t.AgentID) {
		return nil, &runtime.NotFoundError{Kind: "turn", ID: id}
	}
	return t, err
}

// ListSessions returns a page of sessions. It has fewer than it might have where
// some of them belong to agents that the caller may not use.
func (l *Local) ListSessions(ctx context.Context, q SessionQuery) (*SessionList, error) {
	page, err := l.Service.ListSessions(ctx, l.Caller, store.SessionQuery{State: q.State, AgentID: q.AgentID, Labels: q.Labels, Page: q.Page})
	if err != nil {
		return nil, err
	}
	list := &SessionList{Sessions: make([]Session, 0, len(page.Sessions)), Next: page.Next}
	for _, s := range page.Sessions {
		if l.mayUse(s.AgentID) {
			list.Sessions = append(list.Sessions, sessionOf(s))
		}
	}
	return list, nil
}

// GetSession returns a session.
func (l *Local) GetSession(ctx context.Context, id string) (*Session, error) {
	return shownSession(l.session(ctx, id))
}

func shownSession(s *store.Session, err error) (*Session, error) {
	if err != nil {
		return nil, err
	}
	shown := sessionOf(s)
	return &shown, nil
}

// CreateSession makes a session. The errors are those of the service.
func (l *Local) CreateSession(ctx context.Context, req CreateSession) (*Session, error) {
	if !l.mayUse(req.AgentID) {
		return nil, noAgent(req.AgentID)
	}
	made, err := l.Service.CreateSession(ctx, l.Caller, req.request())
	return shownSession(made, l.knows(err))
}

// ExportSession returns a session with everything that its tip is made of.
func (l *Local) ExportSession(ctx context.Context, id string) (*runtime.SessionExport, error) {
	if _, err := l.session(ctx, id); err != nil {
		return nil, err
	}
	return l.Service.ExportSession(ctx, l.Caller, id)
}

// ImportSession makes a session of an export. The errors are those of the service,
// and a *runtime.InvalidError for messages that are none.
func (l *Local) ImportSession(ctx context.Context, req ImportSession, export *runtime.SessionExport) (*Session, error) {
	agent := req.AgentID
	if agent == "" {
		agent = export.Session.AgentID
	}
	if !l.mayUse(agent) {
		return nil, noAgent(agent)
	}
	if err := checkExport(export); err != nil {
		return nil, err
	}
	made, err := l.Service.ImportSession(ctx, l.Caller, req.request(), export)
	return shownSession(made, l.knows(err))
}

// ListTurns returns a page of turns, with what they wait for. It has fewer than it
// might have where some of them belong to agents that the caller may not use.
func (l *Local) ListTurns(ctx context.Context, q TurnQuery) (*TurnList, error) {
	page, err := l.Service.ListTurns(ctx, l.Caller, store.TurnQuery{SessionID: q.SessionID, AgentID: q.AgentID, Statuses: q.Statuses, Page: q.Page})
	if err != nil {
		return nil, err
	}
	list := &TurnList{Turns: make([]Turn, 0, len(page.Turns)), Next: page.Next}
	for _, t := range page.Turns {
		if !l.mayUse(t.AgentID) {
			continue
		}
		shown, err := l.shownTurn(ctx, t, nil)
		if err != nil {
			return nil, err
		}
		list.Turns = append(list.Turns, *shown)
	}
	return list, nil
}

// GetTurn returns a turn, with what it waits for.
func (l *Local) GetTurn(ctx context.Context, id string) (*Turn, error) {
	t, err := l.turn(ctx, id)
	return l.shownTurn(ctx, t, err)
}

// shownTurn returns a turn with what it waits for.
func (l *Local) shownTurn(ctx context.Context, t *runtime.StoredTurn, err error) (*Turn, error) {
	if err != nil {
		return nil, err
	}
	var open []Question
	if t.Status == store.Waiting {
		list, err := l.Service.ListInteractions(ctx, l.Caller, store.InteractionQuery{TurnID: t.ID, State: store.InteractionPending})
		if err != nil {
			return nil, err
		}
		for _, i := range list {
			open = append(open, questionOf(i))
		}
	}
	shown := turnOf(t, open)
	return &shown, nil
}

// CreateTurn stores a turn and returns at once. The errors are those of the
// service, and a *runtime.InvalidError for input that is not text, images and
// files.
func (l *Local) CreateTurn(ctx context.Context, req CreateTurn) (*Turn, error) {
	if err := checkInput(req.Input); err != nil {
		return nil, err
	}
	if l.MayUse != nil {
		s, err := l.session(ctx, req.SessionID)
		if err != nil {
			return nil, err
		}
		if req.AgentID == "" {
			req.AgentID = s.AgentID
		}
		if !l.MayUse(req.AgentID) {
			return nil, noAgent(req.AgentID)
		}
	}
	t, err := l.Service.CreateTurn(ctx, l.Caller, req.request())
	return l.shownTurn(ctx, t, l.knows(err))
}

// maxReason bounds why a turn is ended, in bytes.
const maxReason = 4 << 10

// CancelTurn ends a turn, wherever it runs. One that has ended stays as it is.
func (l *Local) CancelTurn(ctx context.Context, id, reason string) (*Turn, error) {
	if len(reason) > maxReason {
		return nil, &runtime.InvalidError{Field: "reason", Problem: fmt.Sprintf("it has %d bytes; %d are allowed", len(reason), maxReason)}
	}
	if _, err := l.turn(ctx, id); err != nil {
		return nil, err
	}
	t, err := l.Service.CancelTurn(ctx, l.Caller, id, reason)
	return l.shownTurn(ctx, t, err)
}

// ListInteractions returns what a turn asked for, the oldest first.
func (l *Local) ListInteractions(ctx context.Context, turnID string) ([]Interaction, error) {
	if _, err := l.turn(ctx, turnID); err != nil {
		return nil, err
	}
	found, err := l.Service.ListInteractions(ctx, l.Caller, store.InteractionQuery{TurnID: turnID})
	if err != nil {
		return nil, err
	}
	list := make([]Interaction, len(found))
	for i := range found {
		list[i] = interactionOf(found[i])
	}
	return list, nil
}

// ResolveInteraction answers what a turn waits for. The errors are those of the
// service.
func (l *Local) ResolveInteraction(ctx context.Context, turnID string, r plugins.Resolution) (*Interaction, error) {
	if _, err := l.turn(ctx, turnID); err != nil {
		return nil, err
	}
	i, err := l.Service.ResolveInteraction(ctx, l.Caller, turnID, r)
	if err != nil {
		return nil, err
	}
	shown := interactionOf(i)
	return &shown, nil
}

// ReadEvents returns up to limit events of a turn with a seq greater than after,
// without waiting for more. None are left when it returns none.
func (l *Local) ReadEvents(ctx context.Context, turnID string, after uint64, limit int) ([]event.Record, error) {
	if _, err := l.turn(ctx, turnID); err != nil {
		return nil, err
	}
	return l.Service.ReadEvents(ctx, l.Caller, turnID, after, limit)
}

// Events returns the events of a turn with a seq greater than after: those there
// are, and then those that come, up to the terminal one.
func (l *Local) Events(ctx context.Context, turnID string, after uint64) iter.Seq2[event.Record, error] {
	if _, err := l.turn(ctx, turnID); err != nil {
		return func(yield func(event.Record, error) bool) { yield(event.Record{}, err) }
	}
	return l.Service.Events(ctx, l.Caller, turnID, after)
}
