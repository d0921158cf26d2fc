package scripted_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
)

// maxAllocs is how many allocations a reply without delays may cost.
const maxAllocs = 3

var benchmarks = map[string]scripted.Script{
	"echo":  {},
	"text":  {Replies: []scripted.Reply{{Text: strings.Repeat("word ", 50), Chunks: 50}}},
	"match": {Replies: []scripted.Reply{{Match: "no"}, {Match: "/wea.her/", Text: "sunny"}}},
	"usage": {Replies: []scripted.Reply{{Text: "sunny", Usage: &model.Usage{Input: 20, Output: 6}}}},
	"failures": {Replies: []scripted.Reply{
		{Match: "no", Error: &scripted.Failure{Class: model.Timeout}}, {Text: "sunny"},
	}},
}

func request() *model.Request {
	messages := []model.Message{model.System("You are helpful.")}
	for range 100 {
		messages = append(messages, model.User("question"), model.Assistant(strings.Repeat("words ", 20)))
	}
	return &model.Request{SessionID: "s", Messages: append(messages, model.User("What is the weather in Paris?"))}
}

func TestAllocations(t *testing.T) { //nolint:paralleltest // counts allocations
	for name, script := range benchmarks {
		var e model.Executor = newExecutor(t, script) // as the loop sees it
		req, ctx := request(), t.Context()
		var events int
		take := func(model.Event, error) bool { events++; return true }
		if got := testing.AllocsPerRun(100, func() { e.Stream(ctx, req)(take) }); got > maxAllocs {
			t.Errorf("%s: %v allocations, want at most %d", name, got, maxAllocs)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	for name, script := range benchmarks {
		b.Run(name, func(b *testing.B) {
			var e model.Executor = newExecutor(b, script)
			req, ctx := request(), b.Context()
			var events int
			take := func(model.Event, error) bool { events++; return true }
			b.ReportAllocs()
			for b.Loop() {
				e.Stream(ctx, req)(take)
			}
		})
	}
}
