package runsclient

import (
	"bufio"
	"io"
	"strings"
)

// maxLine is the maximum line length of a stream: the Go SDK does not read longer ones.
const maxLine = 8 << 20

// frame is one event of a stream, as sent.
type frame struct {
	id, event, data string
	// lines counts the lines with data; odd is a line outside any event.
	lines int
	odd   string
}

// frames reads the events of a stream.
type frames struct {
	lines *bufio.Scanner
}

func newFrames(r io.Reader) *frames {
	f := &frames{lines: bufio.NewScanner(r)}
	f.lines.Buffer(nil, maxLine)
	return f
}

// next returns the next event, or io.EOF after the last. An unterminated event does
// not count.
func (f *frames) next() (frame, error) {
	var one frame
	for begun := false; f.lines.Scan(); {
		line := f.lines.Text()
		if line == "" && one.odd != "" {
			return one, &ProtocolError{Problem: "a line belongs to no event", Frame: one.odd}
		}
		if line == "" && begun {
			return one, nil
		}
		if line == "" {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "", "retry": // a comment, or the reconnect delay
			continue
		case "id":
			one.id = value
		case "event":
			one.event = value
		case "data":
			one.data = value
			one.lines++
		default:
			one.odd = line // or a truncated one
		}
		begun = true
	}
	if err := f.lines.Err(); err != nil {
		return one, err
	}
	return one, io.EOF
}
