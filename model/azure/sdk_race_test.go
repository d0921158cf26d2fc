//go:build race

package azure

import "github.com/agentruntime/agentruntime/model/openai"

// readWithSDK does nothing: compiling the SDK for the race detector takes minutes.
func readWithSDK(openai.API, []byte) error { return nil }
