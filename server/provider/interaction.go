package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/event/interaction"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"google.golang.org/protobuf/types/known/structpb"
)

// interactionID returns the host's id of an interaction. It contains the turn, because the host
// may request it without the turn.
func interactionID(turnID, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(turnID + "\n" + id))
}

// findInteraction returns the interaction with an id of the host.
func (s *Server) findInteraction(ctx context.Context, id string, subject *pb.AgentSubjectContext) (*service.Interaction, error) {
	data, err := base64.RawURLEncoding.DecodeString(id)
	turnID, own, ok := strings.Cut(string(data), "\n")
	if err != nil || !ok {
		return nil, notFound("interaction", id)
	}
	if _, err := s.readTurn(ctx, turnID, subject); err != nil {
		return nil, notFound("interaction", id)
	}
	turns := s.current.Load()
	list, err := turns.ListInteractions(ctx, owner, service.InteractionQuery{TurnID: turnID})
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		if i.ID == own {
			return i, nil
		}
	}
	return nil, notFound("interaction", id)
}

// GetInteraction returns an interaction of a turn.
func (s *Server) GetInteraction(ctx context.Context, req *pb.GetAgentProviderInteractionRequest) (*pb.AgentInteraction, error) {
	found, err := s.findInteraction(ctx, req.GetInteractionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	return viewInteraction(found)
}

// ListInteractions returns the pending and past interactions of a turn, oldest first.
func (s *Server) ListInteractions(ctx context.Context, req *pb.ListAgentProviderInteractionsRequest) (*pb.ListAgentProviderInteractionsResponse, error) {
	t, err := s.readTurn(ctx, req.GetTurnId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	turns := s.current.Load()
	list, err := turns.ListInteractions(ctx, owner, service.InteractionQuery{TurnID: t.ID})
	if err != nil {
		return nil, err
	}
	out := &pb.ListAgentProviderInteractionsResponse{}
	for _, i := range list {
		view, err := viewInteraction(i)
		if err != nil {
			return nil, err
		}
		out.Interactions = append(out.Interactions, view)
	}
	return out, nil
}

// ResolveInteraction answers an interaction. Repeating the same answer changes nothing.
func (s *Server) ResolveInteraction(ctx context.Context, req *pb.ResolveAgentProviderInteractionRequest) (*pb.AgentInteraction, error) {
	if req.GetResolution() == nil {
		return nil, invalid("resolution is required")
	}
	found, err := s.findInteraction(ctx, req.GetInteractionId(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	answer, err := answerOf(ctx, &found.Request, req.GetResolution())
	if err != nil {
		return nil, err
	}
	turns := s.current.Load()
	answered, err := turns.AnswerInteraction(ctx, owner, found.TurnID, answer)
	if err != nil {
		return nil, err
	}
	return viewInteraction(answered)
}

// answerOf returns the answer in a resolution. If the request does not expect an object, the answer
// is the only value of the resolution.
func answerOf(ctx context.Context, request *interaction.Request, resolution *structpb.Struct) (interaction.Answer, error) {
	answer := interaction.Answer{Target: request.ID, Action: interaction.Resume}
	fields := resolution.AsMap()
	if refused, _ := fields["canceled"].(bool); refused {
		answer.Action = interaction.Cancel
		answer.Reason, _ = fields["reason"].(string)
		return answer, nil
	}
	whole, err := jsonOf(resolution)
	if err != nil {
		return answer, err
	}
	for _, value := range fields {
		if single, err := json.Marshal(value); err == nil && len(fields) == 1 {
			return surfacekit.AnswerObject(ctx, request, whole, single), nil
		}
	}
	return surfacekit.AnswerObject(ctx, request, whole), nil
}

func viewInteraction(i *service.Interaction) (*pb.AgentInteraction, error) {
	asked := surfacekit.ShowRequest(&i.Request)
	out := &pb.AgentInteraction{
		Id: interactionID(i.TurnID, i.ID), TurnId: i.TurnID, SessionId: i.SessionID, Title: asked.Title, Prompt: i.Request.Prompt(),
		Type:      pb.AgentInteractionType(pb.AgentInteractionType_value["AGENT_INTERACTION_TYPE_"+strings.ToUpper(asked.Type)]),
		State:     pb.AgentInteractionState(pb.AgentInteractionState_value["AGENT_INTERACTION_STATE_"+strings.ToUpper(string(i.State))]),
		CreatedAt: timeOf(i.CreatedAt), ResolvedAt: timeOf(i.AnsweredAt), Resolution: resolutionOf(i),
	}
	request, err := json.Marshal(asked.Request)
	if err == nil && string(request) != "{}" {
		out.Request, err = decodeStruct(request)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// resolutionOf returns the answer of an interaction; nil if absent.
func resolutionOf(i *service.Interaction) *structpb.Struct {
	var answer interaction.Answer
	if i.State != service.InteractionAnswered || json.Unmarshal(i.Answer, &answer) != nil {
		return nil
	}
	members := map[string]any{"canceled": true, "reason": answer.Reason}
	if answer.Action == interaction.Resume {
		members = map[string]any{}
		if json.Unmarshal(answer.Result, &members) != nil {
			var value any
			if json.Unmarshal(answer.Result, &value) != nil {
				return nil
			}
			members = map[string]any{"value": value}
		}
	}
	out, err := structpb.NewStruct(members)
	if err != nil {
		return nil
	}
	return out
}
