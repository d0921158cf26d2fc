package native

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
)

// Local serves one caller from a service in this process. It behaves like a Client with the
// caller's credential, and returns the same errors. It is safe for concurrent use.
type Local struct {
	Service *service.Service
	Caller  service.Caller
}

// ListSessions returns a page of sessions. The page may be short if some sessions belong to agents
// that the caller may not use.
func (l *Local) ListSessions(ctx context.Context, q SessionQuery) (*SessionList, error) {
	page, err := l.Service.ListSessions(ctx, l.Caller, service.SessionQuery{State: q.State, AgentID: q.AgentID, Labels: q.Labels, Page: q.Page})
	if err != nil {
		return nil, err
	}
	list := &SessionList{Sessions: make([]Session, 0, len(page.Sessions)), Next: page.Next}
	for _, s := range page.Sessions {
		list.Sessions = append(list.Sessions, sessionOf(s))
	}
	return list, nil
}

// GetSession returns a session.
func (l *Local) GetSession(ctx context.Context, id string) (*Session, error) {
	return shownSession(l.findSession(ctx, id))
}

func (l *Local) findSession(ctx context.Context, id string) (*service.Session, error) {
	return service.FindOwn(l.Caller, id, func(id string) (*service.Session, error) { return l.Service.GetSession(ctx, l.Caller, id) })
}

func (l *Local) findTurn(ctx context.Context, id string) (*service.Turn, error) {
	return service.FindOwn(l.Caller, id, func(id string) (*service.Turn, error) { return l.Service.GetTurn(ctx, l.Caller, id) })
}

func shownSession(s *service.Session, err error) (*Session, error) {
	if err != nil {
		return nil, err
	}
	shown := sessionOf(s)
	return &shown, nil
}

// CreateSession creates a session. It returns errors of the service.
func (l *Local) CreateSession(ctx context.Context, req CreateSession) (*Session, error) {
	return shownSession(l.Service.CreateSession(ctx, l.Caller, req.toRequest()))
}

// ExportSession returns a session with the whole content of its tip.
func (l *Local) ExportSession(ctx context.Context, id string) (*service.SessionExport, error) {
	return service.FindOwn(l.Caller, id, func(id string) (*service.SessionExport, error) { return l.Service.ExportSession(ctx, l.Caller, id) })
}

// ImportSession creates a session from an export. It returns errors of the service, and a
// *service.InvalidError for invalid messages.
func (l *Local) ImportSession(ctx context.Context, req ImportSession, export *service.SessionExport) (*Session, error) {
	if err := checkExport(export); err != nil {
		return nil, err
	}
	return shownSession(l.Service.ImportSession(ctx, l.Caller, req.toRequest(), export))
}

// ListTurns returns a page of turns, with their pending interactions. The page may be short, and
// have a Next, if some turns belong to agents that the caller may not use or do not match.
func (l *Local) ListTurns(ctx context.Context, q TurnQuery) (*TurnList, error) {
	session := q.SessionID
	if session != "" {
		if found, err := l.findSession(ctx, session); err == nil {
			session = found.ID
		}
	}
	asked := service.TurnQuery{Tenant: q.Tenant, SessionID: session, AgentID: q.AgentID, Statuses: q.Statuses, Labels: q.Labels, Page: q.Page}
	list, text := &TurnList{Turns: []Turn{}}, strings.ToLower(q.Text)
	add := func(t *service.Turn) (bool, error) {
		if !q.matchesTurn(t) {
			return false, nil
		}
		shown, err := l.shownTurn(ctx, t, nil)
		if err != nil || text != "" && !shown.containsText(text) {
			return false, err
		}
		list.Turns = append(list.Turns, *shown)
		return true, nil
	}
	if q.isSearch() {
		page, err := l.Service.FindTurns(ctx, l.Caller, asked, add)
		if err != nil {
			return nil, err
		}
		list.Next = page.Next
		return list, nil
	}
	page, err := l.Service.ListTurns(ctx, l.Caller, asked)
	if err != nil {
		return nil, err
	}
	list.Next = page.Next
	for _, t := range page.Turns {
		if _, err := add(t); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// GetTurn returns a turn, with its input, the names of its variables and its pending interactions.
func (l *Local) GetTurn(ctx context.Context, id string) (*Turn, error) {
	t, err := l.findTurn(ctx, id)
	shown, err := l.shownTurn(ctx, t, err)
	if err == nil {
		shown.Input, err = l.Service.TurnInput(ctx, l.Caller, t.ID)
	}
	if err == nil {
		shown.Variables, err = l.Service.TurnVariables(ctx, l.Caller, t.ID)
	}
	return shown, err
}

// shownTurn returns a turn with its pending interactions.
func (l *Local) shownTurn(ctx context.Context, t *service.Turn, err error) (*Turn, error) {
	if err != nil {
		return nil, err
	}
	var open []Question
	if t.Status == service.Waiting {
		list, err := l.Service.ListInteractions(ctx, l.Caller, service.InteractionQuery{TurnID: t.ID, State: service.InteractionPending})
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

// CreateTurn stores a turn and returns at once. It returns errors of the service, and a
// *service.InvalidError for input other than text, images and files.
func (l *Local) CreateTurn(ctx context.Context, req CreateTurn) (*Turn, error) {
	if err := checkInput(req.Input); err != nil {
		return nil, err
	}
	if scope := settings.ScopeConfigWrite; req.Revision != "" && !l.Caller.HasScope(scope) {
		return nil, &service.InvalidError{Field: "revision", Problem: "the credential lacks the scope " + scope}
	}
	t, err := service.FindOwn(l.Caller, req.SessionID, func(id string) (*service.Turn, error) {
		create := req.toRequest()
		create.SessionID = id
		return l.Service.CreateTurn(ctx, l.Caller, create)
	})
	return l.shownTurn(ctx, t, err)
}

// maxReason limits the reason for ending a turn, in bytes.
const maxReason = 4 << 10

// CancelTurn ends a turn, wherever it runs. It does not change an ended turn.
func (l *Local) CancelTurn(ctx context.Context, id, reason string) (*Turn, error) {
	if len(reason) > maxReason {
		return nil, &service.InvalidError{Field: "reason", Problem: fmt.Sprintf("has %d bytes; %d are allowed", len(reason), maxReason)}
	}
	t, err := service.FindOwn(l.Caller, id, func(id string) (*service.Turn, error) { return l.Service.CancelTurn(ctx, l.Caller, id, reason) })
	return l.shownTurn(ctx, t, err)
}

// ListInteractions returns the interactions of a turn, oldest first.
func (l *Local) ListInteractions(ctx context.Context, turnID string) ([]Interaction, error) {
	found, err := service.FindOwn(l.Caller, turnID, func(id string) ([]*service.Interaction, error) {
		return l.Service.ListInteractions(ctx, l.Caller, service.InteractionQuery{TurnID: id})
	})
	if err != nil {
		return nil, err
	}
	list := make([]Interaction, len(found))
	for i := range found {
		list[i] = interactionOf(found[i])
	}
	return list, nil
}

// ListPendingInteractions returns up to limit pending interactions of all turns, oldest first.
func (l *Local) ListPendingInteractions(ctx context.Context, limit int) ([]Interaction, error) {
	query := service.InteractionQuery{State: service.InteractionPending, Limit: limit}
	if l.Caller.Agents != nil {
		query.Limit = service.MaxPage // the service filters out those of other agents later
	}
	found, err := l.Service.ListInteractions(ctx, l.Caller, query)
	if err != nil {
		return nil, err
	}
	list := []Interaction{}
	for _, i := range found[:min(limit, len(found))] {
		shown := interactionOf(i)
		shown.AgentID = i.AgentID
		list = append(list, shown)
	}
	return list, nil
}

// AnswerInteraction answers an interaction of a turn. It returns errors of the service.
func (l *Local) AnswerInteraction(ctx context.Context, turnID string, r interaction.Answer) (*Interaction, error) {
	i, err := service.FindOwn(l.Caller, turnID, func(id string) (*service.Interaction, error) {
		return l.Service.AnswerInteraction(ctx, l.Caller, id, r)
	})
	if err != nil {
		return nil, err
	}
	shown := interactionOf(i)
	return &shown, nil
}

// ReadEvents returns up to limit events of a turn with a seq greater than after, without waiting
// for more. It returns none if there are no more.
func (l *Local) ReadEvents(ctx context.Context, turnID string, after uint64, limit int, filter ...service.EventFilter) ([]event.Record, error) {
	return service.FindOwn(l.Caller, turnID, func(id string) ([]event.Record, error) {
		return l.Service.ReadEvents(ctx, l.Caller, id, after, limit, filter...)
	})
}

// Events returns the events of a turn with a seq greater than after, past and future, through the
// terminal one.
func (l *Local) Events(ctx context.Context, turnID string, after uint64, filter ...service.EventFilter) iter.Seq2[event.Record, error] {
	if found, err := l.findTurn(ctx, turnID); err == nil {
		turnID = found.ID
	}
	return l.Service.Events(ctx, l.Caller, turnID, after, filter...)
}
