//go:build race

package bedrock

import (
	"encoding/json"
	"testing"
)

// checkMessages does nothing: compiling the SDK for the race detector takes minutes.
func checkMessages(testing.TB, []json.RawMessage) {}
