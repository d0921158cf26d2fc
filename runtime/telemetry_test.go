package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// tree writes spans as an indented list, each below its parent, in the order in
// which they began.
func tree(spans tracetest.SpanStubs) string {
	var b strings.Builder
	var write func(parent trace.SpanID, indent string)
	write = func(parent trace.SpanID, indent string) {
		for {
			next := -1
			for i := range spans {
				if spans[i].Parent.SpanID() == parent && (next < 0 || spans[i].StartTime.Before(spans[next].StartTime)) {
					next = i
				}
			}
			if next < 0 {
				return
			}
			s := spans[next]
			spans = append(spans[:next:next], spans[next+1:]...)
			b.WriteString(indent + s.Name + "\n")
			write(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	write(trace.SpanID{}, "")
	return b.String()
}

func TestADelegateBelongsToTheTraceOfItsCall(t *testing.T) {
	recorded := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	observer, err := telemetry.New(telemetry.Settings{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.AsksAgent("clerk"), {Text: "done"}},
		"clerk": {turntest.Calls("l", "look", "{}"), {Text: "seen"}},
	})
	var seen trace.SpanContext
	look := turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		seen = trace.SpanContextFromContext(ctx)
		return tools.TextResult("a secret"), nil
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"},
	).WithTool("look", look).WithTelemetry(observer))
	if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "a private matter"), nil); err != nil {
		t.Fatal(err)
	}
	spans := recorded.GetSpans()
	for i := range spans {
		for _, a := range spans[i].Attributes {
			if text := a.Value.String(); strings.Contains(text, "secret") || strings.Contains(text, "private") {
				t.Errorf("span %s reveals content: %s=%s", spans[i].Name, a.Key, text)
			}
		}
		if spans[i].Name == "execute_tool look" && spans[i].SpanContext.SpanID() != seen.SpanID() {
			t.Error("the tool runs outside of its span")
		}
	}
	want := `invoke_agent boss
  step
    chat boss
    execute_tool agent_run_clerk
      invoke_agent clerk
        step
          chat clerk
          execute_tool look
        step
          chat clerk
  step
    chat boss
`
	if diff := cmp.Diff(want, tree(spans)); diff != "" {
		t.Error(diff)
	}
}
