// Package rawjson carries JSON that somebody else wrote and that may be
// malformed, such as the arguments of a tool call.
package rawjson

import (
	"bytes"
	"encoding/json"
)

// Encode returns raw itself when it is valid JSON, else the JSON string of its
// bytes, so that what contains it can always be encoded. A JSON string is
// encoded once more: it could not be told from the other case.
func Encode(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) && !bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return raw
	}
	text, err := json.Marshal(string(raw))
	if err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return text
}

// Decode returns what Encode was given.
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
