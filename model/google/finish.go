package google

import (
	"github.com/agentruntime/agentruntime/model"
)

// vendorReason is the vendor's name for why an answer ended.
type vendorReason string

const (
	finishUnspecified            vendorReason = "FINISH_REASON_UNSPECIFIED"
	finishStop                   vendorReason = "STOP"
	finishMaxTokens              vendorReason = "MAX_TOKENS"
	finishSafety                 vendorReason = "SAFETY"
	finishRecitation             vendorReason = "RECITATION"
	finishLanguage               vendorReason = "LANGUAGE"
	finishBlocklist              vendorReason = "BLOCKLIST"
	finishProhibitedContent      vendorReason = "PROHIBITED_CONTENT"
	finishSPII                   vendorReason = "SPII"
	finishImageSafety            vendorReason = "IMAGE_SAFETY"
	finishImageProhibitedContent vendorReason = "IMAGE_PROHIBITED_CONTENT"
	finishImageRecitation        vendorReason = "IMAGE_RECITATION"
	finishMalformedFunctionCall  vendorReason = "MALFORMED_FUNCTION_CALL"
	finishUnexpectedToolCall     vendorReason = "UNEXPECTED_TOOL_CALL"
	finishTooManyToolCalls       vendorReason = "TOO_MANY_TOOL_CALLS"
	// missingSignature ends an answer to a conversation that lost a signature. The
	// SDK has no name for it.
	missingSignature vendorReason = "MISSING_THOUGHT_SIGNATURE"
)

// finishReason returns why an answer ended, or the error that the end stands
// for. A reason that is not known is taken for one: all that the vendor added
// so far were.
func finishReason(reason vendorReason, message string) (model.FinishReason, error) {
	switch reason {
	case finishStop:
		return model.FinishStop, nil
	case finishMaxTokens:
		return model.FinishMaxTokens, nil
	case finishSafety, finishRecitation, finishLanguage,
		finishBlocklist, finishProhibitedContent, finishSPII,
		finishImageSafety, finishImageProhibitedContent, finishImageRecitation:
		return model.FinishContentFilter, nil
	}
	failure := &model.Error{Class: model.Provider, Message: "the server ended the answer early: " + string(reason)}
	switch reason {
	case finishMalformedFunctionCall:
		failure.Message = "the model made a malformed function call"
	case finishUnexpectedToolCall:
		failure.Message = "the model called a function that it was not told of"
	case finishTooManyToolCalls:
		failure.Message = "the model made too many calls in a row"
	case missingSignature:
		failure.Class = model.InvalidRequest
	}
	if message != "" {
		failure.Message += ": " + message
	}
	return "", failure
}
