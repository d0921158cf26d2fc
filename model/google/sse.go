package google

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// eventReader reads the data of server-sent events. What is no field of an
// event counts as data too: a server that gives up an answer writes its error
// as the plain JSON of a refusal.
type eventReader struct {
	lines *bufio.Reader
	data  []byte
	err   error
}

func newEventReader(body io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(body, 4<<10)}
}

// next returns the data of the next event, which is valid until the next call,
// or nil at the end of the stream. An event that the end cut short counts when
// its data is whole.
func (r *eventReader) next() []byte {
	if r.err != nil {
		return nil
	}
	r.data = r.data[:0]
	for r.err == nil {
		start := len(r.data)
		r.err = r.readLine()
		line := bytes.TrimRight(r.data[start:], "\r\n")
		r.data = append(r.data[:start], fieldData(line)...)
		if len(line) == 0 && start > 0 && r.err == nil {
			return r.data
		}
	}
	return r.finalEvent()
}

// readLine adds a line to the data, its end included.
func (r *eventReader) readLine() error {
	for {
		piece, err := r.lines.ReadSlice('\n')
		r.data = append(r.data, piece...)
		if err != bufio.ErrBufferFull { //nolint:errorlint // bufio returns it as it is
			return err
		}
	}
}

// finalEvent returns the unterminated last event of a stream, if its data is whole.
func (r *eventReader) finalEvent() []byte {
	if r.err != io.EOF { //nolint:errorlint // io.Reader returns it as it is
		return nil
	}
	if len(r.data) == 0 || !json.Valid(r.data) {
		return nil
	}
	return r.data
}

// fieldData returns what a line adds to the data of its event.
func fieldData(line []byte) []byte {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data":
		return value
	case "", "event", "id", "retry":
		return nil // a comment, or what is of no use here
	default:
		return line
	}
}
