package google

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

// BenchmarkStream reads an answer of 50 chunks without a network.
func BenchmarkStream(b *testing.B) {
	stream := benchmarkStream()
	e := offline(b, Config{}, func(r *http.Request) (*http.Response, error) {
		return streamResponse(r, io.NopCloser(bytes.NewReader(stream))), nil
	})
	req := hello()
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		texts := 0
		for ev, err := range e.Stream(context.Background(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if ev.Type == model.EventText {
				texts++
			}
		}
		if texts != chunks {
			b.Fatalf("%d chunks arrive, want %d", texts, chunks)
		}
	}
}

// BenchmarkChunk translates one chunk.
func BenchmarkChunk(b *testing.B) {
	line, _, _ := bytes.Cut(benchmarkStream(), []byte("\r\n"))
	data := bytes.TrimPrefix(line, []byte("data: "))
	t := newTranslator(form{})
	b.ReportAllocs()
	for b.Loop() {
		t.out = t.out[:0]
		if err := t.translate(data); err != nil || len(t.out) != 1 {
			b.Fatal(t.out, err)
		}
	}
}

// BenchmarkEncode encodes a long conversation with tools that are known.
func BenchmarkEncode(b *testing.B) {
	req := hello()
	for range 50 {
		req.Messages = append(req.Messages, model.User(strings.Repeat("hello ", 80)), model.Assistant(strings.Repeat("well ", 80)))
	}
	for i := range 20 {
		req.Tools = append(req.Tools, model.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("what it does ", 10),
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 500) + `"}}}`),
		})
	}
	e := offline(b, Config{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		body, err := e.encode(req, formOf(req))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
