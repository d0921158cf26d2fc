package exchange

import (
	"context"
)

// Run sends the message, unless the peer has it, and follows the task until it
// has settled.
func (x *Exchange) Run(ctx context.Context) error {
	if !x.phase.accepted() {
		if err := x.deliver(ctx); err != nil {
			return err
		}
	}
	return x.follow(ctx)
}
