package vendortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// Benchmark measures reading a stream of text pieces: over loopback, and without a network, which
// leaves only our costs and the SDK's.
func (v *Vendor) Benchmark(b *testing.B, stream []byte, pieces int) {
	b.Run("loopback", func(b *testing.B) {
		baseURL, transport := Listen(b, Answer(splitEvents(stream)...))
		v.drainStream(b, v.newExecutor(b, Access{APIKey: v.Key, BaseURL: baseURL}, transport), pieces)
	})
	b.Run("replay", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		v.drainStream(b, v.Offline(b, func(r *http.Request) (*http.Response, error) {
			return StreamResponse(r, bytes.NewReader(stream)), nil
		}), pieces)
	})
}

func (v *Vendor) drainStream(b *testing.B, e model.Executor, pieces int) {
	req := v.helloRequest()
	b.ReportAllocs()
	for b.Loop() {
		texts := 0
		for ev, err := range e.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if ev.Type == model.EventText {
				texts++
			}
		}
		if texts != pieces {
			b.Fatalf("%d pieces arrive, want %d", texts, pieces)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pieces), "ns/piece")
}

// LongConversation returns a request of 101 messages and 20 large tools for benchmarks.
func LongConversation(name string) *model.Request {
	req := &model.Request{Model: name, Messages: []model.Message{model.System("Be brief.")}}
	for range 50 {
		req.Messages = append(req.Messages, model.User(strings.Repeat("hello ", 80)), model.Assistant(strings.Repeat("well ", 80)))
	}
	for i := range 20 {
		req.Tools = append(req.Tools, model.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("what it does ", 10),
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 500) + `"}}}`),
		})
	}
	return req
}
