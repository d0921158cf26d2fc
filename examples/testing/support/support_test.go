package support_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/examples/testing/support"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
)

// orders is a shop with one order, which cost 40 euros.
type orders struct{ refunded int }

func (*orders) Paid(_ context.Context, id string) (int, error) {
	if id != "A-17" {
		return 0, fmt.Errorf("order %s does not exist", id)
	}
	return 4000, nil
}

func (o *orders) Refund(_ context.Context, _ string, cents int) error {
	o.refunded += cents
	return nil
}

//docs:region scripted

// TestARefundIsNeverMoreThanWasPaid covers the agent's tools: the script is a model that requests
// too much, and the test fails if a reply is not used.
func TestARefundIsNeverMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	provider := scripted.NewForTest(t, scripted.Script{Replies: []scripted.Reply{
		{Match: "Refund", ToolCalls: []model.ToolCall{{Name: "refund", Arguments: []byte(`{"id": "A-17", "cents": 9000}`)}}},
		{Match: "1 to 4000 cents", Text: "I can refund 40 euros at most."},
	}})
	shop := new(orders)
	result := ask(t, provider, shop, "Refund 90 euros for order A-17.")
	if shop.refunded != 0 {
		t.Errorf("%d cents were refunded", shop.refunded)
	}
	if result.Response != "I can refund 40 euros at most." {
		t.Errorf("the agent answers %q", result.Response)
	}
}

//docs:end

//docs:region recorded

// record makes the test ask the vendor and write testdata anew:
//
//	OPENAI_API_KEY=… go test ./examples/testing/support -record
var record = flag.Bool("record", false, "ask the vendor and record its answers")

// TestADamagedOrderIsRefunded covers the prompt and the tool descriptions: did the model look up
// the order and refund all of it? It fails when the prompt, the tools or their results change,
// until it is recorded again.
func TestADamagedOrderIsRefunded(t *testing.T) {
	t.Parallel()
	shop := new(orders)
	result := ask(t, vendor(t, "testdata/damaged.jsonl"), shop, "Order A-17 arrived broken. I want my money back.")
	if shop.refunded != 4000 {
		t.Errorf("%d cents were refunded", shop.refunded)
	}
	if !strings.Contains(result.Response, "40") {
		t.Errorf("the agent does not name the amount: %q", result.Response)
	}
}

// vendor returns the recorded model of the vendor or, with -record, the vendor's model.
func vendor(t *testing.T, path string) model.Executor {
	t.Helper()
	if !*record {
		return recorded.NewForTest(t, path)
	}
	live, err := openai.New(model.Settings{ID: "vendor"}, &openai.Config{
		APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"), API: openai.ChatCompletions,
	})
	if err != nil {
		t.Fatal(err)
	}
	return recorded.RecordForTest(t, path, live)
}

//docs:end

//docs:region ask

// ask runs one turn, which must succeed.
func ask(t *testing.T, provider model.Executor, shop support.Orders, text string) *runtime.Result {
	t.Helper()
	agents, err := support.New(provider, shop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agents.Close() })
	result, err := agents.Run(t.Context(), runtime.Prompt("support", text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != event.StatusSucceeded {
		t.Fatalf("the turn ended as %s: %+v", result.Status, result.Termination)
	}
	return result
}

//docs:end
