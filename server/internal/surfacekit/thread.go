package surfacekit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/service"
)

// Threads finds the sessions of conversations whose ids clients choose. Each agent and caller has
// separate conversations.
type Threads struct {
	Service *service.Service
	Caller  service.Caller
	// Agent is the agent of the conversations.
	Agent string
	// Kind is the protocol's word for a conversation, in errors. Key prefixes the sessions'
	// idempotency keys, and Label is the label with the client's id.
	Kind, Key, Label string
	// Field is the request field with the id, for errors; empty means a plain ErrThread.
	Field string
}

// ErrThread means that a conversation id is invalid.
var ErrThread = fmt.Errorf("must be text of 1 to %d bytes", service.MaxLabel)

// Find returns the session of a conversation, or the session with that id; nil if the
// caller has none for the agent. The error is ErrThread for an invalid id, as a
// *service.InvalidError if the field is known.
func (t *Threads) Find(ctx context.Context, id string) (*service.Session, error) {
	if id == "" || len(id) > service.MaxLabel || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		if t.Field == "" {
			return nil, ErrThread
		}
		return nil, &service.InvalidError{Field: t.Field, Problem: ErrThread.Error()}
	}
	session, err := service.FindOwn(t.Caller, id, func(id string) (*service.Session, error) { return t.Service.GetSession(ctx, t.Caller, id) })
	if err == nil && (session.AgentID == t.Agent || session.AgentID == "") {
		return session, nil
	}
	if err != nil && !errors.Is(err, service.ErrNotFound) {
		return nil, err
	}
	page, err := t.Service.ListSessions(ctx, t.Caller, service.SessionQuery{
		AgentID: t.Agent, Labels: map[string]string{t.Label: id}, Page: service.Page{Limit: 1},
	})
	if err != nil || len(page.Sessions) == 0 {
		return nil, err
	}
	return page.Sessions[0], nil
}

// Get returns the session of a conversation like Find. The error is a *service.NotFoundError
// for an unknown conversation.
func (t *Threads) Get(ctx context.Context, id string) (*service.Session, error) {
	session, err := t.Find(ctx, id)
	if session == nil && err == nil {
		err = &service.NotFoundError{Kind: t.Kind, ID: id}
	}
	return session, err
}

// Open returns the session of a conversation and creates it if the caller has none. It does not
// reveal whether other callers use the id.
func (t *Threads) Open(ctx context.Context, id string) (*service.Session, error) {
	found, err := t.Find(ctx, id)
	if found != nil || err != nil {
		return found, err
	}
	// The key creates one session for messages that arrive concurrently.
	return t.Service.CreateSession(ctx, t.Caller, service.CreateSession{
		AgentID: t.Agent, Labels: map[string]string{t.Label: id}, IdempotencyKey: HashKey(t.Key, t.Agent+"\x00"+id),
	})
}

// Stopped is the response to a stop request.
type Stopped struct {
	// Stopped is false if the conversation has no active turn.
	Stopped bool `json:"stopped"`
}

// Stop cancels the active turn of a conversation. The error is a *service.NotFoundError for an
// unknown conversation.
func (t *Threads) Stop(ctx context.Context, id string) (Stopped, error) {
	session, err := t.Get(ctx, id)
	if err != nil {
		return Stopped{}, err
	}
	latest, err := LatestTurn(ctx, t.Service, t.Caller, session.ID)
	if err != nil || latest == nil || !latest.Status.Live() {
		return Stopped{}, err
	}
	_, err = t.Service.CancelTurn(ctx, t.Caller, latest.ID, "the client stopped it")
	return Stopped{true}, err
}

// LatestTurn returns the newest turn of a session; nil without one.
func LatestTurn(ctx context.Context, s *service.Service, caller service.Caller, sessionID string) (*service.Turn, error) {
	list, err := s.ListTurns(ctx, caller, service.TurnQuery{SessionID: sessionID, Page: service.Page{Limit: 1}})
	if err != nil || len(list.Turns) == 0 {
		return nil, err
	}
	return list.Turns[0], nil
}
