//go:build !race

package openai

import (
	"testing"

	oai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// readWithSDK reads the body of a request with the types of the vendor's SDK.
func readWithSDK(api API, body []byte) error {
	if api == Responses {
		return new(responses.ResponseNewParams).UnmarshalJSON(body)
	}
	return new(oai.ChatCompletionNewParams).UnmarshalJSON(body)
}

// TestEffortsAreThoseOfTheSDK checks the names of levels, which decoders do not validate.
func TestEffortsAreThoseOfTheSDK(t *testing.T) {
	theirs := []shared.ReasoningEffort{
		shared.ReasoningEffortNone, shared.ReasoningEffortMinimal, shared.ReasoningEffortLow,
		shared.ReasoningEffortMedium, shared.ReasoningEffortHigh, shared.ReasoningEffortXhigh, shared.ReasoningEffortMax,
	}
	for i, level := range efforts {
		if i >= len(theirs) || string(level) != string(theirs[i]) {
			t.Errorf("%q is not %q", level, theirs[i])
		}
	}
}
