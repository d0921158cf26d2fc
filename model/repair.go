package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// Repair names a repair of a tool call's arguments.
type Repair string

// The repairs. Each is made once, and only if the result is a JSON object.
const (
	// RepairDecoded is an object that was encoded twice, as a JSON string.
	RepairDecoded Repair = "decoded"
	// RepairRepeated is an object that was sent more than once, or after an empty one.
	RepairRepeated Repair = "repeated"
	// RepairCumulative is an object whose pieces each repeated the previous ones.
	RepairCumulative Repair = "cumulative"
	// RepairTrimmed is an object inside a code fence, or before surplus brackets or a mark of the
	// model's template.
	RepairTrimmed Repair = "trimmed"
	// RepairEscaped is an object with unescaped line ends, tabs or control characters in its texts.
	RepairEscaped Repair = "escaped"
)

// repairLimit is the size of the arguments, in bytes, above which only a doubly encoded object is
// repaired.
const repairLimit = 256 << 10

// maxRepairWork limits the bytes read to find a repeated object.
const maxRepairWork = 8 << 20

var noArguments = json.RawMessage(`{}`)

// repairArguments returns a copy of a call's arguments, whose memory is reused, and the repair.
// Arguments that cannot be repaired stay unchanged.
func repairArguments(data []byte) (json.RawMessage, Repair) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return noArguments, ""
	}
	switch data[0] {
	case '"':
		var text string
		if json.Unmarshal(data, &text) == nil && isObject([]byte(text)) {
			return json.RawMessage(text), RepairDecoded
		}
	case '`':
		if object := codeFence.FindSubmatch(data); object != nil && isObject(object[1]) {
			return bytes.Clone(bytes.TrimSpace(object[1])), RepairTrimmed
		}
	case '{':
		if len(data) <= repairLimit && !json.Valid(data) && !isCutOff(data) {
			if object, repair := repairObject(data); repair != "" {
				return bytes.Clone(object), repair
			}
		}
	}
	return bytes.Clone(data), ""
}

// codeFence matches a JSON value in a code fence of Markdown.
var codeFence = regexp.MustCompile("(?s)^```(?:json)?\\s(.*)```$")

// surplus matches what follows a complete object without any meaning.
var surplus = regexp.MustCompile(`^(?:[}\]\s]|` + "```" + `|<\|[\w|-]*\|>|</?[\w|-]+>)*$`)

// repairObject returns the object that text represents, without a repair if absent.
func repairObject(data []byte) (json.RawMessage, Repair) {
	if object, repair := lastObject(data); repair != "" {
		return object, repair
	}
	escaped := escapeControls(data)
	if json.Valid(escaped) {
		return escaped, RepairEscaped
	}
	in := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	if in.Decode(&first) == nil && surplus.Match(data[in.InputOffset():]) {
		return first, RepairTrimmed
	}
	return nil, ""
}

// escapeControls escapes the control characters in the strings of a JSON value.
func escapeControls(data []byte) []byte {
	escaped := make([]byte, 0, len(data))
	inText, afterSlash := false, false
	for _, c := range data {
		switch {
		case inText && c < ' ':
			if afterSlash { // the slash escapes nothing
				escaped = append(escaped, '\\')
			}
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
			afterSlash = false
			continue
		case afterSlash:
			afterSlash = false
		case c == '\\':
			afterSlash = inText
		case c == '"':
			inText = !inText
		}
		escaped = append(escaped, c)
	}
	return escaped
}

// isCutOff reports whether text is a truncated JSON value, in which an inner object must not be
// mistaken for the value.
func isCutOff(data []byte) bool {
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&value), io.ErrUnexpectedEOF)
}

// lastObject returns the object at the end of text, if everything before it is the same object, the
// empty object or prefixes of the object.
func lastObject(data []byte) (json.RawMessage, Repair) {
	room := maxRepairWork
	for end := bytes.LastIndexByte(data, '{'); end > 0; end = bytes.LastIndexByte(data[:end], '{') {
		object := data[end:]
		if room -= len(object); room < 0 {
			break
		}
		if !json.Valid(object) {
			continue
		}
		if repair := classifyRepeats(data[:end], object); repair != "" {
			return object, repair
		}
	}
	return nil, ""
}

// classifyRepeats returns how the text before an object repeats it; empty if it has other content.
func classifyRepeats(before, object []byte) Repair {
	repair := RepairRepeated
	for len(before) > 0 {
		n := commonPrefix(before, object)
		switch {
		case n == len(object):
		case bytes.HasPrefix(before, noArguments):
			n = len(noArguments)
		case n > 0:
			repair = RepairCumulative
		default:
			return ""
		}
		before = bytes.TrimLeft(before[n:], " \t\r\n")
	}
	return repair
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}
