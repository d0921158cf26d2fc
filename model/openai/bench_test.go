package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
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

func drainStream(b *testing.B, e *Executor, req *model.Request) {
	b.Helper()
	texts := 0
	for ev, err := range e.Stream(context.Background(), req) {
		if err != nil {
			b.Fatal(err)
		}
		if ev.Type == model.EventText {
			texts++
		}
	}
	if texts != deltas {
		b.Fatalf("%d deltas arrive, want %d", texts, deltas)
	}
}

// BenchmarkLoopback streams an answer of 50 deltas over loopback.
func BenchmarkLoopback(b *testing.B) {
	for _, api := range []API{Responses, ChatCompletions} {
		b.Run(string(api), func(b *testing.B) {
			answer := answerWith(bytes.SplitAfter(benchmarkStream(api), []byte("\n\n"))...)
			e, _ := serveAt(b, Config{APIKey: testKey, API: api}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				answer(w, r)
			})
			req := hello()
			b.ReportAllocs()
			for b.Loop() {
				drainStream(b, e, req)
			}
		})
	}
}

// BenchmarkStream is the same without a network: what is left is ours and the
// SDK's.
func BenchmarkStream(b *testing.B) {
	for _, api := range []API{Responses, ChatCompletions} {
		b.Run(string(api), func(b *testing.B) {
			stream := benchmarkStream(api)
			e := offline(b, Config{API: api}, func(r *http.Request) (*http.Response, error) {
				return streamResponse(r, io.NopCloser(bytes.NewReader(stream))), nil
			})
			req := hello()
			b.ReportAllocs()
			for b.Loop() {
				drainStream(b, e, req)
			}
		})
	}
}

// longConversation is a request of 101 messages.
func longConversation() *model.Request {
	req := &model.Request{Model: "gpt-6-astra", Messages: []model.Message{model.System("Be brief.")}}
	for range 50 {
		req.Messages = append(req.Messages, model.User(strings.Repeat("hello ", 80)), model.Assistant(strings.Repeat("well ", 80)))
	}
	return req
}

// manyTools are 20 tools with schemas of some size.
func manyTools() []model.Tool {
	list := make([]model.Tool, 20)
	for i := range list {
		list[i] = model.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("what it does ", 10),
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 500) + `"}}}`),
		}
	}
	return list
}

// BenchmarkEncode encodes a long conversation with tools that are known.
func BenchmarkEncode(b *testing.B) {
	for _, api := range []API{Responses, ChatCompletions} {
		b.Run(string(api), func(b *testing.B) {
			e := offline(b, Config{API: api}, nil)
			req := longConversation()
			req.Tools = manyTools()
			b.ReportAllocs()
			for b.Loop() {
				body, err := e.encode(req, concessions{})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
