package vendorhttp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// readSize is how much of a stream is read at once, at most.
const readSize = 4 << 10

// ServerEvent is one event of a stream. Both fields are valid until the next
// event is read.
type ServerEvent struct{ Name, Data []byte }

// IsEnd reports whether the event is the mark with which some streams end.
func (e *ServerEvent) IsEnd() bool { return bytes.HasPrefix(e.Data, []byte("[DONE]")) }

// DecodeEvent reads the data of an event.
func DecodeEvent(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return Malformed("an event cannot be read", err)
	}
	return nil
}

// Framing is what servers differ in when they end an event or break off a stream.
type Framing struct {
	// PlainErrors is set if a server may break off with an error as plain JSON,
	// outside of any event.
	PlainErrors bool
	// StrictEnd is set if an event counts only with the blank line after it. Without
	// it the last one may lack that line.
	StrictEnd bool
}

// eventReader reads a stream of server-sent events into memory that it uses
// again; the reader below it limits the size of an event. It is more lenient than
// the standard where servers need it: a field error, which llama.cpp breaks off
// with, is an event of that name.
type eventReader struct {
	in      *bufio.Reader
	framing Framing
	// line holds a line that is longer than the buffer of in.
	line  []byte
	event ServerEvent
	// fields counts the lines of data in the event.
	fields int
	// err is why the stream broke off, nil when it just ended.
	err error
}

func newEventReader(r io.Reader, framing Framing) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, readSize), framing: framing}
}

// next reads the next event that has data. It reports whether there is one.
func (r *eventReader) next() bool {
	r.clearEvent()
	for {
		line, err := r.readLine()
		switch {
		case errors.Is(err, io.EOF):
			r.addField(line)
			return !r.framing.StrictEnd && r.fields > 0 && (json.Valid(r.event.Data) || r.event.IsEnd())
		case err != nil:
			r.err = err
			return false
		case len(line) > 0:
			r.addField(line)
		case r.fields > 0:
			return true
		default:
			r.clearEvent() // an event without data does not count
		}
	}
}

func (r *eventReader) clearEvent() {
	r.event.Name, r.event.Data, r.fields = r.event.Name[:0], r.event.Data[:0], 0
}

// readLine returns the next line without its end, or io.EOF with what follows
// the end of the last one.
func (r *eventReader) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	for r.line = r.line[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = r.in.ReadSlice('\n') {
		r.line = append(r.line, line...)
	}
	if len(r.line) > 0 {
		r.line = append(r.line, line...)
		line = r.line
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// addField handles one line of an event. Comments have an empty name.
func (r *eventReader) addField(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.event.Name = append(r.event.Name[:0], value...)
		return
	case "error":
		r.event.Name = append(r.event.Name[:0], name...)
	case "data":
	case "", "id", "retry":
		return
	default:
		if !r.framing.PlainErrors {
			return
		}
		value = line
	}
	if r.fields > 0 {
		r.event.Data = append(r.event.Data, '\n')
	}
	r.event.Data = append(r.event.Data, value...)
	r.fields++
}
