package openai

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestFinishReasonsOfServers(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		"stop": model.FinishStop, "STOP": model.FinishStop, "eos": model.FinishStop, "tool_use": model.FinishStop, "end_turn": model.FinishStop,
		"length": model.FinishMaxTokens, "MAX_TOKENS": model.FinishMaxTokens, "model_length": model.FinishMaxTokens,
		"content_filter": model.FinishContentFilter, "SAFETY": model.FinishContentFilter, "sensitive": model.FinishContentFilter,
	} {
		if got, err := (&chatStream{reason: reason}).finishReason(); got != want || err != nil {
			t.Errorf("%s: %s, %v", reason, got, err)
		}
	}
	for reason, want := range map[string]model.ErrorClass{
		"error": model.Provider, "abort": model.Provider, "network_error": model.Provider, "insufficient_system_resource": model.Overloaded,
		"function_call_filter: MALFORMED_FUNCTION_CALL": model.Provider,
	} {
		_, err := (&chatStream{reason: reason}).finishReason()
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Class != want {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
