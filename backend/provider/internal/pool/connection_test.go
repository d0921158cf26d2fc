package pool

import (
	"log/slog"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
)

// holdReady blocks a usable connection before it is reported ready. gRPC lets calls use the
// connection first, so a waiting thread has the same effect.
var holdReady chan struct{}

const holdingName = "pick_first_and_hold"

func init() { balancer.Register(holdingBuilder{balancer.Get(pickfirst.Name)}) }

type holdingBuilder struct{ balancer.Builder }

func (holdingBuilder) Name() string { return holdingName }

func (b holdingBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return b.Builder.Build(holdingConn{cc}, opts)
}

type holdingConn struct{ balancer.ClientConn }

func (c holdingConn) UpdateState(s balancer.State) {
	if s.ConnectivityState == connectivity.Ready {
		c.ClientConn.UpdateState(balancer.State{ConnectivityState: connectivity.Connecting, Picker: s.Picker})
		<-holdReady
	}
	c.ClientConn.UpdateState(s)
}

func TestAConnectionThatIsNotMadeYetIsNotTakenForBroken(t *testing.T) {
	at := (&providertest.Provider{Capabilities: new(providerproto.AgentProviderCapabilities)}).Serve(t)
	holdReady = make(chan struct{})
	conn, err := dialProvider(at.Provider, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"`+holdingName+`": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := Settings{Logger: slog.New(slog.DiscardHandler)}
	identified := make(chan error, 1)
	go func() { identified <- s.identifyProvider(t.Context(), conn) }()
	select {
	case err := <-identified:
		close(holdReady)
		t.Fatalf("the provider was identified over a connection that is %s: %v", conn.GetState(), err)
	case <-time.After(50 * time.Millisecond):
	}
	close(holdReady)
	if err := <-identified; err != nil {
		t.Fatal(err)
	}
	broken, stop := watchConnection(t.Context(), conn)
	defer stop()
	if _, err := s.prepareProvider(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	select {
	case <-broken:
		t.Error("the connection is taken for broken")
	default:
	}
}
