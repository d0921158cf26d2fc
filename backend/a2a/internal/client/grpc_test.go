package client

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestAnAgentIsReachedOverGRPC(t *testing.T) {
	t.Parallel()
	a := &peertest.GRPCAgent{}
	p := reach(t, peertest.ServeGRPC(t, a))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "cookie", "inbound", "authorization", "inbound")
	conn, err := p.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Client.GetTask(ctx, &a2a.GetTaskRequest{ID: "x"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("error is %v", err)
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if len(a.Seen) != 2 {
		t.Fatalf("%d calls; a refused token is replaced once", len(a.Seen))
	}
	for _, md := range a.Seen {
		if len(md.Get("cookie")) != 0 || strings.Join(md.Get("authorization"), "") == "inbound" {
			t.Errorf("inbound credentials went on: %v", md)
		}
	}
	if got := a.Seen[1].Get("A2A-Version"); len(got) != 1 || got[0] != "1.0" {
		t.Errorf("the version is %q", got)
	}
}

func TestAStreamOverGRPCMayNotBeSilent(t *testing.T) {
	t.Parallel()
	a := &peertest.GRPCAgent{}
	p := reach(t, peertest.ServeGRPC(t, a))
	_ = getTask(t, p) // sets the token to token-2
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
	a := &peertest.GRPCAgent{}
	p := reach(t, peertest.ServeGRPC(t, a))
	for code, want := range map[codes.Code]int{
		codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.ResourceExhausted: 429, codes.Unavailable: 503,
	} {
		a.RefuseWith(status.Error(code, "no\nmore"))
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
