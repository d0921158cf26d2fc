//go:build race

package anthropic

// readWithSDK reads nothing: to compile the SDK for the race detector takes minutes,
// and "make test" runs these tests without it, too.
func readWithSDK([]byte) error { return nil }
