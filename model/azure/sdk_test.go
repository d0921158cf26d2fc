//go:build !race

package azure

import (
	"github.com/agentruntime/agentruntime/model/openai"
	oai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// readWithSDK reads the body of a request with the types of the vendor's SDK.
func readWithSDK(api openai.API, body []byte) error {
	if api == openai.Responses {
		return new(responses.ResponseNewParams).UnmarshalJSON(body)
	}
	return new(oai.ChatCompletionNewParams).UnmarshalJSON(body)
}
