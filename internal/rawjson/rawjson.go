// Package rawjson carries JSON that somebody else wrote and that may be
// malformed, such as the arguments of a tool call.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how many levels JSON may have to be encoded as it is. Decoders
// refuse what is deeper than some thousands, and what contains it is deeper.
const maxDepth = 1000

// Valid reports whether raw is JSON that can be encoded as it is, also as a part
// of something else.
func Valid(raw []byte) bool { return json.Valid(raw) && utf8.Valid(raw) && Depth(raw) <= maxDepth }

// Fault says where raw ceases to be JSON, and empty of what is JSON.
func Fault(raw []byte) string {
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, new(json.RawMessage)))
	if !ok {
		return ""
	}
	return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
}

// Encode returns raw itself when it is valid JSON, else the JSON string of its
// bytes, so that what contains it can always be encoded, and decoded again. A
// JSON string is encoded once more: it could not be told from the other case.
func Encode(raw json.RawMessage) json.RawMessage {
	if Valid(raw) && !bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return raw
	}
	text, err := json.Marshal(string(raw))
	if err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return text
}

// Depth returns how many levels valid JSON has.
func Depth(raw []byte) (most int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			level++
			most = max(most, level)
		case c == '}', c == ']':
			level--
		}
	}
	return most
}

// Decode returns what Encode was given, with a mark for each byte of it that is
// no UTF-8.
func Decode(encoded json.RawMessage) (json.RawMessage, error) {
	if len(encoded) == 0 || encoded[0] != '"' {
		return encoded, nil
	}
	var text string
	if err := json.Unmarshal(encoded, &text); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}
