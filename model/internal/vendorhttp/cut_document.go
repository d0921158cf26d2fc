package vendorhttp

import (
	"encoding/json"
	"slices"
)

// closeDocument completes a JSON document that was cut off: it ends the open text, objects and lists,
// or drops the value that was cut off. It returns other data as it is.
func closeDocument(data []byte) []byte {
	var open []byte // the ends of what is open, outermost first
	inText, escaped := false, false
	// whole is the length of the data up to the last complete value, in depth values.
	whole, depth := 0, 0
	for i, c := range data {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = c == '\\', c != '"'
		case c == '"':
			inText = true
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
			whole, depth = i+1, len(open)
		case c == ',':
			whole, depth = i, len(open)
		}
	}
	if len(open) == 0 {
		return data
	}
	ended := slices.Clone(data)
	if escaped {
		ended = ended[:len(ended)-1]
	}
	if inText {
		ended = append(ended, '"')
	}
	if ended = appendReversed(ended, open); json.Valid(ended) {
		return ended
	}
	if ended = appendReversed(slices.Clone(data[:whole]), open[:depth]); json.Valid(ended) {
		return ended
	}
	return data
}

func appendReversed(to, list []byte) []byte {
	for _, c := range slices.Backward(list) {
		to = append(to, c)
	}
	return to
}
