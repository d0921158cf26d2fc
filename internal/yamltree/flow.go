package yamltree

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Inside of {…} and […], YAML takes the braces of ${NAME} for the start and end of a mapping, so
// that api_key: ${KEY} would need quotes only there. Therefore the indicators in references are
// replaced before parsing, one for one so that columns stay the same, and restored in the parsed
// texts. The meaning of valid YAML does not change.

// flowIndicators are the characters that end an unquoted text in a flow
// collection.
const flowIndicators = "{}[],"

// standIns are private-use Unicode characters that replace flowIndicators.
type standIns struct {
	runes    [len(flowIndicators)]rune
	original *strings.Replacer
}

// withStandIns returns data with the indicators of references replaced, and the stand-ins to undo
// it; nil if nothing was replaced.
func withStandIns(data []byte) ([]byte, *standIns) {
	if !bytes.Contains(data, []byte("${")) {
		return data, nil
	}
	s, ok := newStandIns(data)
	if !ok {
		return data, nil
	}
	out := make([]byte, 0, len(data)+len(data)/16)
	for {
		i := bytes.Index(data, []byte("${"))
		if i < 0 {
			return append(out, data...), s
		}
		out = append(out, data[:i]...)
		data = data[i:]
		length := referenceLength(data)
		if length == 0 {
			length = 1
			out = append(out, '$')
		} else {
			out = s.appendReplaced(out, data[:length])
		}
		data = data[length:]
	}
}

// newStandIns chooses characters that do not occur in data.
func newStandIns(data []byte) (*standIns, bool) {
	s := &standIns{}
	var pairs []string
	free := '\uE000'
	for i := range flowIndicators {
		for bytes.ContainsRune(data, free) {
			if free++; free > '\uE100' {
				return nil, false
			}
		}
		s.runes[i] = free
		pairs = append(pairs, string(free), flowIndicators[i:i+1])
		free++
	}
	s.original = strings.NewReplacer(pairs...)
	return s, true
}

func (s *standIns) appendReplaced(out, reference []byte) []byte {
	for _, c := range reference {
		if i := strings.IndexByte(flowIndicators, c); i >= 0 {
			out = utf8.AppendRune(out, s.runes[i])
		} else {
			out = append(out, c)
		}
	}
	return out
}

// restoreText returns a text with the real characters.
func (s *standIns) restoreText(text string) string {
	if s == nil || strings.IndexByte(text, '\xEE') < 0 {
		return text
	}
	return s.original.Replace(text)
}

// referenceLength returns the length of the reference at the start of data, or 0. References do not
// cross a line or a quote.
func referenceLength(data []byte) int {
	const longest = 4096
	for i := 2; i < len(data) && i < longest; i++ {
		switch c := data[i]; c {
		case '}':
			return i + 1
		case '{', '\n', '\r', '"', '\'':
			return 0
		}
	}
	return 0
}
