package anthropic

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// FuzzStream feeds arbitrary stream bytes to the translator, with and without a report. Whatever a
// server sends, there is no panic, the events are in order, and the answer ends once: with one
// finish or one error. Run it with -fuzzminimizetime 1x: the coverage of the HTTP client varies
// between runs, which keeps the minimizer busy needlessly.
func FuzzStream(f *testing.F) {
	for name, stream := range vendor.AllRecorded(f) {
		f.Add("", stream)
		if strings.Contains(name, "report") {
			f.Add(citySchema, stream)
			f.Add(listSchema, stream)
		}
	}
	f.Fuzz(func(t *testing.T, schema string, stream []byte) {
		req := hello()
		if _, _, err := reportSchema([]byte(schema)); err == nil {
			req.Model = reportModel
			req.Output = &spec.OutputSchema{Schema: []byte(schema)}
		}
		events, _ := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(stream)), req)
		for _, ev := range events {
			if ev.Type == model.EventToolCallStart && (ev.Name == "" || req.Output != nil && ev.Name == reportName) {
				t.Errorf("call %d starts as %+v", ev.Index, ev)
			}
		}
	})
}
