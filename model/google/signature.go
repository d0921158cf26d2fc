package google

import (
	"encoding/base64"
	"strings"
)

// A signature proves to the vendor what the model thought, and must go back
// with the very part it came with: a call or a text. In a conversation it is
// the encrypted form of a piece of reasoning, directly before its call or
// after its text. A mark tells the two apart, and both from what other
// vendors leave there, which this one would refuse.
const (
	ofCall = "gemini:call:"
	ofText = "gemini:text:"
)

// unsigned stands for the signature of a call that has none, because another
// vendor's model made it. The vendor defines it for that.
const unsigned = "skip_thought_signature_validator"

// parseSignature returns a signature and the mark of what it belongs to, or "" if
// it belongs to another vendor.
func parseSignature(encrypted string) (sig []byte, of string) {
	for _, of := range []string{ofCall, ofText} {
		if encoded, ok := strings.CutPrefix(encrypted, of); ok {
			sig, err := decodeBase64(encoded)
			if err != nil || len(sig) == 0 {
				return nil, ""
			}
			return sig, of
		}
	}
	return nil, ""
}

// decodeBase64 reads base64 in any of its alphabets: gateways write it anew.
func decodeBase64(encoded string) ([]byte, error) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	return base64.RawStdEncoding.DecodeString(plain)
}
