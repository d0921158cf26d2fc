package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// deltas is the number of pieces of text in a benchmark's stream.
const deltas = 50

func benchmarkStream() []byte {
	var b strings.Builder
	event := func(name, data string) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data) }
	event("message_start", `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","content":[],"model":"claude-opus-5-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`)
	event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for i := range deltas {
		event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word%d"}}`, i))
	}
	event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":50}}`)
	event("message_stop", `{"type":"message_stop"}`)
	return []byte(b.String())
}

// BenchmarkStream streams an answer of 50 deltas.
func BenchmarkStream(b *testing.B) { vendor.Benchmark(b, benchmarkStream(), deltas) }

// BenchmarkEncode encodes a conversation of 101 messages with 20 cached tools and an output schema.
func BenchmarkEncode(b *testing.B) {
	e := offline(b, Config{}, nil)
	req := vendortest.LongConversation(testModel)
	req.Cache = true
	req.Model = reportModel
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
	b.ReportAllocs()
	for b.Loop() {
		p, err := e.planRequest(req, concessions{})
		if err != nil {
			b.Fatal(err)
		}
		body, err := p.encodeBody()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
