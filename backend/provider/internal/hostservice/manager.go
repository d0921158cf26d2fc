package hostservice

import (
	"context"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// managerServer serves sessions and turns that a provider makes for the caller of its turn. The
// grant of the turn is the invocation token.
type managerServer struct {
	pb.UnimplementedAgentManagerHostServer
	*Service
}

// invocation is a request with the grant of a turn.
type invocation interface {
	proto.Message
	GetInvocationToken() string
}

// manage handles a request and fills in out.
func manage[Out proto.Message](ctx context.Context, s managerServer, in invocation, out Out) (Out, error) {
	claims, _, err := checkGrant(s.key, in.GetInvocationToken(), time.Now())
	if err != nil {
		return out, status.Error(codes.PermissionDenied, err.Error())
	}
	calls, err := s.callsOf(ctx, in.GetInvocationToken(), claims.Session, claims.Turn)
	if err != nil {
		return out, err
	}
	m := s.manager()
	if m == nil {
		return out, status.Error(codes.Unimplemented, "the host does not serve agent sessions")
	}
	return out, m.Manage(ctx, pb.Invocation{Provider: s.provider, TurnID: calls.RuntimeTurnID}, in, out)
}

// CreateSession creates a session of the caller.
func (s managerServer) CreateSession(ctx context.Context, in *pb.AgentManagerCreateSessionRequest) (*pb.AgentSession, error) {
	return manage(ctx, s, in, new(pb.AgentSession))
}

// GetSession returns a session of the caller.
func (s managerServer) GetSession(ctx context.Context, in *pb.AgentManagerGetSessionRequest) (*pb.AgentSession, error) {
	return manage(ctx, s, in, new(pb.AgentSession))
}

// ListSessions lists the caller's sessions.
func (s managerServer) ListSessions(ctx context.Context, in *pb.AgentManagerListSessionsRequest) (*pb.AgentManagerListSessionsResponse, error) {
	return manage(ctx, s, in, new(pb.AgentManagerListSessionsResponse))
}

// UpdateSession changes a session of the caller.
func (s managerServer) UpdateSession(ctx context.Context, in *pb.AgentManagerUpdateSessionRequest) (*pb.AgentSession, error) {
	return manage(ctx, s, in, new(pb.AgentSession))
}

// CreateTurn starts a turn of the caller.
func (s managerServer) CreateTurn(ctx context.Context, in *pb.AgentManagerCreateTurnRequest) (*pb.AgentTurn, error) {
	return manage(ctx, s, in, new(pb.AgentTurn))
}

// GetTurn returns a turn of the caller.
func (s managerServer) GetTurn(ctx context.Context, in *pb.AgentManagerGetTurnRequest) (*pb.AgentTurn, error) {
	return manage(ctx, s, in, new(pb.AgentTurn))
}

// ListTurns lists the turns of a session.
func (s managerServer) ListTurns(ctx context.Context, in *pb.AgentManagerListTurnsRequest) (*pb.AgentManagerListTurnsResponse, error) {
	return manage(ctx, s, in, new(pb.AgentManagerListTurnsResponse))
}

// CancelTurn cancels a turn of the caller.
func (s managerServer) CancelTurn(ctx context.Context, in *pb.AgentManagerCancelTurnRequest) (*pb.AgentTurn, error) {
	return manage(ctx, s, in, new(pb.AgentTurn))
}

// ListTurnEvents lists the events of a turn.
func (s managerServer) ListTurnEvents(ctx context.Context, in *pb.AgentManagerListTurnEventsRequest) (*pb.AgentManagerListTurnEventsResponse, error) {
	return manage(ctx, s, in, new(pb.AgentManagerListTurnEventsResponse))
}

// ListInteractions lists the interactions of a turn.
func (s managerServer) ListInteractions(ctx context.Context, in *pb.AgentManagerListInteractionsRequest) (*pb.AgentManagerListInteractionsResponse, error) {
	return manage(ctx, s, in, new(pb.AgentManagerListInteractionsResponse))
}

// ResolveInteraction answers an interaction of a turn.
func (s managerServer) ResolveInteraction(ctx context.Context, in *pb.AgentManagerResolveInteractionRequest) (*pb.AgentInteraction, error) {
	return manage(ctx, s, in, new(pb.AgentInteraction))
}
