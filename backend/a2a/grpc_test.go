package a2abackend

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/spec"
)

// grpcAgent is an agent that is reached over gRPC.
type grpcAgent struct {
	a2asrv.RequestHandler
	refuse error

	mu   sync.Mutex
	seen []metadata.MD
}

func (a *grpcAgent) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return nil, a2a.ErrTaskNotFound
}

func (a *grpcAgent) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello from "+req.Tenant)), nil) {
			<-ctx.Done()
		}
	}
}

// check refuses calls as the test says, and all that carry no token-2.
func (a *grpcAgent) check(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, md)
	if a.refuse != nil {
		return a.refuse
	}
	if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer token-2" {
		return status.Error(codes.Unauthenticated, "no")
	}
	return nil
}

func (a *grpcAgent) refuseWith(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse = err
}

// serveGRPC serves an agent, and returns the peer that has it.
func serveGRPC(t *testing.T, a *grpcAgent) *peer {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := a.check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := a.check(stream.Context()); err != nil {
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
	h := newHost(t)
	card := cardOf(h.URL)
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: address, ProtocolBinding: "grpc", ProtocolVersion: "1.0", Tenant: "translator"}}
	h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) }, nil)
	e := h.endpoint(`{"allow_origins":["http://` + address + `"],"idle_timeout":"1s","max_event_bytes":4096,"max_output_bytes":4096}`)
	e.Auth = &spec.Auth{Type: spec.AuthClientCredentials, TokenURL: issuer(t), ClientID: "me", ClientSecret: "hush"}
	return reach(t, e)
}

func TestAnAgentIsReachedOverGRPC(t *testing.T) {
	t.Parallel()
	a := &grpcAgent{}
	p := serveGRPC(t, a)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "cookie", "inbound", "authorization", "inbound")
	conn, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.client.GetTask(ctx, &a2a.GetTaskRequest{ID: "x"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("error is %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.seen) != 2 {
		t.Fatalf("%d calls; a refused token is replaced once", len(a.seen))
	}
	for _, md := range a.seen {
		if len(md.Get("cookie")) != 0 || strings.Join(md.Get("authorization"), "") == "inbound" {
			t.Errorf("inbound credentials went on: %v", md)
		}
	}
	if got := a.seen[1].Get("A2A-Version"); len(got) != 1 || got[0] != "1.0" {
		t.Errorf("the version is %q", got)
	}
}

func TestAStreamOverGRPCMayNotBeSilent(t *testing.T) {
	t.Parallel()
	a := &grpcAgent{}
	p := serveGRPC(t, a)
	_ = getTask(t, p) // makes the token be token-2
	start := time.Now()
	got, err := stream(t, p)
	if _, ok := errors.AsType[*IdleError](err); !ok || len(got) != 1 || time.Since(start) < time.Second {
		t.Errorf("%d events, %v", len(got), err)
	}
	if message, ok := got[0].(*a2a.Message); !ok || message.Parts[0].Text() != "hello from translator" {
		t.Errorf("the event is %+v", got[0])
	}
}

func TestErrorsOfGRPCAreTyped(t *testing.T) {
	t.Parallel()
	a := &grpcAgent{}
	p := serveGRPC(t, a)
	for code, want := range map[codes.Code]int{
		codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.ResourceExhausted: 429, codes.Unavailable: 503,
	} {
		a.refuseWith(status.Error(code, "no\nmore"))
		refused, ok := errors.AsType[*HTTPError](getTask(t, p))
		if !ok || refused.Status != want || refused.Message != "no more" {
			t.Errorf("%s: %v", code, refused)
		}
		if _, err := stream(t, p); !errors.As(err, &refused) || refused.Status != want {
			t.Errorf("%s: the error of a stream is %v", code, err)
		}
	}
	if err := callError(status.Error(codes.Unavailable, "connection error: refused"), 1); !isNet(err) {
		t.Errorf("error is %v", err)
	}
	if err := callError(status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), 1); !errors.As(err, new(*TooLargeError)) {
		t.Errorf("error is %v", err)
	}
	plain := errors.New("x")
	if !errors.Is(callError(plain, 1), plain) || callError(nil, 1) != nil {
		t.Error("other errors change")
	}
}

func isNet(err error) bool {
	_, ok := errors.AsType[net.Error](err)
	return ok
}
