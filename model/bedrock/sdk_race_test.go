//go:build race

package bedrock

import (
	"encoding/json"
	"testing"
)

// checkMessages checks nothing: to compile the SDK for the race detector takes minutes.
func checkMessages(testing.TB, []json.RawMessage) {}
