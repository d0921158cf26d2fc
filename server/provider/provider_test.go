package provider

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/failuretest"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newServer(component.ProviderSettings{Logger: zap.NewNop()}, nil)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	health, err := pb.NewProviderLifecycleClient(conn).HealthCheck(t.Context(), &emptypb.Empty{}, grpc.WaitForReady(true))
	if err != nil || health.GetReady() {
		t.Errorf("before the configuration it is %v, %v", health, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serving ends with %v", err)
	}
}

func TestErrorsHaveTheCodeOfTheirClass(t *testing.T) {
	t.Parallel()
	s := newServer(component.ProviderSettings{Logger: zap.NewNop()}, nil)
	for _, c := range failuretest.All() {
		if got := status.Code(s.toStatus(t.Context(), "m", c.Err)); got == codes.OK || got == codes.Unknown {
			t.Errorf("%s is %s", c.Name, got)
		}
	}
	known := status.Error(codes.NotFound, "x")
	if got := s.toStatus(t.Context(), "m", known); !errors.Is(got, known) {
		t.Errorf("a known error is %v", got)
	}
}

func TestToolsHaveNamesThatModelsTake(t *testing.T) {
	t.Parallel()
	taken := make(map[string]bool)
	long := "a12345678901234567890123456789012345678901234567890123456789012345"
	for _, tt := range []struct{ name, want string }{
		{"roadmap__push", "roadmap__push"}, {"roadmap__push", "roadmap__push_2"}, {"a.b/c d", "a_b_c_d"}, {"", "tool"}, {long, long[:64]}, {long, long[:62] + "_2"},
	} {
		if got := toolName(&pb.ListedAgentTool{McpName: tt.name}, taken); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAnnotationsDecideAboutTheEffect(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for want, hints := range map[tools.Effect]*pb.OperationAnnotations{
		tools.Once: nil, tools.Read: {ReadOnlyHint: &yes, IdempotentHint: &no}, tools.Idempotent: {IdempotentHint: &yes, DestructiveHint: &yes},
	} {
		if got := newTool(nil, nil, &pb.ListedAgentTool{Annotations: hints}).Descriptor().Effect; got != want {
			t.Errorf("%v gives %s, want %s", hints, got, want)
		}
	}
}

func TestAddressesOfHosts(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/run/h.sock": "unix:/run/h.sock", "unix:/run/h.sock": "unix:/run/h.sock", "unix:///run/h.sock": "unix:/run/h.sock",
		"tcp://h:1": "dns:///h:1", "tls://h:1": "dns:///h:1", "http://h:1": "",
	} {
		h, err := newHost(address, "")
		if (err != nil) != (want == "") || err == nil && (h.target != want || h.secure != (address == "tls://h:1")) {
			t.Errorf("%s gives %+v, %v", address, h, err)
		}
	}
}
