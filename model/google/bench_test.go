package google

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// chunks is the number of pieces of text in a benchmark's stream.
const chunks = 50

func benchmarkStream() []byte {
	var b strings.Builder
	for i := range chunks {
		finish := ""
		if i == chunks-1 {
			finish = `,"finishReason":"STOP"`
		}
		fmt.Fprintf(&b, `data: {"candidates": [{"content": {"parts": [{"text": " word%d"}],"role": "model"},"index": 0%s}],`+
			`"usageMetadata": {"promptTokenCount": 9,"candidatesTokenCount": %d,"totalTokenCount": %d,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 9}]},`+
			`"modelVersion": "gemini-3.1-flash","responseId": "rV8baYbKNcyyqtsP8ojv4Qs"}`+"\r\n\r\n", i, finish, i, i+9)
	}
	return []byte(b.String())
}

// BenchmarkStream reads an answer of 50 chunks.
func BenchmarkStream(b *testing.B) { vendor.Benchmark(b, benchmarkStream(), chunks) }

// BenchmarkChunk translates one chunk.
func BenchmarkChunk(b *testing.B) {
	line, _, _ := bytes.Cut(benchmarkStream(), []byte("\r\n"))
	data := bytes.TrimPrefix(line, []byte("data: "))
	t := &translator{}
	ev, out := &vendorhttp.ServerEvent{Data: data}, &vendorhttp.Batch{}
	b.ReportAllocs()
	for b.Loop() {
		out.Events = out.Events[:0]
		if _, err := t.Translate(ev, out); err != nil || len(out.Events) != 1 {
			b.Fatal(out.Events, err)
		}
	}
}

// BenchmarkEncode encodes a long conversation with cached tools.
func BenchmarkEncode(b *testing.B) {
	req := vendortest.LongConversation(newModel)
	e := offline(b, Config{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		body, err := e.encodeRequest(req, formOf(req), thinkingSupport{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
