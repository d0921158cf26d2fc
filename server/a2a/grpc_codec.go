package a2a

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// steadyCodec encodes the maps of a message in key order, so that all receivers of a message get
// the same bytes. Otherwise it is gRPC's codec.
type steadyCodec struct{ encoding.CodecV2 }

func newSteadyCodec() steadyCodec { return steadyCodec{encoding.GetCodecV2(grpcproto.Name)} }

// Marshal encodes a message.
func (c steadyCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}
