package agents_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

type payment struct {
	Amount int `json:"amount"`
}

type approval struct {
	By string `json:"by"`
}

// payer is a model that calls the tool pay and answers with its result.
type payer struct{}

func (payer) Vendor() string { return "openai" }

func (payer) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role != model.RoleTool {
			for _, ev := range []model.Event{
				{Type: model.EventToolCallStart, ID: "c1", Name: "pay"}, {Type: model.EventToolCallEnd, Delta: `{"amount":12}`},
				{Type: model.EventFinish, Reason: model.FinishToolCalls},
			} {
				if !yield(ev, nil) {
					return
				}
			}
			return
		}
		_ = yield(model.Event{Type: model.EventText, Delta: last.Parts[0].ToolResult.Content[0].Text}, nil) &&
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

func TestTypedToolsInterruptAndResume(t *testing.T) {
	t.Parallel()
	pay := agents.InterruptTool("Pays.", func(_ context.Context, in payment, answer *approval) (map[string]any, error) {
		if answer == nil {
			return nil, agents.Interrupt("Pay?", payment{in.Amount * 2})
		}
		return map[string]any{"paid": in.Amount, "by": answer.By}, nil
	})
	server, err := agents.Declared("payer", agents.Options[ledger]{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := agents.Declared("carrier", agents.Options[ledger]{ClientManaged: true})
	if err != nil {
		t.Fatal(err)
	}
	b := builder.New().WithProvider("main", payer{}).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).WithTool("pay", pay)
	for _, name := range []string{"payer", "carrier"} {
		b.WithAgentSpec(spec.Agent{ID: name, ModelID: "m"})
	}
	if err := agents.Install(b, server, client); err != nil {
		t.Fatal(err)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	serveOn(t, rt, closing(t, memory.New(store.Settings{})), newQueue(), server, client)
	for name, agent := range map[string]*agents.Agent[ledger]{"server": server, "client": client} {
		for way, tt := range map[string]struct {
			answer func(part *wire.Part) *wire.Input
			want   string
		}{
			"restart": {func(part *wire.Part) *wire.Input {
				again, err := agents.Again(part, approval{"ann"})
				if err != nil {
					t.Fatal(err)
				}
				return agents.Restart(again)
			}, `{"by":"ann","paid":12}`},
			"respond": {func(part *wire.Part) *wire.Input {
				return &wire.Input{Resume: &wire.Resume{Respond: []wire.Part{{ToolResponse: &wire.ToolResponse{
					Name: part.ToolRequest.Name, Ref: part.ToolRequest.Ref, Output: json.RawMessage(`{"refused":true}`),
				}}}}}
			}, `{"refused":true}`},
		} {
			talk, err := agent.Connect(t.Context(), agents.Source{})
			if err != nil {
				t.Fatal(err)
			}
			if err := talk.Send(t.Context(), agents.Text("pay")); err != nil {
				t.Fatal(err)
			}
			asked, err := talk.Output(t.Context())
			if err != nil || len(asked.Interrupts()) != 1 {
				t.Fatalf("%s, %s: %+v, %v", name, way, asked, err)
			}
			part := asked.Interrupts()[0]
			if got := string(part.Metadata["interrupt"]); got != `{"amount":24}` {
				t.Errorf("%s: clients read the payload %s", name, got)
			}
			if got, err := agents.InterruptOf[payment](&part); err != nil || got.Amount != 24 {
				t.Errorf("%s: programs read the payload %+v, %v", name, got, err)
			}
			wrong, err := agents.Again(&part, 7)
			if err != nil {
				t.Fatal(err)
			}
			if err := talk.Send(t.Context(), agents.Restart(wrong)); err != nil {
				t.Fatal(err)
			}
			if out, err := talk.Output(t.Context()); err != nil || out.Error == nil || out.Error.Status != wire.StatusInvalidArgument {
				t.Errorf("%s: an answer of another type gives %+v, %v", name, out, err)
			}
			if err := talk.Send(t.Context(), tt.answer(&part)); err != nil {
				t.Fatal(err)
			}
			if out, err := talk.Output(t.Context()); err != nil || out.Text() != tt.want {
				t.Errorf("%s, %s: the answer is %+v, %v", name, way, out, err)
			}
		}
	}
}
