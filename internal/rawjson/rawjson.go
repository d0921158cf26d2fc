// Package rawjson handles foreign JSON that may be malformed, such as the arguments of a tool call.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is the maximum nesting depth of JSON to encode unchanged. Decoders reject depths
// beyond some thousands, and the enclosing JSON is deeper.
const maxDepth = 1000

// Fault returns why raw is not JSON; empty if it is.
func Fault(raw []byte) string {
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, new(json.RawMessage)))
	if !ok {
		return ""
	}
	return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
}

// Marshal encodes a value as one line. It does not escape HTML, so that models read texts as
// written.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Encode returns raw itself if it is valid JSON, otherwise the JSON string of its bytes, so that
// enclosing data can always be encoded and decoded again. A JSON string is encoded once more, to
// distinguish it from the other case.
func Encode(raw json.RawMessage) json.RawMessage {
	if Valid(raw) && !bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return raw
	}
	return quoteText(raw)
}

// Repair returns raw itself if it is valid JSON, nil if it is empty, and otherwise its text as a
// JSON string. Readers cannot distinguish that string from an original one; use Encode and Decode
// to preserve raw exactly.
func Repair(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case Valid(raw):
		return raw
	default:
		return quoteText(raw)
	}
}

// malformedField is the only field of the object that Object returns for arguments that are not an
// object.
const malformedField = "malformed"

// Object converts arguments for readers that accept only objects, such as model vendors: it
// returns an object unchanged, {} for empty or null, and otherwise {"malformed": …} with the
// text, or with the content of a JSON string.
func Object(raw json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(raw)
	switch {
	case len(trimmed) == 0, string(trimmed) == "null":
		return json.RawMessage(`{}`)
	case trimmed[0] == '{' && Valid(raw):
		return raw
	}
	var text string
	if json.Unmarshal(trimmed, &text) != nil {
		text = string(raw)
	}
	object := append([]byte(`{"`+malformedField+`":`), quoteText([]byte(text))...)
	return append(object, '}')
}

// quoteText returns the JSON string of a text.
func quoteText(text []byte) json.RawMessage {
	encoded, err := json.Marshal(string(text))
	if err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return encoded
}

// Measure returns the number of levels of valid JSON and the number of its values: the document
// itself, the members of its objects and the elements of its lists.
func Measure(raw []byte) (depth, values int) {
	level, quoted, opened := 0, false, true
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			i++
			continue
		case quoted && c != '"', c == ' ', c == '\t', c == '\r', c == '\n':
			continue
		case c == '}', c == ']':
			level--
		case opened, c == ',':
			values++
		}
		switch opened = false; c {
		case '"':
			quoted = !quoted
		case '{', '[':
			level++
			depth, opened = max(depth, level), true
		}
	}
	return depth, values
}

// Decode returns the input of Encode, with a replacement character for each invalid UTF-8 byte.
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
