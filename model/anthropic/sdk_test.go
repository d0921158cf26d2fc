//go:build !race

package anthropic

import (
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

// readWithSDK reads the body of a request with the types of the vendor's SDK.
func readWithSDK(body []byte) error { return new(sdk.MessageNewParams).UnmarshalJSON(body) }

// TestNamesAreThoseOfTheSDK checks enumeration values, which decoders do not validate.
func TestNamesAreThoseOfTheSDK(t *testing.T) {
	for ours, theirs := range map[string]string{
		string(roleUser): string(sdk.MessageParamRoleUser), string(roleAssistant): string(sdk.MessageParamRoleAssistant),
		string(highestEfforts[0]): string(sdk.OutputConfigEffortMax), string(highestEfforts[1]): string(sdk.OutputConfigEffortXhigh),
		string(highestEfforts[2]): string(sdk.OutputConfigEffortHigh),
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the SDK", ours, theirs)
		}
	}
}
