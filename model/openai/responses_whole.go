package openai

import (
	"cmp"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// readWhole reads an answer that was not streamed.
func (s *responsesStream) readWhole(data []byte, out *vendorhttp.Batch) (bool, error) {
	var answer responsesAnswer
	if err := vendorhttp.DecodeEvent(data, &answer); err != nil {
		return false, err
	}
	return s.endAnswer(&answer, out)
}

// endAnswer ends a complete answer, which may have failed or been truncated.
func (s *responsesStream) endAnswer(answer *responsesAnswer, out *vendorhttp.Batch) (bool, error) {
	switch {
	case !vendorhttp.IsNothing(answer.Error):
		return false, parseErrorValue(answer.Error).modelError()
	case answer.Status == "failed" || answer.Status == "cancelled":
		return false, &model.Error{Class: model.Provider, Message: "the answer is " + string(answer.Status) + "; the server does not say why"}
	case answer.IncompleteDetails.Value.Reason == "":
		return s.finishWhole(answer, out)
	}
	if err := s.addMissing(answer, out); err != nil {
		return false, err
	}
	return s.cutOff(answer, out)
}

// addMissing adds the messages and calls of a whole answer that were not streamed.
func (s *responsesStream) addMissing(answer *responsesAnswer, out *vendorhttp.Batch) error {
	hasText, hasCalls, last := s.text.seen, len(s.calls.list) > 0, s.text.output
	for i := range answer.Output {
		item, at := &answer.Output[i], vendorhttp.Number(i)
		switch itemType := item.itemType(); {
		case itemType == "message":
			s.addMessage(at, item, !hasText || at > last && s.text.output < at, out)
		case itemType == "reasoning" && !hasText && !hasCalls:
			for j, part := range item.Summary {
				s.reasoning.moveTo(model.EventReasoning, at, vendorhttp.Number(j), out)
				out.AddDelta(model.EventReasoning, string(part.Text))
			}
			addEncrypted(item, out)
		case itemType == "function_call" && !hasCalls:
			if err := s.endFunctionCall(at, item, out); err != nil {
				return err
			}
		case itemType == "function_call" && item.CallID != "":
			if err := s.endKnownCall(item, out); err != nil {
				return err
			}
		}
	}
	if text := string(answer.OutputText); text != "" && !s.text.seen {
		s.emitText(0, text, out) // for servers that send only text
	}
	return nil
}

func (s *responsesStream) completeAnswer(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	return s.endAnswer(&ev.Response, out)
}

// finishWhole ends a complete answer.
func (s *responsesStream) finishWhole(answer *responsesAnswer, out *vendorhttp.Batch) (bool, error) {
	if err := s.addMissing(answer, out); err != nil {
		return false, err
	}
	if err := s.calls.endAll(out); err != nil {
		return false, err
	}
	reason := model.FinishStop
	if s.calls.anyStarted() {
		reason = model.FinishToolCalls
	}
	s.finishAnswer(reason, answer.Usage.Value, out)
	return true, nil
}

// endIncomplete ends an answer that the vendor truncated. Calls that may be incomplete get no end.
func (s *responsesStream) endIncomplete(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	return s.cutOff(&ev.Response, out)
}

// cutOff ends an answer for the vendor's reason.
func (s *responsesStream) cutOff(answer *responsesAnswer, out *vendorhttp.Batch) (bool, error) {
	switch reason := answer.IncompleteDetails.Value.Reason; reason {
	case "max_output_tokens":
		s.finishAnswer(model.FinishMaxTokens, answer.Usage.Value, out)
		return true, nil
	case "content_filter":
		s.finishAnswer(model.FinishContentFilter, answer.Usage.Value, out)
		return true, nil
	default:
		return false, &model.Error{Class: model.Provider, Message: "the server ended the answer early: " + cmp.Or(string(reason), "it does not say why")}
	}
}

func (s *responsesStream) finishAnswer(reason model.FinishReason, usage *responsesUsage, out *vendorhttp.Batch) {
	ev := model.Event{Type: model.EventFinish, Reason: reason}
	if usage != nil {
		s.usage = model.Usage{
			Input:      int(usage.InputTokens),
			Output:     int(usage.OutputTokens),
			CacheRead:  int(usage.InputTokensDetails.Value.CachedTokens),
			CacheWrite: int(usage.InputTokensDetails.Value.CacheWriteTokens),
			Reasoning:  int(usage.OutputTokensDetails.Value.ReasoningTokens),
		}.Reconciled()
		ev.Usage = &s.usage
	}
	out.Add(ev)
}

func failedResponse(data []byte) error {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	r := &refusal{}
	if !vendorhttp.IsNothing(ev.Response.Error) {
		r = parseErrorValue(ev.Response.Error)
	}
	return r.modelError()
}
