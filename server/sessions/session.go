package sessions

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/google/uuid"
)

// Labels of the sessions of this protocol: labelKind has one value, and labelProvider the name of
// the provider. own is the protocol's member in the metadata of sessions and turns.
const (
	labelKind     = "agent_sessions"
	labelProvider = "agent_sessions_provider"

	own surfacekit.Own = "agent_sessions"
)

// sessionRecord is the data that a session stores for this protocol.
type sessionRecord struct {
	sessionSummary
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// ModelOptions are for turns without options.
	ModelOptions json.RawMessage `json:"model_options,omitempty"`
}

// sessionSummary has the parts of a sessionRecord for a summary.
type sessionSummary struct {
	Provider  string `json:"provider"`
	Model     string `json:"model,omitempty"`
	ClientRef string `json:"client_ref,omitempty"`
}

// summaryOf returns a stored session as one of this protocol, without the client's metadata; false
// if it belongs to another protocol. It decodes less than sessionFrom.
func summaryOf(kept *service.Session) (*session, bool) {
	var all struct {
		Own *sessionSummary `json:"agent_sessions"`
	}
	s := &session{Session: kept}
	if kept.Labels[labelKind] == "" || json.Unmarshal(kept.Metadata, &all) != nil || all.Own == nil {
		return s, false
	}
	s.record.sessionSummary = *all.Own
	return s, true
}

// session is a session of this protocol.
type session struct {
	*service.Session
	record sessionRecord
}

// sessionFrom returns a stored session as one of this protocol; false if it belongs to another
// protocol.
func sessionFrom(kept *service.Session) (*session, bool) {
	s := &session{Session: kept}
	return s, kept.Labels[labelKind] != "" && own.Decode(kept.Metadata, &s.record)
}

// shownMetadata returns the client's metadata with the results of the session's hooks.
func (s *session) shownMetadata() map[string]json.RawMessage {
	kept := sessionstart.Kept(s.Metadata)
	if len(kept) == 0 {
		return s.record.Metadata
	}
	maps.Copy(kept, s.record.Metadata)
	return kept
}

// getSession returns the session named in the path. It does not find sessions of other protocols
// and callers.
func (c *call) getSession() (*session, error) {
	id := c.r.PathValue("session")
	return askProvider(c, "get_session", func(ctx context.Context) (*session, error) {
		kept, err := c.settings.Service.GetSession(ctx, c.caller, id)
		if err != nil {
			return nil, nameError(err, "session", id)
		}
		s, own := sessionFrom(kept)
		if !own {
			return nil, notFound("session", id)
		}
		c.nameProvider(s.record.Provider)
		return s, nil
	})
}

// actor is the creator of a record.
type actor struct {
	SubjectID   string `json:"subjectId"`
	SubjectKind string `json:"subjectKind" optional:"true"`
}

func actorOf(owner service.Owner) actor { return actor{owner.Subject, "user"} }

// sessionView is a session in the protocol's form.
type sessionView struct {
	ID         string                     `json:"id"`
	Provider   string                     `json:"provider"`
	Model      string                     `json:"model,omitempty"`
	ClientRef  string                     `json:"clientRef,omitempty"`
	State      service.SessionStatus      `json:"state" enum:"active,archived"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	CreatedBy  actor                      `json:"createdBy"`
	CreatedAt  time.Time                  `json:"createdAt"`
	UpdatedAt  time.Time                  `json:"updatedAt"`
	LastTurnAt time.Time                  `json:"lastTurnAt,omitzero"`
	_          struct{}                   `additionalProperties:"false"`
}

func (s *session) view() sessionView {
	view := s.summary()
	view.Metadata = s.shownMetadata()
	return view
}

// summary returns the view of a session without its metadata.
func (s *session) summary() sessionView {
	return sessionView{
		ID: s.ID, Provider: s.record.Provider, Model: s.record.Model, ClientRef: s.record.ClientRef, State: s.State,
		CreatedBy: actorOf(s.Owner), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, LastTurnAt: s.LastTurnAt,
	}
}

// viewOf returns a stored session as shown in responses, shortened if summary is set; false if it
// belongs to another protocol.
func viewOf(kept *service.Session, summary bool) (sessionView, bool) {
	if summary {
		s, own := summaryOf(kept)
		return s.summary(), own
	}
	s, own := sessionFrom(kept)
	return s.view(), own
}

// createSession is a request to create a session.
type createSession struct {
	Provider       string                     `json:"provider"`
	Model          string                     `json:"model"`
	ClientRef      string                     `json:"clientRef"`
	Metadata       map[string]json.RawMessage `json:"metadata"`
	ModelOptions   json.RawMessage            `json:"modelOptions"`
	IdempotencyKey string                     `json:"idempotencyKey"`
	Workspace      *workspace.Request         `json:"workspace"`
}

// createSession makes a session.
func (c *call) createSession() (any, error) {
	var in createSession
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	key, err := c.readKey(in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	in.Provider, in.Model, in.ClientRef = strings.TrimSpace(in.Provider), strings.TrimSpace(in.Model), strings.TrimSpace(in.ClientRef)
	if err := checkMetadata(in.Metadata); err != nil {
		return nil, err
	}
	if in.Workspace != nil {
		if err := in.Workspace.Validate(); err != nil {
			return nil, badRequest("workspace.%s", err)
		}
	}
	if _, err := readParams(in.ModelOptions); err != nil {
		return nil, err
	}
	p, err := c.chooseProvider(in.Provider)
	if err != nil {
		return nil, err
	}
	model := p.modelFor(in.Model)
	if _, err := p.findModel(c.settings.Service.Revision().Set(), model); err != nil {
		return nil, err
	}
	metadata, err := own.Encode(sessionRecord{sessionSummary: sessionSummary{p.name, model, in.ClientRef}, Metadata: in.Metadata, ModelOptions: in.ModelOptions})
	if err != nil {
		return nil, err
	}
	if in.Workspace != nil {
		if err := c.checkWorkspace(p, in.Workspace); err != nil {
			return nil, err
		}
	}
	id := c.workspaceSession(p, &in, key)
	in.IdempotencyKey = ""
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	c.nameProvider(p.name)
	kept, err := askProvider(c, "create_session", func(ctx context.Context) (*service.Session, error) {
		return c.settings.Service.CreateSession(ctx, c.caller, service.CreateSession{
			ID: id, AgentID: p.Agent, Labels: map[string]string{labelKind: "session", labelProvider: p.name}, Metadata: metadata, Workspace: in.Workspace,
			IdempotencyKey: prefixKey("session:"+p.name, key), IdempotencyBody: body,
		})
	})
	if err != nil {
		return nil, err
	}
	s, _ := sessionFrom(kept)
	c.status = http.StatusCreated
	return s.view(), nil
}

// checkWorkspace returns an error if a provider's session cannot have a workspace.
func (c *call) checkWorkspace(p *provider, asked *workspace.Request) error {
	if err := c.settings.Service.CheckWorkspace(p.Agent, asked); err != nil {
		return err
	}
	if can := c.hostedCapabilities(p); can != nil && !can.Have(backend.PreparedWorkspaces) {
		return p.refuse(backend.PreparedWorkspaces, "a session with a workspace")
	}
	return nil
}

// workspaceSession returns the id of a session with a workspace and an idempotency key; empty
// otherwise. The id is derived from the key, so that the prepared workspace never belongs to
// another session, even after the key has expired.
func (c *call) workspaceSession(p *provider, in *createSession, key string) string {
	if in.Workspace == nil || key == "" {
		return ""
	}
	owner := c.caller.Tenant + "/" + c.caller.Subject
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("gestalt:agent-session-workspace:"+p.name+":"+owner+":"+key)).String()
}

// prefixKey distinguishes the keys of this protocol from others.
func prefixKey(kind, key string) string {
	if key == "" {
		return ""
	}
	return "agent-sessions:" + kind + ":" + key
}

// reservedMetadata are keys that belong to the host, and reservedPrefixes the prefixes of such
// keys.
var (
	reservedMetadata = []string{"__gestalt.lifecycle", "__gestalt.workspace", "cwd", "workspacePath", "worktreePath"}
	reservedPrefixes = []string{"__gestalt.lifecycle.", "__gestalt.workspace."}
)

// checkMetadata rejects metadata with keys that belong to the host.
func checkMetadata(metadata map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		reserved := slices.Contains(reservedMetadata, key) ||
			slices.ContainsFunc(reservedPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if reserved {
			return badRequest("metadata key %q is reserved", clip.Text(key))
		}
	}
	return nil
}

// readSession responds with a session.
func (c *call) readSession() (any, error) {
	s, err := c.getSession()
	if err != nil {
		return nil, err
	}
	return s.view(), nil
}

// updateSession changes a session.
func (c *call) updateSession() (any, error) {
	var in sessionChanges
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	if in.State != nil && *in.State != service.SessionActive && *in.State != service.SessionArchived {
		return nil, badRequest("unsupported agent session state %q", clip.Text(string(*in.State)))
	}
	s, err := c.getSession()
	if err != nil {
		return nil, err
	}
	patch := service.SessionPatch{State: in.State}
	if in.ClientRef != nil {
		s.record.ClientRef = strings.TrimSpace(*in.ClientRef)
	}
	if in.Metadata != nil {
		if err := checkMetadata(*in.Metadata); err != nil {
			return nil, err
		}
		s.record.Metadata = *in.Metadata
	}
	if in.ClientRef != nil || in.Metadata != nil {
		metadata, err := own.Encode(s.record)
		if err != nil {
			return nil, err
		}
		patch.Metadata = &metadata
	}
	kept, err := askProvider(c, "update_session", func(ctx context.Context) (*service.Session, error) {
		return c.settings.Service.UpdateSession(ctx, c.caller, s.ID, patch)
	})
	if err != nil {
		return nil, nameError(err, "session", s.ID)
	}
	changed, _ := sessionFrom(kept)
	return changed.view(), nil
}

// listSessions responds with the caller's sessions, most recently active first.
func (c *call) listSessions() (any, error) {
	q, err := c.readListQuery()
	if err != nil {
		return nil, err
	}
	state, err := q.readWord("state", "session state", string(service.SessionActive), string(service.SessionArchived))
	if err != nil {
		return nil, err
	}
	labels := map[string]string{labelKind: "session"}
	if name := q.values.Get("provider"); name != "" {
		if _, err := c.chooseProvider(name); err != nil {
			return nil, err
		}
		labels[labelProvider] = name
		c.nameProvider(name)
	}
	query := service.SessionQuery{State: service.SessionStatus(state), Labels: labels}
	return readPages(c, q, func(list []sessionView, page service.Page) ([]sessionView, string, error) {
		query.Page = page
		found, err := askProvider(c, "list_sessions", func(ctx context.Context) (service.SessionPage, error) {
			return c.settings.Service.ListSessions(ctx, c.caller, query)
		})
		list = slices.Grow(list, len(found.Sessions))
		for _, kept := range found.Sessions {
			if view, own := viewOf(kept, q.summary); own {
				list = append(list, view)
			}
		}
		return list, found.Next, err
	})
}
