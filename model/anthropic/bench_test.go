package anthropic

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

// perDelta reports the time of one piece of text.
func perDelta(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
}

// BenchmarkLoopback streams an answer of 50 deltas over loopback.
func BenchmarkLoopback(b *testing.B) {
	answer := answerWith(bytes.SplitAfter(benchmarkStream(), []byte("\n\n"))...)
	e := serveAt(b, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	})
	req := hello()
	b.ReportAllocs()
	for b.Loop() {
		drainStream(b, e, req)
	}
	perDelta(b)
}

// BenchmarkStream is the same without a network: what is left is ours and the
// SDK's.
func BenchmarkStream(b *testing.B) {
	stream := benchmarkStream()
	e := offline(b, Config{}, func(r *http.Request) (*http.Response, error) {
		return streamResponse(r, io.NopCloser(bytes.NewReader(stream))), nil
	})
	req := hello()
	b.ReportAllocs()
	for b.Loop() {
		drainStream(b, e, req)
	}
	perDelta(b)
}

// BenchmarkEncode encodes a conversation of 101 messages with 20 tools that are
// known and an answer of a given form.
func BenchmarkEncode(b *testing.B) {
	e := offline(b, Config{}, nil)
	req := &model.Request{Model: "claude-opus-5-5", Cache: true, Messages: []model.Message{model.System("Be brief.")}}
	for range 50 {
		req.Messages = append(req.Messages, model.User(strings.Repeat("hello ", 80)), model.Assistant(strings.Repeat("well ", 80)))
	}
	for i := range 20 {
		req.Tools = append(req.Tools, model.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("what it does ", 10),
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 500) + `"}}}`),
		})
	}
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
	b.ReportAllocs()
	for b.Loop() {
		p, err := e.plan(req, concessions{})
		if err != nil {
			b.Fatal(err)
		}
		body, err := p.encode()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
