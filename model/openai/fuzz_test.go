package openai

import (
	"bytes"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// FuzzStream feeds bytes for a stream to both translators. Whatever a server
// sends, there is no panic, the events are in order, and the answer ends once:
// with one finish, or with one error. Run it with -fuzzminimizetime 1x: the
// HTTP client below covers its code a little differently each time, which
// keeps the minimizer busy for nothing.
func FuzzStream(f *testing.F) {
	for api, v := range vendors {
		for _, stream := range v.AllRecorded(f) {
			f.Add(api == ChatCompletions, stream)
		}
	}
	f.Fuzz(func(t *testing.T, chat bool, stream []byte) {
		api := Responses
		if chat {
			api = ChatCompletions
		}
		events, _ := vendortest.Ask(t, vendors[api].Replay(t, bytes.NewReader(stream)), hello())
		for _, ev := range events {
			if ev.Type == model.EventToolCallStart && ev.ID == "" {
				t.Errorf("call %d starts without an id", ev.Index)
			}
		}
	})
}
