package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// Bounds of what callers keep with sessions and turns.
const (
	// maxID bounds the ids and keys that callers choose, in bytes.
	maxID = 255
	// MaxLabels is how many labels a session may have, and MaxLabel how long the
	// name and the value of each, in bytes.
	MaxLabels = 64
	MaxLabel  = 255
	// MaxMetadata bounds metadata, in bytes: a surface may keep there what a session, or a
	// turn, was made with.
	MaxMetadata = 1 << 20
)

// CreateSession asks for a session.
type CreateSession struct {
	// ID is the session's id; empty makes a new one.
	ID string
	// AgentID is the agent of its turns, unless a turn names another; it may be
	// empty.
	AgentID  string
	Labels   map[string]string
	Metadata json.RawMessage
	// IdempotencyKey makes the request repeatable: with the same key it returns
	// the session that was made first.
	IdempotencyKey string
	// IdempotencyBody is what the key stands for: with the key and another body the
	// error is a *store.KeyConflictError. Nil is the request itself. A surface sets it
	// whose requests lead to different ones as the configuration changes.
	IdempotencyBody json.RawMessage `json:"-"`
}

// CreateSession makes a session that belongs to the caller. The errors are an
// *InvalidError, an *resolve.AgentNotFoundError, a *store.ExistsError and a
// *store.KeyConflictError.
func (s *Service) CreateSession(ctx context.Context, caller Caller, req CreateSession) (*store.Session, error) {
	return s.found(ctx, caller, req, new(SessionExport), req)
}

// GetSession returns a session.
func (s *Service) GetSession(ctx context.Context, caller Caller, id string) (*store.Session, error) {
	return s.readSession(ctx, caller, id)
}

// ListSessions returns a page of the caller's sessions, the one with the latest
// activity first. The scope of the query is set by the caller. A page for a caller
// that may not use all agents may have fewer sessions than there is room for.
func (s *Service) ListSessions(ctx context.Context, caller Caller, q store.SessionQuery) (store.SessionPage, error) {
	var err error
	if q.Scope, err = caller.scope(); err != nil {
		return store.SessionPage{}, err
	}
	page, err := s.Store.Sessions(ctx, q)
	if err != nil || caller.Agents == nil {
		return page, err
	}
	visible := make([]*store.Session, 0, len(page.Sessions))
	for _, session := range page.Sessions {
		sees, err := s.seesSession(ctx, caller, session)
		if err != nil {
			return store.SessionPage{}, err
		}
		if sees {
			visible = append(visible, session)
		}
	}
	page.Sessions = visible
	return page, nil
}

// UpdateSession changes what the patch names, and returns the session.
func (s *Service) UpdateSession(ctx context.Context, caller Caller, id string, p store.SessionPatch) (*store.Session, error) {
	scope, err := s.sessionScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if p.State != nil && *p.State != store.SessionActive && *p.State != store.SessionArchived {
		return nil, &InvalidError{"state", fmt.Sprintf("%q is none of active, archived", *p.State)}
	}
	if p.Labels != nil {
		if err := checkLabels(*p.Labels); err != nil {
			return nil, err
		}
	}
	if p.Metadata != nil {
		if err := checkMetadata(*p.Metadata); err != nil {
			return nil, err
		}
	}
	if p.AgentID != nil && *p.AgentID != "" {
		if err := s.knows(ctx, caller, *p.AgentID); err != nil {
			return nil, err
		}
	}
	p.Now = s.now()
	session, err := s.Store.UpdateSession(ctx, scope, id, p)
	return session, named(err, "session", id)
}

// DeleteSession cancels the session's live turns and deletes it with all that
// belongs to it.
func (s *Service) DeleteSession(ctx context.Context, caller Caller, id string) error {
	scope, err := caller.scope()
	if err != nil {
		return err
	}
	if _, err := s.readSession(ctx, caller, id); err != nil {
		return err
	}
	for {
		live, err := s.Store.Turns(ctx, store.TurnQuery{Scope: scope, SessionID: id, Statuses: liveStatuses, Page: store.Page{Limit: store.MaxPage}})
		if err != nil {
			return err
		}
		for _, t := range live.Turns {
			if _, err := s.CancelTurn(ctx, caller, t.ID, "the session is deleted"); err != nil {
				return err
			}
		}
		if len(live.Turns) == 0 {
			return named(s.Store.DeleteSession(ctx, scope, id), "session", id)
		}
	}
}

var liveStatuses = []store.Status{store.Pending, store.Running, store.Waiting}

// knows reports an error unless the caller may use the agent and the agent
// resolves.
func (s *Service) knows(ctx context.Context, caller Caller, agentID string) error {
	if err := checkAgent(caller, agentID); err != nil || s.Runtime == nil {
		return err
	}
	return hideNearest(caller, s.Runtime.startable(ctx, &Request{AgentID: agentID}))
}

func checkSession(req *CreateSession) error {
	if err := checkID("id", req.ID); err != nil {
		return err
	}
	if err := checkLabels(req.Labels); err != nil {
		return err
	}
	return checkMetadata(req.Metadata)
}

// checkID judges an id that a caller chose; empty is none.
func checkID(field, id string) error {
	if id == "" {
		return nil
	}
	if found := spec.CheckID(field, field, id); len(found) > 0 {
		return &InvalidError{field, found[0].Message}
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return &InvalidError{"labels", fmt.Sprintf("there are %d; %d are allowed", len(labels), MaxLabels)}
	}
	for name, value := range labels {
		if name == "" || len(name) > MaxLabel || len(value) > MaxLabel || !plain(name) || !plain(value) {
			return &InvalidError{"labels", fmt.Sprintf("%q: a name and a value are text of at most %d bytes, the name not empty", name, MaxLabel)}
		}
	}
	return nil
}

// plain reports whether text can be kept by every store.
func plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func checkMetadata(metadata json.RawMessage) error {
	if len(metadata) == 0 {
		return nil
	}
	if len(metadata) > MaxMetadata {
		return &InvalidError{"metadata", fmt.Sprintf("it has %d bytes; %d are allowed", len(metadata), MaxMetadata)}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &fields); err != nil || fields == nil {
		return &InvalidError{"metadata", "it is no JSON object"}
	}
	return nil
}

// keyOf returns the key of a request. It stands for the body, or for the request
// where there is none.
func keyOf(value string, body json.RawMessage, request any) (store.Key, error) {
	if value == "" {
		return store.Key{}, nil
	}
	if body != nil {
		request = body
	}
	if len(value) > maxID || !plain(value) {
		return store.Key{}, &InvalidError{"idempotency_key", fmt.Sprintf("it is text of at most %d bytes", maxID)}
	}
	content, err := json.Marshal(request)
	if err != nil {
		return store.Key{}, fmt.Errorf("encode the request: %w", err)
	}
	sum := sha256.Sum256(content)
	return store.Key{Value: value, Hash: sum[:]}, nil
}
