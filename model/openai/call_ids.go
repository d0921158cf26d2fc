package openai

import (
	"crypto/sha256"
	"encoding/hex"
)

// callIDs describes the call IDs that a server accepts. The zero value accepts any ID.
type callIDs struct {
	// most is the maximum number of characters; 0 for no limit.
	most int
	// exact requires that many letters and digits.
	exact bool
}

// The rules of vendors: Mistral requires "a-z, A-Z, 0-9, with a length of 9" (its errors;
// litellm#8012). OpenAI rejects longer IDs with string_above_max_length.
var (
	mistralIDs   = callIDs{most: 9, exact: true}
	chatIDs      = callIDs{most: 40}
	responsesIDs = callIDs{most: 64}
)

// fitID returns an ID that satisfies the rule: the given ID if it does. The result depends only on
// the ID, so that a call and its result match.
func (r callIDs) fitID(id string) string {
	if !r.exact && (r.most == 0 || len(id) <= r.most) || r.exact && isAlphanumeric(id) && len(id) == r.most {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	if !r.exact {
		return "call_" + hex.EncodeToString(sum[:])[:idLength]
	}
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	fit := make([]byte, r.most)
	for i := range fit {
		fit[i] = letters[int(sum[i])%len(letters)]
	}
	return string(fit)
}

func isAlphanumeric(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < '0' || '9' < c) && (c|' ' < 'a' || 'z' < c|' ') {
			return false
		}
	}
	return true
}
