package core

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestOf returns what stands for a text in the state, where the text itself would
// be long and show up in snapshots.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
