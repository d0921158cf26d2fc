package vendorhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ServerEvent is one event of a stream. Both fields are valid until the next
// event is read.
type ServerEvent struct {
	Name, Data []byte
	// Last is set for the last part of a complete JSON document that was sent instead of a
	// stream: nothing is missing after it.
	Last bool
}

// endMark is the data that ends some streams.
const endMark = "[DONE]"

// isEnd reports whether the event is the end mark of some streams, ignoring case.
func (e *ServerEvent) isEnd() bool { return isEndMark(bytes.TrimLeft(e.Data, "\" \t")) }

func isEndMark(data []byte) bool {
	return len(data) >= len(endMark) && strings.EqualFold(string(data[:len(endMark)]), endMark)
}

// isNoise reports whether the event is a keep-alive, such as the word ping: its data is neither an
// object or list nor the end mark.
func (e *ServerEvent) isNoise() bool {
	data := bytes.TrimLeft(e.Data, " \t\r\n")
	return len(data) == 0 || data[0] != '{' && data[0] != '[' && !e.isEnd()
}

// DecodeEvent reads the data of an event. Values of an unexpected type are ignored where they
// cannot hold text or a tool call.
func DecodeEvent(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		data = correctJSON(data)
		err = json.Unmarshal(data, into)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = decodeLeniently(data, into)
	}
	if err != nil {
		return Malformed(describeEvent(data, err), err)
	}
	return nil
}

// textOrNonNumber matches a string, or a float that Python and C write but JSON does not support.
var textOrNonNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|nan|Infinity|inf)\b`)

// correctJSON returns JSON with null for NaN and Infinity, and with escaped control characters in
// strings.
func correctJSON(data []byte) []byte {
	return textOrNonNumber.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] != '"' {
			return []byte("null")
		}
		if !bytes.ContainsFunc(found, isControl) {
			return found
		}
		var text []byte
		for _, c := range found {
			if isControl(rune(c)) {
				text = fmt.Appendf(text, `\u%04x`, c)
			} else {
				text = append(text, c)
			}
		}
		return text
	})
}

func isControl(c rune) bool { return c < ' ' }

// quoteLimit is the maximum number of bytes of an event that an error quotes.
const quoteLimit = 120

// describeEvent returns the fault and the beginning of an event.
func describeEvent(data []byte, err error) string {
	what := "an event is not JSON"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		article := "a "
		if mismatch.Value == "array" || mismatch.Value == "object" {
			article = "an "
		}
		what = "an event has " + article + mismatch.Value
		if field := strings.TrimPrefix(mismatch.Field, "."); field != "" {
			what += " in the field " + field
		}
	}
	return what + ": " + quoteStart(data)
}

// quoteStart quotes the beginning of an event.
func quoteStart(data []byte) string {
	if len(data) > quoteLimit {
		return fmt.Sprintf("%q…", data[:quoteLimit])
	}
	return fmt.Sprintf("%q", data)
}
