package runtime

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/event"
)

// Events runs a turn and yields its events, from run_start to exactly one run_finish, which has the
// outcome. If Run would return an error, it is yielded last, with a zero event. Breaking out of the
// loop cancels the turn and waits for it to end. A slow loop body slows the turn down.
func (r *AgentRuntime) Events(ctx context.Context, req Request) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		events := make(chan event.Event)
		var err error // read after events is closed
		go func() {
			defer close(events)
			_, err = r.Run(ctx, req, event.SinkFunc(func(ev event.Event) { events <- ev }))
		}()
		defer func() {
			cancel()
			for range events { // until the turn has ended
			}
		}()
		for ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		if err != nil {
			yield(event.Event{}, err)
		}
	}
}
