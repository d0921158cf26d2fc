package google

import (
	"testing"

	"google.golang.org/genai"
)

// TestNamesAreThoseOfTheSDK checks enumeration values, which decoders do not validate.
func TestNamesAreThoseOfTheSDK(t *testing.T) {
	for ours, theirs := range map[string]string{
		roleUser: genai.RoleUser, roleModel: genai.RoleModel,
		string(callingAny): string(genai.FunctionCallingConfigModeAny), string(callingNone): string(genai.FunctionCallingConfigModeNone),
		string(thinkingMinimal): string(genai.ThinkingLevelMinimal), string(thinkingLow): string(genai.ThinkingLevelLow),
		string(thinkingMedium): string(genai.ThinkingLevelMedium), string(thinkingHigh): string(genai.ThinkingLevelHigh),
		string(finishUnspecified): string(genai.FinishReasonUnspecified), string(finishStop): string(genai.FinishReasonStop),
		string(finishMaxTokens): string(genai.FinishReasonMaxTokens), string(finishSafety): string(genai.FinishReasonSafety),
		string(finishRecitation): string(genai.FinishReasonRecitation), string(finishLanguage): string(genai.FinishReasonLanguage),
		string(finishBlocklist):              string(genai.FinishReasonBlocklist),
		string(finishProhibitedContent):      string(genai.FinishReasonProhibitedContent),
		string(finishSPII):                   string(genai.FinishReasonSPII),
		string(finishImageSafety):            string(genai.FinishReasonImageSafety),
		string(finishImageProhibitedContent): string(genai.FinishReasonImageProhibitedContent),
		string(finishImageRecitation):        string(genai.FinishReasonImageRecitation),
		string(finishMalformedFunctionCall):  string(genai.FinishReasonMalformedFunctionCall),
		string(finishUnexpectedToolCall):     string(genai.FinishReasonUnexpectedToolCall),
		string(finishTooManyToolCalls):       string(genai.FinishReasonTooManyToolCalls),
		blockUnspecified:                     string(genai.BlockedReasonUnspecified),
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the SDK", ours, theirs)
		}
	}
}
