package a2a_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// asReceived is the codec of a client that keeps the bytes of answers as they came.
type asReceived struct{}

func (asReceived) Name() string { return "proto" }

func (asReceived) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return proto.Marshal(m)
}

func (asReceived) Unmarshal(data []byte, v any) error {
	kept, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T keeps no bytes", v)
	}
	*kept = bytes.Clone(data)
	return nil
}

// subscriber is a stream of bytes about a task.
type subscriber struct {
	t      *testing.T
	stream grpc.ClientStream
}

func (w *world) subscribe(t *testing.T, conn *grpc.ClientConn, id a2a.TaskID) *subscriber {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer alice", "a2a-version", "1.0", "a2a-extensions", a2awire.Extension)
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, apb.A2AService_SubscribeToTask_FullMethodName, grpc.ForceCodec(asReceived{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SendMsg(&apb.SubscribeToTaskRequest{Tenant: "clerk", Id: string(id)}), s.CloseSend()); err != nil {
		t.Fatal(err)
	}
	return &subscriber{t, s}
}

// next returns the bytes of the next event; nil at the end.
func (s *subscriber) next() []byte {
	s.t.Helper()
	var data []byte
	err := s.stream.RecvMsg(&data)
	if err != nil && !errors.Is(err, io.EOF) {
		s.t.Fatal(err)
	}
	return data
}

// An event has the same bytes for all who follow a task, whatever order the maps in it
// are walked in.
func TestEverySubscriberOverGRPCGetsTheSameBytes(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who?"), says("hello"))
	conn, err := grpc.NewClient(w.surface.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := w.client("alice", "clerk", a2a.TransportProtocolGRPC)
	for range 5 { // maps of one entry have one order, and those of two often the same
		task := send(t, c, request(user("ask")))
		one, two := w.subscribe(t, conn, task.ID), w.subscribe(t, conn, task.ID)
		first, second := [][]byte{one.next()}, [][]byte{two.next()} // each is subscribed now
		send(t, c, atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me"))))
		for data := one.next(); data != nil; data = one.next() {
			first = append(first, data)
		}
		for data := two.next(); data != nil; data = two.next() {
			second = append(second, data)
		}
		if slices.EqualFunc(first, second, bytes.Equal) {
			continue
		}
		for i := range min(len(first), len(second)) {
			a, b := new(apb.StreamResponse), new(apb.StreamResponse)
			if err := errors.Join(proto.Unmarshal(first[i], a), proto.Unmarshal(second[i], b)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first[i], second[i]) {
				t.Errorf("event %d has other bytes, and means the same: %v", i, proto.Equal(a, b))
			}
		}
		if len(first) != len(second) {
			t.Errorf("one gets %d events, the other %d", len(first), len(second))
		}
	}
}
