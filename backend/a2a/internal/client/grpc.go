package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/internal/netguard"
)

// grpcConnections are a peer's gRPC connections by address. They outlive the cards that name them.
type grpcConnections struct {
	guard *netguard.Guard
	// http sends the requests of the other transports, with the same credential and limits.
	http *transport
	// roots are the accepted certificate authorities; nil means the system's.
	roots *x509.CertPool

	mu   sync.Mutex
	open map[string]*grpc.ClientConn
}

// transportTo returns the SDK's transport for a URL.
func (g *grpcConnections) transportTo(to *url.URL) a2aclient.FactoryOption {
	return a2aclient.WithTransport(a2a.TransportProtocolGRPC, a2aclient.TransportFactoryFn(
		func(context.Context, *a2a.AgentCard, *a2a.AgentInterface) (a2aclient.Transport, error) {
			conn, err := g.connectionTo(to)
			if err != nil {
				return nil, err
			}
			return shared{a2agrpc.NewGRPCTransport(conn)}, nil
		}))
}

// shared is a transport whose connection is shared.
type shared struct{ a2aclient.Transport }

// Destroy leaves the connection open.
func (shared) Destroy() error { return nil }

// connectionTo returns the connection to a URL's host, which is created on first use.
func (g *grpcConnections) connectionTo(to *url.URL) (*grpc.ClientConn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := Origin(to)
	if conn, ok := g.open[key]; ok {
		return conn, nil
	}
	security := insecure.NewCredentials()
	if to.Scheme == "https" {
		security = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: g.roots})
	}
	limit := int(min(g.http.limits.answer, math.MaxInt32))
	conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(key, to.Scheme+"://"),
		grpc.WithTransportCredentials(security),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return g.guard.DialContext(ctx, "tcp", address)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit)),
		grpc.WithUserAgent(userAgent),
		grpc.WithChainUnaryInterceptor(g.callUnary),
		grpc.WithChainStreamInterceptor(g.startStream),
	)
	if err != nil {
		return nil, err
	}
	g.open[key] = conn
	return conn, nil
}

// close closes all connections.
func (g *grpcConnections) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(g.open)) {
		errs = append(errs, g.open[key].Close())
	}
	clear(g.open)
	return errors.Join(errs...)
}

// callUnary makes a call with the peer's credential. A rejected token is replaced once. The call
// fails if no response arrives for too long, unless the response follows only after the work.
func (g *grpcConnections) callUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, w := newWatch(ctx, g.http.limits.idle)
	defer w.stop()
	if marked, _ := ctx.Value(slowKey{}).(bool); !marked {
		w.start()
	}
	try := func() (used string, err error) {
		called, used, err := g.dressCall(ctx)
		if err != nil {
			return "", err
		}
		return used, invoke(called, method, req, reply, cc, opts...)
	}
	used, err := try()
	if status.Code(err) == codes.Unauthenticated && g.http.auth.Renew(ctx, used) {
		_, err = try()
	}
	return callError(w.explainError(err), g.http.limits.answer)
}

// startStream starts a stream with the peer's credential. It ends if nothing arrives for too long.
func (g *grpcConnections) startStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, w := newWatch(ctx, g.http.limits.idle)
	w.start()
	called, used, err := g.dressCall(ctx)
	if err != nil {
		w.stop()
		return nil, err
	}
	stream, err := begin(called, desc, cc, method, opts...)
	if err != nil {
		err = w.explainError(err)
		w.stop()
		return nil, callError(err, g.http.limits.answer)
	}
	return &grpcStream{ClientStream: stream, watch: w, limit: g.http.limits.answer, refused: func() bool { return g.http.auth.Renew(ctx, used) }}, nil
}

// grpcStream is a stream under a watch.
type grpcStream struct {
	grpc.ClientStream
	watch *watch
	limit int64
	// refused is called when the server rejects the credential, and reports whether the next call
	// has another one.
	refused func() bool
}

// RecvMsg receives an event.
func (s *grpcStream) RecvMsg(m any) error {
	s.watch.start()
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.watch.start()
		return nil
	}
	renewed := status.Code(err) == codes.Unauthenticated && s.refused() // while the context lasts
	err = s.watch.explainError(err)
	s.watch.stop()
	err = callError(err, s.limit)
	if refused, ok := errors.AsType[*HTTPError](err); ok {
		refused.renewed = renewed
	}
	return err
}

// callError converts the error of a call to the form of the other transports, since the SDK would
// lose its details.
func callError(err error, limit int64) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	refused := &HTTPError{Message: CleanText(s.Message(), MaxShown)}
	switch s.Code() {
	case codes.Unauthenticated:
		refused.Status, refused.Err = http.StatusUnauthorized, a2a.ErrUnauthenticated
	case codes.PermissionDenied:
		refused.Status, refused.Err = http.StatusForbidden, a2a.ErrUnauthorized
	case codes.ResourceExhausted:
		if strings.HasPrefix(s.Message(), "grpc: received message") {
			return &TooLargeError{What: "an answer", Limit: limit}
		}
		refused.Status = http.StatusTooManyRequests
	case codes.Unavailable:
		if strings.HasPrefix(s.Message(), "connection error") {
			return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(refused.Message)}
		}
		refused.Status = http.StatusServiceUnavailable
	default:
		return err
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			refused.RetryAfter = min(max(info.GetRetryDelay().AsDuration(), 0), maxRetryAfter)
		}
	}
	return refused
}

// dressCall returns a call's context with its trace and the peer's credential, and without the
// metadata of a call to this runtime.
func (g *grpcConnections) dressCall(ctx context.Context) (called context.Context, used string, err error) {
	req := (&http.Request{Header: http.Header{}, URL: &url.URL{}}).WithContext(ctx)
	used, err = g.http.auth.Set(req)
	if err != nil {
		return nil, "", err
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	sent, _ := metadata.FromOutgoingContext(ctx)
	sent = sent.Copy()
	for _, name := range []string{"authorization", "cookie", "baggage"} {
		sent.Delete(name)
	}
	for name, values := range req.Header {
		sent.Set(name, values...)
	}
	return metadata.NewOutgoingContext(ctx, sent), used, nil
}
