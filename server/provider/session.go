package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// own is the protocol's member in the metadata of sessions and turns.
const own surfacekit.Own = "agent_provider"

// labelKind is the label of a session, and labelSubject the label with its subject's id.
const (
	labelKind    = "agent_provider"
	labelSubject = "agent_provider_subject"
)

const (
	// maxList is the default length of a list of records.
	maxList = 500
	// maxIDs is how many ids a list request may name.
	maxIDs = 1000
)

// sessionRecord is the data that a session stores for the host.
type sessionRecord struct {
	Model     string          `json:"model,omitempty"`
	ClientRef string          `json:"client_ref,omitempty"`
	CreatedBy *actor          `json:"created_by,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// actor is the creator of a record, according to the host.
type actor struct {
	ID      string `json:"id,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Name    string `json:"name,omitempty"`
	AuthSrc string `json:"auth_source,omitempty"`
}

func actorOf(a *pb.AgentActor) *actor {
	if a == nil {
		return nil
	}
	return &actor{a.GetSubjectId(), a.GetSubjectKind(), a.GetDisplayName(), a.GetAuthSource()}
}

func (a *actor) toProto() *pb.AgentActor {
	if a == nil {
		return nil
	}
	return &pb.AgentActor{SubjectId: a.ID, SubjectKind: a.Kind, DisplayName: a.Name, AuthSource: a.AuthSrc}
}

// belongsTo reports whether a subject may see the actor's records. The host itself, without a
// subject, sees everything.
func (a *actor) belongsTo(subject *pb.AgentSubjectContext) bool {
	return subject.GetSubjectId() == "" || a == nil || a.ID == "" || a.ID == subject.GetSubjectId()
}

// session is a session of the host.
type session struct {
	*service.Session
	record sessionRecord
}

// readSession returns a session that is visible to a subject.
func (s *Server) readSession(ctx context.Context, id string, subject *pb.AgentSubjectContext) (*session, error) {
	turns, err := s.open()
	if err != nil {
		return nil, err
	}
	kept, err := turns.GetSession(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	found := &session{Session: kept}
	if !own.Decode(kept.Metadata, &found.record) || !found.record.CreatedBy.belongsTo(subject) {
		return nil, notFound("session", id)
	}
	return found, nil
}

// findModel returns the id of the model or pool with a name. The empty name returns an empty id,
// which leaves the choice to the agent. The provider of a hosted agent knows the agent's models.
func findModel(turns *service.Service, agentID, name string) (string, error) {
	id, err := surfacekit.FindModel(turns.Revision().Set(), agentID, name, nil)
	if err != nil {
		return "", invalid("model %q is not available", name)
	}
	return id, nil
}

// viewSession shows a session.
func (s *Server) viewSession(from *session, short bool) (*pb.AgentSession, error) {
	out := &pb.AgentSession{
		Id: from.ID, ProviderName: s.current.Load().name, Model: from.record.Model, ClientRef: from.record.ClientRef, CreatedBy: from.record.CreatedBy.toProto(),
		CreatedAt: timeOf(from.CreatedAt), UpdatedAt: timeOf(from.UpdatedAt), LastTurnAt: timeOf(from.LastTurnAt),
		State: pb.AgentSessionState_AGENT_SESSION_STATE_ACTIVE,
	}
	if from.State == service.SessionArchived {
		out.State = pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED
	}
	if short {
		return out, nil
	}
	var shown map[string]json.RawMessage
	if len(from.record.Metadata) > 0 {
		if err := json.Unmarshal(from.record.Metadata, &shown); err != nil {
			return nil, err
		}
	}
	if kept := sessionstart.Kept(from.Metadata); len(kept) > 0 {
		maps.Copy(kept, shown)
		shown = kept
	}
	var err error
	out.Metadata, err = structOf(shown)
	return out, err
}

// CreateSession creates a session, once per idempotency key.
func (s *Server) CreateSession(ctx context.Context, req *pb.CreateAgentProviderSessionRequest) (*pb.AgentSession, error) {
	turns, err := s.open()
	if err != nil {
		return nil, err
	}
	if _, err := findModel(turns.Service, turns.agent, req.GetModel()); err != nil {
		return nil, err
	}
	by := actorOf(req.GetCreatedBy())
	if by == nil && req.GetSubject() != nil {
		by = &actor{ID: req.GetSubject().GetSubjectId(), Kind: req.GetSubject().GetSubjectKind(), Name: req.GetSubject().GetDisplayName(), AuthSrc: req.GetSubject().GetAuthSource()}
	}
	record := sessionRecord{Model: req.GetModel(), ClientRef: req.GetClientRef(), CreatedBy: by}
	if record.Metadata, err = jsonOf(req.GetMetadata()); err != nil {
		return nil, err
	}
	in := service.CreateSession{ID: req.GetSessionId(), AgentID: turns.agent, Labels: map[string]string{labelKind: "session"}}
	if by != nil && by.ID != "" && len(by.ID) <= service.MaxLabel {
		in.Labels[labelSubject] = by.ID
	}
	if p := req.GetPreparedWorkspace(); p != nil {
		in.Prepared = &workspace.Prepared{Root: p.GetRoot(), Cwd: p.GetCwd()}
	}
	if in.SessionStart, err = hooksOf(req.GetSessionStart()); err != nil {
		return nil, err
	}
	if in.Metadata, err = own.Encode(record); err != nil {
		return nil, err
	}
	if key := req.GetIdempotencyKey(); key != "" {
		in.IdempotencyKey = keyFor("session", subjectID(req.GetSubject(), by), key)
		if in.IdempotencyBody, err = json.Marshal([]any{record, req.GetSessionStart().GetHooks(), in.Prepared}); err != nil {
			return nil, err
		}
	}
	kept, err := turns.CreateSession(ctx, owner, in)
	if err != nil {
		return nil, err
	}
	made := &session{Session: kept}
	if !own.Decode(kept.Metadata, &made.record) {
		return nil, notFound("session", kept.ID)
	}
	return s.viewSession(made, false)
}

// subjectID returns the id of the requesting subject.
func subjectID(subject *pb.AgentSubjectContext, by *actor) string {
	if by == nil {
		by = &actor{}
	}
	return cmp.Or(subject.GetSubjectId(), by.ID)
}

// hooksOf returns the programs that the host wants to run at the start of a session.
func hooksOf(config *pb.AgentSessionStartConfig) ([]spec.SessionHook, error) {
	var hooks []spec.SessionHook
	for i, h := range config.GetHooks() {
		hook := spec.SessionHook{
			ID: h.GetId(), Type: h.GetType(), Command: h.GetCommand(), Cwd: h.GetCwd(), Env: h.GetEnv(),
			Output: spec.HookOutput{AdditionalContext: h.GetOutput().GetAdditionalContext(), Metadata: h.GetOutput().GetMetadata()},
		}
		if text := h.GetTimeout(); text != "" {
			limit, err := time.ParseDuration(text)
			if err != nil {
				return nil, invalid("session_start.hooks[%d].timeout is not a duration such as 30s", i)
			}
			hook.Timeout = new(spec.Duration(limit))
		}
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

// GetSession returns a session.
func (s *Server) GetSession(ctx context.Context, req *pb.GetAgentProviderSessionRequest) (*pb.AgentSession, error) {
	found, err := s.readSession(ctx, req.GetSessionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	return s.viewSession(found, false)
}

// ListSessions returns sessions, most recently active first, or the sessions with the requested
// ids.
func (s *Server) ListSessions(ctx context.Context, req *pb.ListAgentProviderSessionsRequest) (*pb.ListAgentProviderSessionsResponse, error) {
	found, err := s.findSessions(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &pb.ListAgentProviderSessionsResponse{}
	for _, kept := range found {
		view, err := s.viewSession(kept, req.GetSummaryOnly())
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, view)
	}
	return out, nil
}

// sessionStates are the states that list requests may name.
var sessionStates = map[pb.AgentSessionState]service.SessionStatus{
	pb.AgentSessionState_AGENT_SESSION_STATE_UNSPECIFIED: "", pb.AgentSessionState_AGENT_SESSION_STATE_ACTIVE: service.SessionActive,
	pb.AgentSessionState_AGENT_SESSION_STATE_ARCHIVED: service.SessionArchived,
}

func (s *Server) findSessions(ctx context.Context, req *pb.ListAgentProviderSessionsRequest) ([]*session, error) {
	turns, err := s.open()
	if err != nil {
		return nil, err
	}
	state, known := sessionStates[req.GetState()]
	limit, err := listLimit(req.GetLimit(), len(req.GetSessionIds()))
	if err != nil || !known {
		return nil, cmp.Or(err, invalid("state is unknown"))
	}
	if ids := req.GetSessionIds(); len(ids) > 0 {
		return findAll(ids, limit, func(id string) (*session, bool, error) {
			one, err := s.readSession(ctx, id, req.GetSubject())
			return one, err == nil && (state == "" || one.State == state), err
		})
	}
	q := service.SessionQuery{State: state, Labels: map[string]string{labelKind: "session"}}
	if id := req.GetSubject().GetSubjectId(); id != "" && len(id) <= service.MaxLabel {
		q.Labels[labelSubject] = id
	}
	found, _, err := surfacekit.CollectPages("", limit, func(list []*session, page service.Page) ([]*session, string, error) {
		q.Page = page
		read, err := turns.ListSessions(ctx, owner, q)
		for _, kept := range read.Sessions {
			one := &session{Session: kept}
			if own.Decode(kept.Metadata, &one.record) && one.record.CreatedBy.belongsTo(req.GetSubject()) {
				list = append(list, one)
			}
		}
		return list, read.Next, err
	})
	return found, err
}

// findAll returns up to limit of the records with the ids that exist and fit.
func findAll[T any](ids []string, limit int, read func(id string) (one T, fits bool, err error)) ([]T, error) {
	var found []T
	for _, id := range ids {
		one, fits, err := read(id)
		if err != nil && !errors.Is(err, service.ErrNotFound) && status.Code(err) != codes.NotFound {
			return nil, err
		}
		if fits && len(found) < limit {
			found = append(found, one)
		}
	}
	return found, nil
}

// listLimit returns the maximum number of records in a list.
func listLimit(asked int32, ids int) (int, error) {
	switch {
	case asked < 0:
		return 0, invalid("limit must be 0 or more")
	case ids > maxIDs:
		return 0, invalid("%d ids are requested; %d are allowed", ids, maxIDs)
	case asked == 0 && ids > 0:
		return ids, nil
	case asked == 0 || asked > maxList:
		return maxList, nil
	}
	return int(asked), nil
}

// UpdateSession changes the fields in the request; empty fields stay unchanged.
func (s *Server) UpdateSession(ctx context.Context, req *pb.UpdateAgentProviderSessionRequest) (*pb.AgentSession, error) {
	found, err := s.readSession(ctx, req.GetSessionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	state, known := sessionStates[req.GetState()]
	if !known {
		return nil, invalid("state is unknown")
	}
	var patch service.SessionPatch
	if state != "" {
		patch.State = &state
	}
	if req.GetClientRef() != "" {
		found.record.ClientRef = req.GetClientRef()
	}
	if req.GetMetadata() != nil {
		given := req.GetMetadata().AsMap()
		maps.DeleteFunc(given, func(name string, _ any) bool { return sessionstart.IsReserved(name) }) // they stay unchanged
		if found.record.Metadata, err = json.Marshal(given); err != nil {
			return nil, err
		}
	}
	changed, err := own.Encode(found.record)
	if err != nil {
		return nil, err
	}
	patch.Metadata = &changed
	turns := s.current.Load()
	if found.Session, err = turns.UpdateSession(ctx, owner, found.ID, patch); err != nil {
		return nil, err
	}
	return s.viewSession(found, false)
}
