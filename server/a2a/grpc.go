package a2a

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	a2alog "github.com/a2aproject/a2a-go/v2/log"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// The gRPC limits for idle connections, and for concurrent requests on one connection.
const (
	grpcPing      = 30 * time.Second
	grpcPingWait  = 20 * time.Second
	grpcHandshake = 10 * time.Second
	grpcRequests  = 256
)

// grpcServer serves gRPC at a separate address.
type grpcServer struct {
	server   *Server
	grpc     *grpc.Server
	listener net.Listener
	// streams is canceled to end all streams.
	streams context.Context
	end     context.CancelCauseFunc
}

func newGRPCServer(s *Server) *grpcServer {
	g := &grpcServer{server: s}
	g.streams, g.end = context.WithCancelCause(context.Background())
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(s.settings.MaxBody)), grpc.ConnectionTimeout(grpcHandshake), grpc.MaxConcurrentStreams(grpcRequests),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: grpcPing, Timeout: grpcPingWait}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: grpcPing / 3, PermitWithoutStream: true}),
		grpc.StreamInterceptor(g.serveStream), grpc.ForceServerCodecV2(newSteadyCodec()),
	}
	if s.settings.GRPCTLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.settings.GRPCTLS)))
	}
	g.grpc = grpc.NewServer(options...)
	services := streamRegistrar{g.grpc}
	apb.RegisterA2AServiceServer(services, a2agrpc.NewHandler(grpcHandler{s.handler}))
	if s.settings.V03 {
		a2apb.RegisterA2AServiceServer(services, a2agrpcv0.NewHandler(grpcHandler{s.handler}))
	}
	return g
}

// grpcHandler is the handler over gRPC.
type grpcHandler struct{ *handler }

// GetExtendedAgentCard returns the card in the form that the SDK converts to protobuf, which has
// the OAuth flows as pointers; its JSON requires values.
func (h grpcHandler) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	card, err := h.handler.GetExtendedAgentCard(ctx, req)
	if err != nil {
		return nil, err
	}
	for name, scheme := range card.SecuritySchemes {
		oauth, ok := scheme.(a2a.OAuth2SecurityScheme)
		if !ok {
			continue
		}
		if flow, ok := oauth.Flows.(a2a.ClientCredentialsOAuthFlow); ok {
			oauth.Flows = &flow
			card.SecuritySchemes[name] = oauth
		}
	}
	return card, nil
}

// streamRegistrar registers unary methods as streams with one response, which clients cannot tell
// apart. For a unary method grpc-go decodes the whole request before interceptors run; a stream
// receives it after they admitted the caller. It is marked as a server stream because
// interceptors would otherwise be skipped.
type streamRegistrar struct{ grpc *grpc.Server }

// RegisterService registers a service.
func (r streamRegistrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	streams := *desc
	streams.Methods, streams.Streams = nil, slices.Clone(desc.Streams)
	for _, method := range desc.Methods {
		streams.Streams = append(streams.Streams, grpc.StreamDesc{StreamName: method.MethodName, ServerStreams: true, Handler: func(srv any, stream grpc.ServerStream) error {
			answer, err := method.Handler(srv, stream.Context(), stream.RecvMsg, nil)
			if err != nil {
				return err
			}
			return stream.SendMsg(answer)
		}})
	}
	r.grpc.RegisterService(&streams, impl)
}

// Listen opens the gRPC address, if there is one.
func (s *Server) Listen(ctx context.Context) error {
	if s.grpc == nil {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.settings.GRPC)
	if err != nil {
		return fmt.Errorf("listen for gRPC: %w", err)
	}
	s.grpc.listener = l
	return nil
}

// Serve answers gRPC requests until ctx ends, and then accepts no more.
func (s *Server) Serve(ctx context.Context) error {
	if s.grpc == nil {
		<-ctx.Done()
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- s.grpc.grpc.Serve(s.grpc.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve gRPC: %w", err)
	case <-ctx.Done():
	}
	_ = s.grpc.listener.Close() // which is why it ends
	s.settings.Logger.Debug("gRPC takes no more connections", zap.Error(<-ended))
	return nil
}

// Shutdown ends the gRPC streams, waits for active requests until ctx ends, and then aborts them.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.grpc == nil {
		return nil
	}
	g := s.grpc
	g.end(server.ErrDraining)
	if g.listener != nil {
		_ = g.listener.Close() // already closed if Serve ran
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.grpc.GracefulStop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	g.grpc.Stop()
	<-done
	return server.ErrCutShort
}

// GRPCAddr returns the gRPC address; empty before Listen.
func (s *Server) GRPCAddr() string {
	if s.grpc == nil || s.grpc.listener == nil {
		return ""
	}
	return s.grpc.listener.Addr().String()
}

func (g *grpcServer) listenerPort() string {
	if g.listener == nil {
		return ""
	}
	_, port, err := net.SplitHostPort(g.listener.Addr().String())
	if err != nil {
		return ""
	}
	return port
}

// tenanted is a request that names the tenant, which is the agent.
type tenanted interface{ GetTenant() string }

// serveStream admits a request before its message is received.
func (g *grpcServer) serveStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	x := &grpcExchange{method: info.FullMethod, began: time.Now()}
	defer func() { x.logRequest(g.server.settings.Logger, err) }()
	defer g.recoverPanic(info.FullMethod, &err)
	ctx, end, err := g.beginRequest(ss.Context(), x)
	if err != nil {
		return err
	}
	defer end()
	return grpcOutage(ctx, handle(srv, &boundedStream{ServerStream: ss, ctx: ctx, server: g.server}))
}

// recoverPanic converts a panic to an internal error.
func (g *grpcServer) recoverPanic(method string, err *error) {
	if p := panics.Caught(recover()); p != nil {
		g.server.settings.Logger.Error("a gRPC request panicked", zap.String("method", method), zap.Error(p), zap.ByteString("stack", p.Stack))
		*err = status.Error(codes.Internal, errInternal.Message)
	}
}

// beginRequest authenticates the caller and reads the request's metadata.
func (g *grpcServer) beginRequest(ctx context.Context, x *grpcExchange) (_ context.Context, end func(), err error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	header := headerOf(incoming)
	r := requestOf(ctx, x.method, incoming, header)
	x.client = server.ClientOf(r)
	principal, err := g.authenticateRequest(r, x)
	if err != nil {
		return nil, nil, err
	}
	leave, err := g.countRequest(principal)
	if err != nil {
		return nil, nil, err
	}
	e := &envelope{spoken: v10, asked: majorMinor(header.Get(a2a.SvcParamVersion)), extended: splitExtensions(header)}
	if strings.HasPrefix(x.method, "/a2a.v1.") { // the version 0.3 package
		e.spoken = v03
	}
	if e.asked == "" {
		e.asked = e.spoken // from the service's name
	}
	ctx = a2alog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
	ctx = server.WithPrincipal(telemetry.Extract(ctx, header), principal)
	ctx, cancel := context.WithCancelCause(withEnvelope(ctx, e))
	unlink := context.AfterFunc(g.streams, func() { cancel(server.ErrDraining) })
	return ctx, func() { unlink(); cancel(nil); leave() }, nil
}

// authenticateRequest identifies the caller and checks its access. The error is a gRPC error.
func (g *grpcServer) authenticateRequest(r *http.Request, x *grpcExchange) (*server.Principal, error) {
	principal, err := g.server.settings.Authenticator.Authenticate(r)
	if err != nil {
		x.problem = err.Error()
	}
	bad, isBad := errors.AsType[*server.CredentialError](err)
	switch {
	case isBad:
		x.keyID = bad.KeyID
		return nil, status.Error(codes.Unauthenticated, errNobody.Message)
	case errors.Is(err, server.ErrForeignSite):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case err != nil || principal == nil:
		return nil, status.Error(codes.Unavailable, "the credential cannot be checked now")
	}
	x.keyID = principal.KeyID
	if !principal.Caller.HasScope(g.server.settings.Scope) {
		x.problem = "the credential lacks the scope " + g.server.settings.Scope
		return nil, status.Error(codes.PermissionDenied, x.problem)
	}
	return principal, nil
}

// countRequest counts the request of a principal, or rejects it if over the limit.
func (g *grpcServer) countRequest(principal *server.Principal) (leave func(), err error) {
	if g.server.settings.Enter == nil {
		return func() {}, nil
	}
	leave, err = g.server.settings.Enter(principal)
	if err == nil {
		return leave, nil
	}
	if limited, ok := errors.AsType[*server.RateError](err); ok {
		return nil, retryLater(codes.ResourceExhausted, err.Error(), limited.RetryAfter)
	}
	return nil, status.Error(codes.ResourceExhausted, err.Error())
}

// noteTenant records the agent that a request is for. The SDK passes the tenant on only for some
// methods.
func noteTenant(ctx context.Context, s *Server, req any) {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if !ok {
		return
	}
	if t, ok := req.(tenanted); ok {
		e.agent = t.GetTenant()
	}
	if e.agent == "" {
		e.agent = s.defaultAgent()
	}
}

// headerOf returns metadata as the header of a request.
func headerOf(md metadata.MD) http.Header {
	h := make(http.Header, len(md))
	for key, values := range md {
		if !strings.HasPrefix(key, ":") {
			h[http.CanonicalHeaderKey(key)] = values
		}
	}
	return h
}

// requestOf returns the request to pass to an authenticator.
func requestOf(ctx context.Context, method string, md metadata.MD, header http.Header) *http.Request {
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: method}, Header: header, Body: http.NoBody}
	if authority := md.Get(":authority"); len(authority) > 0 {
		r.Host = authority[0]
	}
	if p, ok := peer.FromContext(ctx); ok {
		r.RemoteAddr = p.Addr.String()
	}
	return r.WithContext(ctx)
}

// errStalled ends a stream whose client does not read.
var errStalled = status.Error(codes.DeadlineExceeded, "the client did not take the message in time")

// boundedStream is a stream whose client must receive each message in time.
type boundedStream struct {
	grpc.ServerStream
	ctx    context.Context
	server *Server
}

// Context returns the context of the request.
func (b *boundedStream) Context() context.Context { return b.ctx }

// RecvMsg receives the request and records its agent.
func (b *boundedStream) RecvMsg(m any) error {
	err := b.ServerStream.RecvMsg(m)
	if err == nil {
		noteTenant(b.ctx, b.server, m)
	}
	return err
}

// SendMsg sends a message. Its goroutine ends when the message was sent, or with
// the stream, which the error ends.
func (b *boundedStream) SendMsg(m any) error {
	markFinal(m)
	sent := make(chan error, 1)
	go func() { sent <- b.ServerStream.SendMsg(m) }()
	timer := time.NewTimer(b.server.settings.WriteTimeout)
	defer timer.Stop()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		b.server.settings.Logger.Debug("a client of gRPC takes nothing in; its stream ends")
		return errStalled
	}
}

// markFinal marks the last status of a stream of version 0.3, which the SDK does only for JSON-RPC.
func markFinal(m any) {
	r, ok := m.(*a2apb.StreamResponse)
	if update := r.GetStatusUpdate(); ok && update != nil {
		switch update.GetStatus().GetState() {
		case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELLED,
			a2apb.TaskState_TASK_STATE_REJECTED, a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
			update.Final = true
		}
	}
}
