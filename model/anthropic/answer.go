package anthropic

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// answer converts the events of the vendor's stream to ours. It decodes only the events and fields
// it needs, because the SDK's types cost several times as much.
type answer struct {
	// out receives the result of the vendor's latest event.
	out *vendorhttp.Batch
	// blocks are the open content blocks, by position in the answer.
	blocks map[vendorhttp.Number]*block
	event  event
	calls  int
	// ending is a call whose arguments stopped, while it is unknown whether they were cut off; -1
	// for none.
	ending int
	report *reporting
	reason string
	usage  model.Usage
	// counted is set once the vendor has reported a usage.
	counted bool
}

func newAnswer(r *report) *answer {
	a := &answer{blocks: map[vendorhttp.Number]*block{}, ending: -1}
	if r != nil {
		a.report = &reporting{report: r}
	}
	return a
}

// addText adds a piece of text. If the answer may become a report, the text is held back until that
// is decided.
func (a *answer) addText(piece string) {
	if a.report != nil {
		a.report.holdText(piece)
		return
	}
	a.out.AddDelta(model.EventText, piece)
}

func (a *answer) addArguments(b *block, piece string) {
	switch {
	case b.report:
		a.report.addArguments(a, b, piece)
	case piece != "":
		a.out.Add(model.Event{Type: model.EventToolCallDelta, Index: b.call, Delta: piece})
	}
}

// endCall ends the last stopped call: since the answer continued, the call was not cut off.
func (a *answer) endCall() {
	if a.ending >= 0 {
		a.out.Add(model.Event{Type: model.EventToolCallEnd, Index: a.ending})
		a.ending = -1
	}
}

// reporting tracks the report through one answer.
type reporting struct {
	*report
	// call is the report's call; nil until it starts. Further calls are ignored.
	call *block
	// held is text that may or may not be the answer.
	held []byte
	// arguments are the arguments of a wrapped report.
	arguments []byte
}

func (r *reporting) beginCall(call *block) {
	if r.call == nil {
		r.call = call
	}
}

// holdText holds back a piece of text.
func (r *reporting) holdText(piece string) { r.held = append(r.held, piece...) }

// releaseText emits the held text: an answer that calls tools is not the final one.
func (r *reporting) releaseText(a *answer) {
	if r.call == nil {
		a.out.AddDelta(model.EventText, string(r.held))
		r.held = nil
	}
}

func (r *reporting) addArguments(a *answer, call *block, piece string) {
	switch {
	case call != r.call:
	case r.wrapped:
		r.arguments = append(r.arguments, piece...)
	default:
		a.out.AddDelta(model.EventText, piece)
	}
}

// finishAnswer adds the held text. If the model did not use the report, its answer is the text.
// Text beside the report is not part of the answer and becomes reasoning; it comes last, so that it
// is not mistaken for part of a thought signed by the vendor.
func (r *reporting) finishAnswer(a *answer) {
	if r.call == nil {
		r.releaseText(a)
		return
	}
	if r.wrapped {
		a.out.AddDelta(model.EventText, unwrapAnswer(r.arguments))
	}
	a.out.AddDelta(model.EventReasoning, string(r.held))
}

// usage is the vendor's count. Its input tokens exclude those read from or written to the cache.
type usage struct {
	InputTokens              vendorhttp.Number                `json:"input_tokens"`
	CacheReadInputTokens     vendorhttp.Number                `json:"cache_read_input_tokens"`
	CacheCreationInputTokens vendorhttp.Number                `json:"cache_creation_input_tokens"`
	OutputTokens             vendorhttp.Number                `json:"output_tokens"`
	OutputTokensDetails      vendorhttp.Detail[outputDetails] `json:"output_tokens_details"`
}

type outputDetails struct {
	ThinkingTokens vendorhttp.Number `json:"thinking_tokens"`
}

// countUsage records a usage report of the vendor. Each repeats parts of the
// earlier ones; missing fields keep their value.
func (a *answer) countUsage(u *usage) {
	if u == nil {
		return
	}
	plain := max(a.usage.Input-a.usage.CacheRead-a.usage.CacheWrite, int(u.InputTokens))
	a.usage.CacheRead = max(a.usage.CacheRead, int(u.CacheReadInputTokens))
	a.usage.CacheWrite = max(a.usage.CacheWrite, int(u.CacheCreationInputTokens))
	a.usage.Input = plain + a.usage.CacheRead + a.usage.CacheWrite
	a.usage.Output = max(a.usage.Output, int(u.OutputTokens))
	a.usage.Reasoning = min(max(a.usage.Reasoning, int(u.OutputTokensDetails.Value.ThinkingTokens)), a.usage.Output)
	a.usage = a.usage.Reconciled()
	a.counted = true
}

// usageSoFar returns the usage of the answer so far; nil if the vendor did not report it.
func (a *answer) usageSoFar() *model.Usage {
	if !a.counted {
		return nil
	}
	return &a.usage
}
