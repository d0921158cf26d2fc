package openai

import (
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// finishReasons are the reasons of incomplete answers. Those of other vendors come from gateways,
// sensitive and network_error from Zhipu.
var finishReasons = map[string]model.FinishReason{
	"length":               model.FinishMaxTokens,
	"max_tokens":           model.FinishMaxTokens,
	"max_output_tokens":    model.FinishMaxTokens,
	"max_new_tokens":       model.FinishMaxTokens,
	"model_length":         model.FinishMaxTokens,
	"content_filter":       model.FinishContentFilter,
	"content_filtered":     model.FinishContentFilter,
	"guardrail_intervened": model.FinishContentFilter,
	"refusal":              model.FinishContentFilter,
	"sensitive":            model.FinishContentFilter,
	"safety":               model.FinishContentFilter,
	"recitation":           model.FinishContentFilter,
	"blocklist":            model.FinishContentFilter,
	"prohibited_content":   model.FinishContentFilter,
	"spii":                 model.FinishContentFilter,
}

// abortReasons are the finish reasons of answers that the server aborted, with the class of the
// error.
var abortReasons = map[string]model.ErrorClass{
	"error":                        model.Provider,
	"abort":                        model.Provider,
	"network_error":                model.Provider,
	"malformed_function_call":      model.Provider,
	"insufficient_system_resource": model.Overloaded, // DeepSeek
}

// finishReason returns the finish reason of the answer; empty if it has not ended. Servers use
// various names for a normal end.
func (s *chatStream) finishReason() (model.FinishReason, error) {
	reason := strings.ToLower(s.reason)
	if _, filtered, found := strings.Cut(reason, "function_call_filter: "); found { // Gemini
		reason = filtered
	}
	if reason == "" {
		return "", nil
	}
	if class, ok := abortReasons[reason]; ok {
		text := "the server aborted the answer"
		if reason != "error" {
			text += ": " + reason
		}
		return "", &model.Error{Class: class, Message: text}
	}
	if known, ok := finishReasons[reason]; ok {
		return known, nil
	}
	return model.FinishStop, nil
}
