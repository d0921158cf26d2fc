// Package hostservice serves the calls that providers make while they work on a turn: they list the
// turn's tools, run them, and get connections. Each call presents its turn's grant, which ends with
// the turn.
package hostservice

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// maxMessage bounds a request, in bytes.
const maxMessage = 16 << 20

// Service is the host service of one provider. It is safe for concurrent use.
type Service struct {
	providerproto.UnimplementedAgentHostServer

	provider string
	key      []byte
	// manager returns the handler of AgentManagerHost, or nil.
	manager func() providerproto.Manager
	// process distinguishes this process's grants from earlier ones.
	process string
	server  *grpc.Server
	serving sync.WaitGroup

	mu    sync.Mutex
	turns map[string]*CallQueue // by turn
	// opened is closed and replaced when a turn is opened.
	opened chan struct{}
}

// adoptTime is how long a call of an earlier process's turn waits until the turn continues here.
const adoptTime = 10 * time.Second

// New returns the service of a provider. An empty key is replaced by a random one; grants of an
// earlier process are then only known by their hash.
func New(provider string, key []byte, manager func() providerproto.Manager) *Service {
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
	}
	s := &Service{provider: provider, key: key, manager: manager, process: rand.Text(), turns: map[string]*CallQueue{}, opened: make(chan struct{})}
	s.server = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.UnaryInterceptor(continueTrace))
	providerproto.RegisterAgentHostServer(s.server, s)
	providerproto.RegisterAgentManagerHostServer(s.server, managerServer{Service: s})
	return s
}

// continueTrace adds a call to the trace that it names.
func continueTrace(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = telemetry.ExtractMetadata(ctx, md)
	}
	return handle(ctx, req)
}

// Serve answers calls on a listener until Close, or until the listener is closed.
func (s *Service) Serve(l net.Listener) {
	s.serving.Go(func() { _ = s.server.Serve(l) }) // it ends with the listener
}

// Close ends all calls and listeners.
func (s *Service) Close() {
	s.server.Stop()
	s.serving.Wait()
}

// Open lets a turn call back until Close is called for it. A turn that is already open keeps its
// queue and its waiting calls.
func (s *Service) Open(t *Turn) (*CallQueue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetExpired(time.Now())
	if d := s.turns[t.TurnID]; d != nil && d.SessionID == t.SessionID {
		return d, nil
	}
	d := &CallQueue{Turn: *t, waiting: make(chan struct{}), calls: map[string]*pending{}, over: make(chan struct{})}
	var err error
	if d.Grant, err = signGrant(s.key, s.process, s.provider, t.SessionID, t.TurnID, t.Until); err != nil {
		return nil, err
	}
	s.turns[t.TurnID] = d
	close(s.opened)
	s.opened = make(chan struct{})
	return d, nil
}

// forgetExpired removes turns with an expired grant, which would never be closed.
func (s *Service) forgetExpired(now time.Time) {
	for id, d := range s.turns {
		if now.After(d.Until) {
			delete(s.turns, id)
			d.close()
		}
	}
}

// CloseTurn ends a turn's access to tools.
func (s *Service) CloseTurn(turnID string) {
	s.mu.Lock()
	d := s.turns[turnID]
	delete(s.turns, turnID)
	s.mu.Unlock()
	if d != nil {
		d.close()
	}
}

// callsOf returns the calls of a grant's turn. A call of an earlier process's turn may arrive
// before the turn continues here, and waits for it.
func (s *Service) callsOf(ctx context.Context, grant, session, turn string) (*CallQueue, error) {
	claims, signed, err := checkGrant(s.key, grant, time.Now())
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	if claims.Provider != s.provider || claims.Session != session || claims.Turn != turn {
		return nil, status.Error(codes.PermissionDenied, errGrant.Error())
	}
	limit := adoptTime
	if signed && claims.ID == s.process {
		limit = 0
	}
	d := s.awaitCalls(ctx, turn, limit)
	switch {
	case d != nil && !signed && !d.accepts(grant):
		return nil, status.Error(codes.PermissionDenied, errGrant.Error())
	case d == nil || d.SessionID != session:
		return nil, status.Error(codes.PermissionDenied, errEnded.Error())
	}
	return d, nil
}

// awaitCalls waits for the calls of a turn for a limited time; it returns nil if none exists.
func (s *Service) awaitCalls(ctx context.Context, turn string, limit time.Duration) *CallQueue {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		d, opened := s.turns[turn], s.opened
		s.mu.Unlock()
		if d != nil || limit == 0 {
			return d
		}
		select {
		case <-opened:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// ExecuteTool runs a tool of the turn. A tool that fails is a result.
func (s *Service) ExecuteTool(ctx context.Context, req *providerproto.ExecuteAgentToolRequest) (*providerproto.ExecuteAgentToolResponse, error) {
	d, err := s.callsOf(ctx, req.GetRunGrant(), req.GetSessionId(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	id := cmp.Or(req.GetToolCallId(), req.GetIdempotencyKey())
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "tool_call_id or idempotency_key is required")
	}
	tool := d.toolNamed(req.GetToolId())
	if tool == nil {
		return &providerproto.ExecuteAgentToolResponse{Status: 404, Body: fmt.Sprintf("there is no tool %q", req.GetToolId())}, nil
	}
	arguments := json.RawMessage("{}")
	if req.GetArguments() != nil {
		if arguments, err = json.Marshal(req.GetArguments().AsMap()); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the arguments are not JSON: %v", err)
		}
	}
	outcome, err := d.makeCall(ctx, Call{ID: id, Tool: tool.Name, Arguments: arguments})
	switch {
	case errors.Is(err, errReused):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errTooMany):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, errEnded):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	return &providerproto.ExecuteAgentToolResponse{Status: outcome.Status, Body: outcome.Body}, nil
}

// ResolveConnection returns the provider's connection with a name.
func (s *Service) ResolveConnection(ctx context.Context, req *providerproto.ResolveAgentConnectionRequest) (*providerproto.ResolvedAgentConnection, error) {
	d, err := s.callsOf(ctx, req.GetRunGrant(), req.GetSessionId(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	c, ok := d.Connections[req.GetConnection()]
	if !ok || req.GetInstance() != "" {
		return nil, status.Errorf(codes.NotFound, "connection %q is not configured for this provider", req.GetConnection())
	}
	return &providerproto.ResolvedAgentConnection{
		ConnectionId: req.GetConnection(), Connection: req.GetConnection(), Mode: "static", Headers: c.Headers, Params: c.Params,
	}, nil
}
