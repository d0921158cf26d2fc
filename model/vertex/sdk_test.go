//go:build !race

package vertex

import sdk "github.com/anthropics/anthropic-sdk-go"

// readWithSDK reads the body of a request with the types of Claude's SDK.
func readWithSDK(body []byte) error { return new(sdk.MessageNewParams).UnmarshalJSON(body) }
