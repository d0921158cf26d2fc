package claude

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/agentruntime/agentruntime/internal/toolname"
)

// CallID returns the ID of a call in the characters and the length that an API allows. Other
// vendors' IDs may have others.
func CallID(id string, longest int) string {
	if (toolname.Rule{Longest: longest}).Allows(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
