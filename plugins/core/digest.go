package core

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestOf returns a short digest of a text, because the text itself would be long and appear in
// snapshots.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
