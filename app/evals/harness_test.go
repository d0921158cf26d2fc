package evals_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/evalcase"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
)

// shop is a runtime with a clerk who looks orders up, refunds them and asks the customer,
// and a helper that the clerk delegates to.
type shop struct {
	runtime *runtime.AgentRuntime
	// refunds counts the calls of the tool refund, whose effect is once.
	refunds, lookups atomic.Int64
}

// newShop builds the runtime on a provider.
func newShop(t *testing.T, provider model.Executor) *shop {
	t.Helper()
	s := new(shop)
	call := func(count *atomic.Int64, text string) func(context.Context, *tools.Call) (tools.Result, error) {
		return func(context.Context, *tools.Call) (tools.Result, error) {
			count.Add(1)
			return tools.TextResult(text), nil
		}
	}
	rules := json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"refund(amount > 100)","behavior":"ask"}]}`)
	rt, err := builder.New().
		WithProvider("p", provider).
		WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "m", Pricing: &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 1}}).
		WithModel(spec.Model{ID: "judge", ProviderID: "p", UpstreamModel: "judge"}).
		WithPlugin("permission", permission.New()).
		WithTool("lookup", &fixedTool{tools.Descriptor{Effect: tools.Read, Parameters: parameters(`"order":{"type":"string"}`)}, call(&s.lookups, "order 7: 20 EUR")}).
		WithTool("refund", &fixedTool{tools.Descriptor{Effect: tools.Once, Parameters: parameters(`"order":{"type":"string"},"amount":{"type":"number"}`)}, call(&s.refunds, "refunded")}).
		WithTool("ask", newAsk(t)).
		WithTool("invoice", &fixedTool{tools.Descriptor{Effect: tools.Read}, func(_ context.Context, c *tools.Call) (tools.Result, error) {
			_, err := c.Session.KeepArtifact(tools.Artifact{Name: "invoice-7.txt", MediaType: "text/plain", Data: []byte("20 EUR")})
			return tools.TextResult("kept"), err
		}}).
		WithAgentSpec(spec.Agent{ID: "clerk", Description: "A clerk.", ModelID: "m", SystemPrompt: "You refund orders.", PluginIDs: []string{"permission"}, Sections: spec.Sections{"permission": rules}, Delegates: []string{"helper"}, Handoffs: []string{"helper"}}).
		WithAgentSpec(spec.Agent{ID: "helper", Description: "Helps.", ModelID: "m"}).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	s.runtime = rt
	return s
}

func newAsk(t *testing.T) tools.Tool {
	t.Helper()
	tool, err := ask.Kind().Create(tools.Settings{ID: "ask"}, &ask.Config{Description: "Asks the customer."})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func parameters(properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
}

// fixedTool is a tool made of a descriptor and a function.
type fixedTool struct {
	descriptor tools.Descriptor
	call       func(context.Context, *tools.Call) (tools.Result, error)
}

func (f *fixedTool) Descriptor() tools.Descriptor { return f.descriptor }

func (f *fixedTool) Call(ctx context.Context, c *tools.Call) (tools.Result, error) {
	return f.call(ctx, c)
}

// loadCases writes and loads a case file.
func loadCases(t *testing.T, cases string) *evals.Suite {
	t.Helper()
	return loadCasesIn(t, t.TempDir(), cases)
}

func loadCasesIn(t *testing.T, dir, cases string) *evals.Suite {
	t.Helper()
	file := filepath.Join(dir, "cases.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ncases:\n"+indent(cases)), 0o600); err != nil {
		t.Fatal(err)
	}
	suite, found, err := evals.Load([]string{file})
	if err != nil || found.HasErrors() {
		t.Fatalf("%v, %v\n%s", err, found, cases)
	}
	return suite
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// runAll runs a suite once.
func runAll(t *testing.T, r *evals.Runner) []*evals.Result {
	t.Helper()
	results, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// only returns the only result, with its failures as texts.
func only(t *testing.T, r *evals.Runner) (*evals.Result, []string) {
	t.Helper()
	results := runAll(t, r)
	if len(results) != 1 {
		t.Fatalf("there are %d results", len(results))
	}
	var failures []string
	for _, f := range results[0].Failures {
		failures = append(failures, f.String())
	}
	return results[0], failures
}

// unasked is a provider that tests must not call.
type unasked struct{ t *testing.T }

func (u unasked) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	u.t.Error("the provider was asked")
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "not to be asked"})
	}
}

// readCase returns the only case of a text.
func readCase(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string) *evals.Case {
	t.Helper()
	suite, found := evals.Parse("cases.yaml", []byte("version: 1\ncases:\n"+indent(text)))
	if found.HasErrors() {
		t.Fatalf("%v\n%s", found, text)
	}
	return suite.Cases[0]
}

// storedTurn runs a turn that refunds an order and returns its stored form.
func storedTurn(t *testing.T, s *shop) *evalcase.Turn {
	t.Helper()
	script, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{Text: "Let me see: ${x}.", ToolCalls: []model.ToolCall{{Name: "refund", Arguments: []byte(`{"order": "7", "amount": 20}`)}}},
		{Text: "Refunded \"20\" EUR."},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := model.WithInterceptor(t.Context(), func(ctx context.Context, _ model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
		return script.Stream(ctx, req)
	})
	var events turntest.Events
	req := runtime.Prompt("clerk", "Refund order 7: ${y}")
	result, err := s.runtime.Run(ctx, req, &events)
	if err != nil {
		t.Fatal(err)
	}
	return &evalcase.Turn{AgentID: "clerk", Status: result.Status, Input: req.Input, Events: events.List}
}
