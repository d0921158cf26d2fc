package vendorhttp

import (
	"encoding/json"
	"slices"
)

// closeDocument completes a truncated JSON document: it closes the open string, objects and lists,
// or drops the truncated value. It returns other data unchanged.
func closeDocument(data []byte) []byte {
	var open []byte // closing brackets, outermost first
	inText, escaped := false, false
	// whole is the length of the data through the last complete value, inside depth values.
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
