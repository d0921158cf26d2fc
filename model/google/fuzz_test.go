package google

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// FuzzStream feeds arbitrary stream bytes to the translator, with and without our function.
// Whatever a server sends, there is no panic, the events are in order, the function is not shown,
// and the answer ends once: with one finish or one error.
func FuzzStream(f *testing.F) {
	for name, stream := range vendor.AllRecorded(f) {
		f.Add(strings.Contains(name, "output"), stream)
	}
	f.Fuzz(func(t *testing.T, form bool, stream []byte) {
		req := hello()
		if form {
			req = formed()
		}
		events, _ := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(stream)), req)
		for _, ev := range events {
			if form && ev.Type == model.EventToolCallStart && ev.Name == outputFunction {
				t.Errorf("call %d shows the function", ev.Index)
			}
		}
	})
}
