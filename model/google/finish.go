package google

import (
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// vendorReason is the vendor's name for the reason why an answer ended.
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

// numberedReasons are the reasons by number, since gateways that use Protocol Buffers send numbers.
var numberedReasons = []vendorReason{
	finishUnspecified, finishStop, finishMaxTokens, finishSafety, finishRecitation, "OTHER",
	finishBlocklist, finishProhibitedContent, finishSPII, finishMalformedFunctionCall,
}

// UnmarshalJSON reads the name or the number of a reason.
func (r *vendorReason) UnmarshalJSON(data []byte) error {
	var text vendorhttp.Text
	err := text.UnmarshalJSON(data)
	*r = vendorReason(strings.ToUpper(string(text)))
	if i, numbered := strconv.Atoi(string(text)); numbered == nil && 0 <= i && i < len(numberedReasons) {
		*r = numberedReasons[i]
	}
	return err
}

// finishReason returns why an answer ended, or the error that the reason represents. Unknown
// reasons count as errors, as all the vendor's additions so far were.
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
