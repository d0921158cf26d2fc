package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// turnRecord is the data that a turn stores for the host. A turn without it is not the host's.
type turnRecord struct {
	Model        string            `json:"model,omitempty"`
	ExecutionRef string            `json:"execution_ref,omitempty"`
	CreatedBy    *actor            `json:"created_by,omitempty"`
	Messages     []json.RawMessage `json:"messages,omitempty"`
	Structured   bool              `json:"structured,omitempty"`
	Metadata     json.RawMessage   `json:"metadata,omitempty"`
}

// turn is a turn of the host.
type turn struct {
	*service.Turn
	record turnRecord
}

// readTurn returns a turn that is visible to a subject.
func (s *Server) readTurn(ctx context.Context, id string, subject *pb.AgentSubjectContext) (*turn, error) {
	turns, err := s.open()
	if err != nil {
		return nil, err
	}
	kept, err := turns.GetTurn(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	found := &turn{Turn: kept}
	if !own.Decode(kept.Metadata, &found.record) || !found.record.CreatedBy.belongsTo(subject) {
		return nil, notFound("turn", id)
	}
	return found, nil
}

// CreateTurn stores a turn, once per idempotency key, and returns while it runs.
func (s *Server) CreateTurn(ctx context.Context, req *pb.CreateAgentProviderTurnRequest) (*pb.AgentTurn, error) {
	in, err := s.readSession(ctx, req.GetSessionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	asked, err := s.composeTurn(ctx, in, req)
	if err != nil {
		return nil, err
	}
	turns := s.current.Load()
	kept, err := turns.CreateTurn(ctx, owner, *asked)
	if err != nil {
		return nil, err
	}
	if kept.SessionID != in.ID {
		return nil, status.Errorf(codes.AlreadyExists, "turn %q belongs to another session", kept.ID)
	}
	made := &turn{Turn: kept}
	if !own.Decode(kept.Metadata, &made.record) {
		return nil, notFound("turn", kept.ID)
	}
	return s.viewTurn(made, false)
}

// composeTurn returns the requested turn.
func (s *Server) composeTurn(ctx context.Context, in *session, req *pb.CreateAgentProviderTurnRequest) (*service.CreateTurn, error) {
	turns := s.current.Load()
	out := &service.CreateTurn{SessionID: in.ID, ID: req.GetTurnId(), AgentID: in.AgentID, Addressed: true, Background: true}
	agent, err := turns.CurrentAgent(ctx, in.Session, in.AgentID)
	if err != nil {
		return nil, err
	}
	model := req.GetModel()
	if agent == in.AgentID { // else the session's model is for another agent
		model = cmp.Or(model, in.record.Model)
	}
	if out.Before, out.Input, err = splitMessages(req.GetMessages(), s.findArtifacts(ctx, req.GetSubject())); err != nil {
		return nil, err
	}
	record := turnRecord{ExecutionRef: cmp.Or(req.GetExecutionRef(), req.GetTurnId()), CreatedBy: actorOf(req.GetCreatedBy()), Structured: req.GetResponseSchema() != nil}
	if record.CreatedBy == nil {
		record.CreatedBy = in.record.CreatedBy
	}
	if record.Model, err = findModel(turns.Service, agent, model); err != nil {
		return nil, err
	}
	if err := readOptions(req, out); err != nil {
		return nil, err
	}
	if out.Ephemeral, err = s.composeAgent(turns.Service, agent, &record, req); err != nil {
		return nil, err
	}
	if record.Metadata, err = jsonOf(req.GetMetadata()); err != nil {
		return nil, err
	}
	for _, m := range req.GetMessages() {
		data, err := protojson.Marshal(m)
		if err != nil {
			return nil, invalid("messages: %s", err)
		}
		record.Messages = append(record.Messages, data)
	}
	if out.Metadata, err = own.Encode(record); err != nil {
		record.Messages = nil // the turn's input holds them in any case
		if out.Metadata, err = own.Encode(record); err != nil {
			return nil, err
		}
	}
	if key := req.GetIdempotencyKey(); key != "" {
		out.IdempotencyKey = keyFor("turn", "", key)
		out.IdempotencyBody, err = bodyOf(req)
	}
	return out, err
}

// findArtifacts returns a finder of the artifacts of a subject's sessions.
func (s *Server) findArtifacts(ctx context.Context, subject *pb.AgentSubjectContext) surfacekit.ArtifactFinder {
	return func(id string) (*service.Artifact, error) {
		turns, err := s.open()
		if err != nil {
			return nil, err
		}
		found, err := turns.GetArtifact(ctx, owner, id)
		if err == nil {
			_, err = s.readSession(ctx, found.SessionID, subject)
		}
		if errors.Is(err, service.ErrNotFound) || status.Code(err) == codes.NotFound {
			return nil, service.ErrNotFound
		}
		return found, s.toStatus(ctx, "find_artifact", err)
	}
}

// bodyOf returns the part of a request that a repetition with its key must not change.
func bodyOf(req *pb.CreateAgentProviderTurnRequest) (json.RawMessage, error) {
	same := &pb.CreateAgentProviderTurnRequest{
		SessionId: req.GetSessionId(), Model: req.GetModel(), Messages: req.GetMessages(), ResponseSchema: req.GetResponseSchema(), Metadata: req.GetMetadata(),
		ToolRefs: req.GetToolRefs(), ToolSource: req.GetToolSource(), ModelOptions: req.GetModelOptions(),
	}
	return compact(protojson.Marshal(same))
}

// readOptions reads the output schema and the turn's model parameters.
func readOptions(req *pb.CreateAgentProviderTurnRequest, out *service.CreateTurn) error {
	if schema := req.GetResponseSchema(); schema != nil {
		data, err := jsonOf(schema)
		if err != nil {
			return err
		}
		out.Overrides = resolve.Overrides{Output: &spec.OutputSchema{Schema: data}}
	}
	if options := req.GetModelOptions(); options != nil {
		data, err := jsonOf(options)
		if err != nil {
			return err
		}
		if err := server.DecodeJSON(data, &out.Params, true); err != nil {
			return invalid("model_options cannot be used: %s", err)
		}
		if effort := out.Params.ReasoningEffort; effort != nil && len(effort.Validate()) > 0 {
			return invalid("model_options cannot be used: %s", effort.Validate()[0].Message)
		}
	}
	return nil
}

// composeAgent returns the agent of a turn, with its model and the tools and connections of the
// host; nil for the unchanged agent.
func (s *Server) composeAgent(turns *service.Service, id string, record *turnRecord, req *pb.CreateAgentProviderTurnRequest) (*service.Ephemeral, error) {
	set := turns.Revision().Set()
	declared, ok := set.Agent(id)
	wantsTools := req.GetToolSource() != pb.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_UNSPECIFIED || len(req.GetToolRefs()) > 0 || len(req.GetTools()) > 0
	granted := s.host != nil && req.GetRunGrant() != ""
	switch {
	case !ok:
		return nil, status.Errorf(codes.FailedPrecondition, "agent %q does not exist any more", id)
	case !wantsTools && record.Model == "" && (!granted || !declared.UsesTools()):
		record.Model = declared.Model()
		return nil, nil //nolint:nilnil // it is used as it is
	case !declared.UsesTools():
		return nil, invalid("agent %q runs elsewhere, which alone decides about its model and tools", id)
	case wantsTools && s.host == nil:
		return nil, status.Errorf(codes.FailedPrecondition, "the turn has tools of the host, and %s does not name where the host is called", hostVariable)
	case wantsTools && req.GetRunGrant() == "":
		return nil, invalid("the turn has tools of the host and no run_grant")
	}
	agent, _ := set.Defaults.Apply(declared)
	agent = agent.Clone()
	if record.Model != "" {
		agent.UseModel(record.Model)
	}
	record.Model = agent.Model()
	made := &service.Ephemeral{Agent: *agent}
	if granted {
		config, err := json.Marshal(hostTools{SessionID: req.GetSessionId(), TurnID: req.GetTurnId(), RunGrant: req.GetRunGrant(), None: !wantsTools})
		if err != nil {
			return nil, err
		}
		made.Tools = []service.EphemeralTool{{Kind: hostKind, Config: config, Silent: !wantsTools}}
	}
	return made, nil
}

// statuses maps the statuses of turns.
var statuses = map[service.Status]pb.AgentExecutionStatus{
	service.Pending: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_PENDING, service.Running: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING,
	service.Waiting:   pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT,
	service.Succeeded: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED, service.Failed: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED,
	service.Canceled: pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED,
}

// viewTurn returns a turn in the host's form; the short form has neither messages nor output.
func (s *Server) viewTurn(t *turn, short bool) (*pb.AgentTurn, error) {
	out := &pb.AgentTurn{
		Id: t.ID, SessionId: t.SessionID, ProviderName: s.current.Load().name, Model: t.record.Model, Status: statuses[t.Status], CreatedBy: t.record.CreatedBy.toProto(),
		CreatedAt: timeOf(t.CreatedAt), StartedAt: timeOf(t.StartedAt), CompletedAt: timeOf(t.FinishedAt), ExecutionRef: t.record.ExecutionRef,
	}
	if t.Outcome != nil {
		out.StatusMessage = surfacekit.StatusMessage(&t.Outcome.Termination, t.record.Structured)
	}
	if short {
		return out, nil
	}
	for _, data := range t.record.Messages {
		m := new(pb.AgentMessage)
		if err := protojson.Unmarshal(data, m); err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, m)
	}
	if t.Outcome == nil {
		return out, nil
	}
	out.OutputText = t.Outcome.Response
	if t.record.Structured && t.Status == service.Succeeded {
		object := new(structpb.Struct)
		if protojson.Unmarshal([]byte(out.OutputText), object) == nil {
			out.StructuredOutput = object
		}
	}
	return out, nil
}

// GetTurn returns a turn. The host calls it while handling calls of the turn's tools.
func (s *Server) GetTurn(ctx context.Context, req *pb.GetAgentProviderTurnRequest) (*pb.AgentTurn, error) {
	t, err := s.readTurn(ctx, req.GetTurnId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	return s.viewTurn(t, false)
}

// ListTurns returns the turns of a session, newest first, or the turns with the requested ids.
func (s *Server) ListTurns(ctx context.Context, req *pb.ListAgentProviderTurnsRequest) (*pb.ListAgentProviderTurnsResponse, error) {
	found, err := s.findTurns(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &pb.ListAgentProviderTurnsResponse{}
	for _, t := range found {
		view, err := s.viewTurn(t, req.GetSummaryOnly())
		if err != nil {
			return nil, err
		}
		out.Turns = append(out.Turns, view)
	}
	return out, nil
}

func (s *Server) findTurns(ctx context.Context, req *pb.ListAgentProviderTurnsRequest) ([]*turn, error) {
	in, err := s.readSession(ctx, req.GetSessionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	limit, err := listLimit(req.GetLimit(), len(req.GetTurnIds()))
	if err != nil {
		return nil, err
	}
	if ids := req.GetTurnIds(); len(ids) > 0 {
		return findAll(ids, limit, func(id string) (*turn, bool, error) {
			t, err := s.readTurn(ctx, id, req.GetSubject())
			return t, err == nil && t.SessionID == in.ID && hasStatus(t, req.GetStatus()), err
		})
	}
	q := service.TurnQuery{SessionID: in.ID}
	for kept, proto := range statuses {
		if proto == req.GetStatus() {
			q.Statuses = []service.Status{kept}
		}
	}
	turns := s.current.Load()
	found, _, err := surfacekit.CollectPages("", limit, func(list []*turn, page service.Page) ([]*turn, string, error) {
		q.Page = page
		read, err := turns.ListTurns(ctx, owner, q)
		if err != nil {
			return nil, "", err
		}
		for _, kept := range read.Turns {
			if t := (&turn{Turn: kept}); own.Decode(kept.Metadata, &t.record) && hasStatus(t, req.GetStatus()) {
				list = append(list, t)
			}
		}
		return list, read.Next, nil
	})
	return found, err
}

// hasStatus reports whether a turn has the requested status.
func hasStatus(t *turn, asked pb.AgentExecutionStatus) bool {
	return asked == pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_UNSPECIFIED || statuses[t.Status] == asked
}

// CancelTurn ends a turn and returns it. It does not change an ended turn.
func (s *Server) CancelTurn(ctx context.Context, req *pb.CancelAgentProviderTurnRequest) (*pb.AgentTurn, error) {
	t, err := s.readTurn(ctx, req.GetTurnId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	turns := s.current.Load()
	if t.Turn, err = turns.CancelTurn(ctx, owner, t.ID, cmp.Or(req.GetReason(), "canceled")); err != nil {
		return nil, err
	}
	return s.viewTurn(t, false)
}
