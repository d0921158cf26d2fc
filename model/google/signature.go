package google

import (
	"encoding/base64"
	"strings"
)

// A signature proves the model's reasoning to the vendor, and must be returned with the same part:
// a call or a text. In a conversation it is the encrypted form of a piece of reasoning, directly
// before its call or after its text. A mark distinguishes the two, and the signatures of other
// vendors, which this vendor would reject.
const (
	ofCall = "gemini:call:"
	ofText = "gemini:text:"
)

// unsigned replaces the missing signature of a call made by another vendor's model. The vendor
// defines it for this purpose.
const unsigned = "skip_thought_signature_validator"

// parseSignature returns a signature and the mark of its owner, or "" if it belongs to another
// vendor.
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

// decodeBase64 decodes base64 in any of its alphabets, because gateways re-encode it.
func decodeBase64(encoded string) ([]byte, error) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	return base64.RawStdEncoding.DecodeString(plain)
}
