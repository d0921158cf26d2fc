//go:build race

package anthropic

// readWithSDK does nothing: compiling the SDK for the race detector takes minutes, and "make test"
// also runs these tests without it.
func readWithSDK([]byte) error { return nil }
