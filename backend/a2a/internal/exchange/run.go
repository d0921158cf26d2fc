package exchange

import (
	"context"
)

// Run sends the message, unless the peer has it, and follows the task until it
// has settled.
func (x *Exchange) Run(ctx context.Context) error {
	if !x.phase.isAccepted() {
		if err := x.deliverMessage(ctx); err != nil {
			return err
		}
	}
	return x.followTask(ctx)
}
