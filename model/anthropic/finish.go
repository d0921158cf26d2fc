package anthropic

import (
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// finishAnswer ends the answer. Without a reason it ended naturally. A call that may have been cut
// off is left open.
func (a *answer) finishAnswer() (done bool, err error) {
	reason := finishReason(a.reason)
	if reason == model.FinishStop {
		if err := a.closeBlocks(); err != nil {
			return false, err
		}
		if a.endCall(); a.calls > 0 {
			reason = model.FinishToolCalls
		}
	}
	if a.report != nil {
		a.report.finishAnswer(a)
	}
	a.out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: a.usageSoFar()})
	return true, nil
}

// closeBlocks closes the open blocks, because some gateways do not. The arguments of a call show
// whether they are complete.
func (a *answer) closeBlocks() error {
	for _, index := range slices.Sorted(maps.Keys(a.blocks)) {
		if a.blocks[index].arguments.IsOpen() {
			return vendorhttp.Malformed("a tool call does not end", nil)
		}
		a.closeBlock(index)
	}
	return nil
}

// finishReason returns why the answer ended, according to the vendor; the answer itself shows
// whether it waits for tool results.
func finishReason(vendor string) model.FinishReason {
	switch vendor {
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishMaxTokens
	case "refusal":
		return model.FinishContentFilter
	default:
		return model.FinishStop
	}
}
