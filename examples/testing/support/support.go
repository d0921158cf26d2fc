// Package support is a team's agent under test, with a scripted model and with a recorded one. Read
// support_test.go.
package support

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Orders reads and refunds the shop's orders. Amounts are in cents.
type Orders interface {
	Paid(ctx context.Context, id string) (int, error)
	Refund(ctx context.Context, id string, cents int) error
}

type order struct {
	ID string `json:"id" jsonschema:"The number of the order."`
}

type refund struct {
	ID    string `json:"id" jsonschema:"The number of the order."`
	Cents int    `json:"cents" jsonschema:"The amount to refund, in cents."`
}

// New returns the runtime of the agent. Pass a vendor's model in production, and a scripted
// one in tests.
func New(provider model.Executor, orders Orders) (*runtime.AgentRuntime, error) {
	return builder.New().
		WithProvider("vendor", provider).
		WithModel(spec.Model{ID: "default", ProviderID: "vendor", UpstreamModel: "small"}).
		WithTool("find_order", &tools.Func[order, string]{
			Description: "Looks up what was paid for an order.",
			Effect:      tools.Read,
			Run: func(ctx context.Context, in order) (string, error) {
				cents, err := orders.Paid(ctx, in.ID)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("order %s: %d cents paid", in.ID, cents), nil
			},
		}).
		WithTool("refund", &tools.Func[refund, string]{
			Description: "Refunds an order, in part or in full.",
			Effect:      tools.Once,
			Run: func(ctx context.Context, in refund) (string, error) {
				paid, err := orders.Paid(ctx, in.ID)
				if err != nil {
					return "", err
				}
				if in.Cents < 1 || in.Cents > paid {
					return "", fmt.Errorf("a refund of order %s is 1 to %d cents, not %d", in.ID, paid, in.Cents)
				}
				return "refunded", orders.Refund(ctx, in.ID, in.Cents)
			},
		}).
		WithAgentSpec(spec.Agent{
			ID: "support", ModelID: "default",
			SystemPrompt: "You help the customers of a shop. Look up an order before you refund it.",
			AllowedTools: spec.Names{"find_order", "refund"},
		}).
		Build()
}
