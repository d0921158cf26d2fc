package peertest

import (
	"context"
	"iter"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/spec"
)

// GRPCAgent is an agent reachable over gRPC.
type GRPCAgent struct {
	a2asrv.RequestHandler
	Refuse error

	Mu   sync.Mutex
	Seen []metadata.MD
}

// GetTask finds no task.
func (a *GRPCAgent) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return nil, a2a.ErrTaskNotFound
}

// SendStreamingMessage answers with events.
func (a *GRPCAgent) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello from "+req.Tenant)), nil) {
			<-ctx.Done()
		}
	}
}

// checkCall rejects calls as the test specifies, and all calls without token-2.
func (a *GRPCAgent) checkCall(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Seen = append(a.Seen, md)
	if a.Refuse != nil {
		return a.Refuse
	}
	if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer token-2" {
		return status.Error(codes.Unauthenticated, "no")
	}
	return nil
}

// RefuseWith makes calls fail with an error.
func (a *GRPCAgent) RefuseWith(err error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Refuse = err
}

// ServeGRPC serves an agent, and returns its endpoint.
func ServeGRPC(t testing.TB, a *GRPCAgent) *spec.Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := a.checkCall(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := a.checkCall(stream.Context()); err != nil {
				return err
			}
			return next(srv, stream)
		}),
	)
	a2agrpc.NewHandler(a).RegisterWith(server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })

	address := listener.Addr().String()
	h := NewHost(t)
	card := CardOf(h.URL)
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: address, ProtocolBinding: "grpc", ProtocolVersion: "1.0", Tenant: "translator"}}
	h.Answer(func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, card) }, nil)
	e := h.Endpoint(`{"allow_origins":["http://` + address + `"],"idle_timeout":"1s","max_event_bytes":4096,"max_output_bytes":4096}`)
	e.Auth = &spec.Auth{Type: spec.AuthClientCredentials, TokenURL: Issuer(t), ClientID: "me", ClientSecret: "hush"}
	return e
}
