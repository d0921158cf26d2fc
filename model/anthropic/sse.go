package anthropic

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readSize is how much of a stream is read at once, at most.
const readSize = 4 << 10

// serverEvent is one event of a stream. Both fields are valid until the next
// event is read.
type serverEvent struct{ name, data []byte }

// sseReader reads a stream of server-sent events into memory that it uses
// again; what it reads from limits the size of an event. An event counts once
// the blank line after it has been read.
type sseReader struct {
	in *bufio.Reader
	// line holds a line that is longer than the buffer of in.
	line  []byte
	event serverEvent
	// err is why the stream broke off, nil when it just ended.
	err error
}

func newSSEReader(r io.Reader) *sseReader { return &sseReader{in: bufio.NewReaderSize(r, readSize)} }

// next reads the next event that has a name or data. It reports whether there is
// one.
func (s *sseReader) next() bool {
	s.event.name, s.event.data = s.event.name[:0], s.event.data[:0]
	for {
		line, err := s.readLine()
		switch {
		case err != nil:
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return false
		case len(line) > 0:
			s.addField(line)
		case len(s.event.name) > 0 || len(s.event.data) > 0:
			return true
		}
	}
}

// readLine returns the next line without its end.
func (s *sseReader) readLine() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	for s.line = s.line[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = s.in.ReadSlice('\n') {
		s.line = append(s.line, line...)
	}
	if len(s.line) > 0 {
		s.line = append(s.line, line...)
		line = s.line
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// addField handles one line of an event. Comments have an empty name.
func (s *sseReader) addField(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		s.event.name = append(s.event.name[:0], value...)
	case "data":
		if len(s.event.data) > 0 {
			s.event.data = append(s.event.data, '\n')
		}
		s.event.data = append(s.event.data, value...)
	}
}
