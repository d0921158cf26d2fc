package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// deltas is the number of pieces of text in a benchmark's stream.
const deltas = 50

func benchmarkStream(api API) []byte {
	var b strings.Builder
	event := func(name, data string) {
		if api == Responses {
			fmt.Fprintf(&b, "event: %s\n", name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	for i := range deltas {
		if api == Responses {
			event("response.output_text.delta", fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_68f0c1","output_index":0,"content_index":0,"delta":" word%d","logprobs":[],"obfuscation":"x7Qp2k"}`, i, i))
			continue
		}
		event("", fmt.Sprintf(`{"id":"chatcmpl-9x","object":"chat.completion.chunk","created":1760000000,"model":"gpt-6-astra","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null}`, i))
	}
	if api == Responses {
		event("response.completed", `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":50}}}`)
		return []byte(b.String())
	}
	event("", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	event("", `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":50}}`)
	event("", "[DONE]")
	return []byte(b.String())
}

// BenchmarkStream streams an answer of 50 deltas.
func BenchmarkStream(b *testing.B) {
	for api, v := range vendors {
		b.Run(string(api), func(b *testing.B) { v.Benchmark(b, benchmarkStream(api), deltas) })
	}
}

// BenchmarkEncode encodes a long conversation with cached tools.
func BenchmarkEncode(b *testing.B) {
	for _, api := range []API{Responses, ChatCompletions} {
		b.Run(string(api), func(b *testing.B) {
			e := offline(b, Config{API: api}, nil)
			req := vendortest.LongConversation(testModel)
			b.ReportAllocs()
			for b.Loop() {
				body, err := e.encodeRequest(req, concessions{})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
