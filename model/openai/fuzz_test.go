package openai

import (
	"bytes"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// FuzzChatCompletions feeds arbitrary Chat Completions stream bytes to the translator. Whatever a
// server sends, there is no panic, the events are in order, and the answer ends once: with one
// finish or one error. Run it with -fuzzminimizetime 1x: the coverage of the HTTP client varies
// between runs, which keeps the minimizer busy needlessly.
func FuzzChatCompletions(f *testing.F) { fuzzStream(f, ChatCompletions) }

// FuzzResponses does the same with streams of Responses.
func FuzzResponses(f *testing.F) { fuzzStream(f, Responses) }

func fuzzStream(f *testing.F, api API) {
	v := vendors[api]
	for _, stream := range v.AllRecorded(f) {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		events, _ := vendortest.Ask(t, v.Replay(t, bytes.NewReader(stream)), hello())
		for _, ev := range events {
			if ev.Type == model.EventToolCallStart && ev.ID == "" {
				t.Errorf("call %d starts without an id", ev.Index)
			}
		}
	})
}
