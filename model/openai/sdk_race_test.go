//go:build race

package openai

// readWithSDK does nothing: compiling the SDK for the race detector takes minutes, and "make test"
// also runs these tests without it.
func readWithSDK(API, []byte) error { return nil }
