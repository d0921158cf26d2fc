package mcp

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// longestID is how long models allow the name of a tool to be.
	longestID = 64
	// hashLength is how many characters tell apart what was shortened.
	hashLength = 8
)

// toolID returns the id of a server's tool: the prefix and the name. Where
// models would not accept that, each character that they do not allow becomes
// '_', the whole is shortened, and a hash of the name is put at the end, so
// that names which would look alike do not. It depends on nothing else: the id
// stays the same whatever other tools there are.
func toolID(prefix, name string) string {
	whole := prefix + name
	id := make([]byte, 0, len(whole))
	for _, r := range whole {
		if allowedInID(r) {
			id = append(id, byte(r)) //nolint:gosec // what is allowed is ASCII
		} else {
			id = append(id, '_')
		}
	}
	if string(id) == whole && len(id) <= longestID {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	id = id[:min(len(id), longestID-hashLength-1)]
	return string(id) + "_" + hex.EncodeToString(sum[:])[:hashLength]
}

func allowedInID(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
