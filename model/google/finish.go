package google

import (
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/genai"
)

// missingSignature ends an answer to a conversation that lost a signature. The
// SDK has no name for it.
const missingSignature genai.FinishReason = "MISSING_THOUGHT_SIGNATURE"

// finishReason returns why an answer ended, or the error that the end stands
// for. A reason that is not known is taken for one: all that the vendor added
// so far were.
func finishReason(reason genai.FinishReason, message string) (model.FinishReason, error) {
	switch reason {
	case genai.FinishReasonStop:
		return model.FinishStop, nil
	case genai.FinishReasonMaxTokens:
		return model.FinishMaxTokens, nil
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage,
		genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII,
		genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return model.FinishContentFilter, nil
	}
	failure := &model.Error{Class: model.Provider, Message: "the server ended the answer early: " + string(reason)}
	switch reason {
	case genai.FinishReasonMalformedFunctionCall:
		failure.Message = "the model made a malformed function call"
	case genai.FinishReasonUnexpectedToolCall:
		failure.Message = "the model called a function that it was not told of"
	case genai.FinishReasonTooManyToolCalls:
		failure.Message = "the model made too many calls in a row"
	case missingSignature:
		failure.Class = model.InvalidRequest
	}
	if message != "" {
		failure.Message += ": " + message
	}
	return "", failure
}
