package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// readSize is how much of a stream is read at once, at most.
const readSize = 4 << 10

// serverEvent is one event of a stream. Both fields are valid until the next
// event is read.
type serverEvent struct{ name, data []byte }

// isEnd reports whether the event is the mark of the stream's end.
func (e *serverEvent) isEnd() bool { return bytes.HasPrefix(e.data, []byte("[DONE]")) }

// sseReader reads a stream of server-sent events into memory that it uses
// again; how large an event may be is the business of what it reads from. It is
// more lenient than the standard where compatible servers need it: a field
// error, which llama.cpp breaks off with, is an event of that name, and the
// last event may lack the blank line after it.
type sseReader struct {
	in *bufio.Reader
	// line holds a line that is longer than the buffer of in.
	line  []byte
	event serverEvent
	// fields counts the lines of data in the event.
	fields int
	// err is why the stream broke off, nil when it just ended.
	err error
}

func newSSEReader(r io.Reader) *sseReader { return &sseReader{in: bufio.NewReaderSize(r, readSize)} }

// next reads the next event that has data. It reports whether there is one.
func (s *sseReader) next() bool {
	s.clearEvent()
	for {
		line, err := s.readLine()
		switch {
		case errors.Is(err, io.EOF):
			s.addField(line)
			return s.fields > 0 && (json.Valid(s.event.data) || s.event.isEnd())
		case err != nil:
			s.err = err
			return false
		case len(line) > 0:
			s.addField(line)
		case s.fields > 0:
			return true
		default:
			s.clearEvent() // an event without data does not count
		}
	}
}

func (s *sseReader) clearEvent() {
	s.event.name, s.event.data, s.fields = s.event.name[:0], s.event.data[:0], 0
}

// readLine returns the next line without its end, or io.EOF with what follows
// the end of the last one.
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
		return
	case "error":
		s.event.name = append(s.event.name[:0], name...)
	case "data":
	default:
		return
	}
	if s.fields > 0 {
		s.event.data = append(s.event.data, '\n')
	}
	s.event.data = append(s.event.data, value...)
	s.fields++
}
