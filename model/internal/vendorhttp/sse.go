package vendorhttp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readSize is how much of a stream is read at once, at most.
const readSize = 4 << 10

// ServerEvent is one event of a stream. Both fields are valid until the next
// event is read.
type ServerEvent struct {
	Name, Data []byte
	// Last is set for the last part of a complete JSON document that was sent instead of a
	// stream: nothing is missing after it.
	Last bool
}

// IsEnd reports whether the event is the mark with which some streams end.
func (e *ServerEvent) IsEnd() bool { return bytes.HasPrefix(e.Data, []byte("[DONE]")) }

// DecodeEvent reads the data of an event.
func DecodeEvent(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return Malformed(describeEvent(data, err), err)
	}
	return nil
}

// quoteLimit is how much of an event an error quotes, in bytes.
const quoteLimit = 120

// describeEvent returns the fault of an event and its beginning.
func describeEvent(data []byte, err error) string {
	what := "an event is not JSON"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what = "an event has a " + mismatch.Value + " in the field " + mismatch.Field
	}
	more := ""
	if len(data) > quoteLimit {
		data, more = data[:quoteLimit], "…"
	}
	return fmt.Sprintf("%s: %q%s", what, data, more)
}

// Framing is what servers differ in when they end an event or break off a stream.
type Framing struct {
	// PlainErrors is set if a server may break off with an error as plain JSON,
	// outside of any event.
	PlainErrors bool
	// StrictEnd is set if an event counts only with the blank line after it. Without
	// it the last one may lack that line.
	StrictEnd bool
	// Decode reads one event of a stream in another form than server-sent events; nil for
	// those. It returns io.EOF at the end of the stream and nowhere else.
	Decode func(in *bufio.Reader, into *ServerEvent) error
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
	// begun is set once the first byte was looked at.
	begun bool
	// isDocument is set for a JSON document instead of a stream; documents are its
	// parts that are left, nil for one that is not complete.
	isDocument bool
	documents  [][]byte
	// half is the escaped first half of a character whose second half is to come.
	half []byte
}

func newEventReader(r io.Reader, framing Framing) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, readSize), framing: framing}
}

// next reads the next event that has data. It reports whether there is one.
func (r *eventReader) next() bool {
	if !r.begun {
		r.begun = true
		if r.beginStream() {
			r.readDocument()
		}
	}
	r.clearEvent()
	if r.isDocument {
		return r.nextDocument()
	}
	if !r.readEvent() {
		return false
	}
	r.joinSurrogates()
	return true
}

// readEvent reads the next event of a stream that has data.
func (r *eventReader) readEvent() bool {
	if r.framing.Decode != nil {
		return r.decodeEvent()
	}
	for {
		line, err := r.readLine()
		switch {
		case errors.Is(err, io.EOF):
			r.addField(line)
			return !r.framing.StrictEnd && len(r.event.Data) > 0 && (json.Valid(r.event.Data) || r.event.IsEnd())
		case err != nil:
			r.err = err
			return false
		case len(line) > 0:
			r.addField(line)
		case len(r.event.Data) > 0:
			return true
		default:
			r.clearEvent() // an event without data does not count
		}
	}
}

// decodeEvent reads the next event of a stream in another form.
func (r *eventReader) decodeEvent() bool {
	err := r.framing.Decode(r.in, &r.event)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

func (r *eventReader) clearEvent() {
	r.event.Name, r.event.Data, r.event.Last, r.fields = r.event.Name[:0], r.event.Data[:0], false, 0
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
