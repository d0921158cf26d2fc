package provider

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// reluctantHost denies the first calls with a code.
type reluctantHost struct {
	pb.UnimplementedAgentHostServer
	code  codes.Code
	calls atomic.Int32
}

func (h *reluctantHost) ListTools(context.Context, *pb.ListAgentToolsRequest) (*pb.ListAgentToolsResponse, error) {
	if h.calls.Add(1) <= 2 {
		return nil, status.Error(h.code, "agent provider \"clerk\" is not available for run grant")
	}
	return &pb.ListAgentToolsResponse{Tools: []*pb.ListedAgentTool{{Id: "a"}}}, nil
}

// TestAHostThatStartsIsAskedAgain has hosts that do not know the provider yet, and one that
// had time to.
func TestAHostThatStartsIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code  codes.Code
		ready time.Duration
		calls int32
	}{
		"it is not there":      {codes.Unavailable, -time.Second, 3},
		"it does not know":     {codes.PermissionDenied, time.Minute, 3},
		"it knows, and denies": {codes.PermissionDenied, -time.Second, 1},
		"it is asked wrongly":  {codes.InvalidArgument, time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := filepath.Join(t.TempDir(), "s")
			listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			host := &reluctantHost{code: tt.code}
			server := grpc.NewServer()
			pb.RegisterAgentHostServer(server, host)
			go func() { _ = server.Serve(listener) }()
			defer server.Stop()
			h, err := newHost(socket, "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			h.ready = time.Now().Add(tt.ready)
			listed, err := h.listTools(t.Context(), &hostTools{})
			if (err == nil) != (tt.calls == 3) || len(listed) != int(tt.calls/3) || host.calls.Load() != tt.calls {
				t.Errorf("after %d calls it lists %v, %v", host.calls.Load(), listed, err)
			}
		})
	}
}

// TestTheConfigurationOfAnEntry has the entry of a host that has no configuration for the
// provider, and one that has.
func TestTheConfigurationOfAnEntry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config map[string]any
		want   int
		agent  string
	}{
		{nil, 0, ""},
		{map[string]any{"agent": "clerk"}, 1, "clerk"},
		{map[string]any{"name": "clerk", "source": map[string]any{"path": "x"}, "manifestPath": "m", "config": nil}, 0, ""},
		{map[string]any{"name": "clerk", "source": map[string]any{}, "config": map[string]any{"agent": "clerk"}}, 1, "clerk"},
		{map[string]any{"model": "x"}, 1, ""},
	} {
		fields, err := structpb.NewStruct(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownConfig(fields.GetFields()); len(got) != tt.want || got["agent"].GetStringValue() != tt.agent {
			t.Errorf("%v has %v", tt.config, got)
		}
	}
}
