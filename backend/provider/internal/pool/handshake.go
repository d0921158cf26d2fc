package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// maxMessage bounds an answer of a provider, in bytes.
const maxMessage = 64 << 20

// dialProvider returns a connection to a provider, which connects on first use. Its own options
// follow more.
func dialProvider(address string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithUnaryInterceptor(callInTrace),
		grpc.WithNoProxy(), grpc.WithIdleTimeout(0), // so that a connection that is not ready is lost
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, Jitter: 0.1, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))...)
}

// boundless marks the context of a call without a time limit.
type boundless struct{}

// WithoutTimeout returns a context whose calls to a provider are limited only by the context.
func WithoutTimeout(ctx context.Context) context.Context {
	return context.WithValue(ctx, boundless{}, true)
}

// callInTrace makes a call within its time limit and as a part of its trace.
func callInTrace(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	md, _ := metadata.FromOutgoingContext(ctx)
	if md = md.Copy(); md == nil {
		md = metadata.MD{}
	}
	telemetry.InjectMetadata(ctx, md)
	ctx = metadata.NewOutgoingContext(ctx, md)
	if ctx.Value(boundless{}) == nil {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		ctx = limited
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// identifyProvider requests a provider's identity, and returns once the connection is
// established.
func (s *Settings) identifyProvider(ctx context.Context, conn *grpc.ClientConn) error {
	identity, err := providerproto.NewProviderLifecycleClient(conn).GetProviderIdentity(ctx, &emptypb.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("identify the provider: %w", err)
	}
	if identity.GetKind() != providerproto.ProviderKind_PROVIDER_KIND_AGENT {
		return fmt.Errorf("the provider is of kind %s, not an agent provider", identity.GetKind())
	}
	if low, high := identity.GetMinProtocolVersion(), identity.GetMaxProtocolVersion(); low > protocolVersion || high < protocolVersion {
		return fmt.Errorf("the provider speaks versions %d to %d of the protocol; this runtime speaks version %d", low, high, protocolVersion)
	}
	for _, w := range identity.GetWarnings() {
		s.Logger.Warn("provider warning", "text", w)
	}
	return awaitConnected(ctx, conn)
}

// awaitConnected waits until a used connection reports that it is ready: calls can be made and
// answered before it does.
func awaitConnected(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect() // if it broke meanwhile
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) {
			return fmt.Errorf("connect to the provider: %w", context.Cause(ctx))
		}
	}
	return nil
}

// prepareProvider configures a provider, waits until it is ready, and returns its capabilities.
func (s *Settings) prepareProvider(ctx context.Context, conn *grpc.ClientConn) (*providerproto.AgentProviderCapabilities, error) {
	life := providerproto.NewProviderLifecycleClient(conn)
	if err := s.configure(ctx, life); err != nil {
		return nil, err
	}
	if err := awaitReady(ctx, life); err != nil {
		return nil, err
	}
	return capabilitiesOf(ctx, conn)
}

// configure sends the provider its configuration and starts it.
func (s *Settings) configure(ctx context.Context, life providerproto.ProviderLifecycleClient) error {
	limited, cancel := context.WithTimeout(ctx, configureTimeout)
	defer cancel()
	reply, err := life.ConfigureProvider(limited, &providerproto.ConfigureProviderRequest{Name: s.Name, Config: s.Config, ProtocolVersion: protocolVersion})
	if err != nil {
		return fmt.Errorf("configure the provider: %w", err)
	}
	if v := reply.GetProtocolVersion(); v != protocolVersion {
		return fmt.Errorf("the provider answers with version %d of the protocol; this runtime speaks version %d", v, protocolVersion)
	}
	if _, err := life.StartProvider(ctx, &emptypb.Empty{}); err != nil && status.Code(err) != codes.Unimplemented {
		return fmt.Errorf("start the provider: %w", err)
	}
	return nil
}

// awaitReady waits until the provider is ready.
func awaitReady(ctx context.Context, life providerproto.ProviderLifecycleClient) error {
	for {
		health, err := life.HealthCheck(ctx, &emptypb.Empty{})
		if err != nil {
			return fmt.Errorf("check the health of the provider: %w", err)
		}
		if health.GetReady() {
			return nil
		}
		if wait.For(ctx, readyPoll) != nil {
			return fmt.Errorf("the provider is not ready (%s): %w", health.GetMessage(), context.Cause(ctx))
		}
	}
}

// capabilitiesOf requests a provider's capabilities. A provider that does not implement the
// method has none.
func capabilitiesOf(ctx context.Context, conn *grpc.ClientConn) (*providerproto.AgentProviderCapabilities, error) {
	can, err := providerproto.NewAgentProviderClient(conn).GetCapabilities(ctx, &providerproto.GetAgentProviderCapabilitiesRequest{})
	if status.Code(err) == codes.Unimplemented {
		return new(providerproto.AgentProviderCapabilities), nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the provider for its capabilities: %w", err)
	}
	return can, nil
}
