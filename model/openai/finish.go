package openai

import (
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
