package vendorhttp

import (
	"bufio"
	"bytes"
	"io"
)

// readSize is the maximum number of bytes read from a stream in one read.
const readSize = 4 << 10

// byteOrderMark may precede the first line of a stream, and the data of an event.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Framing describes how a server ends events and breaks off streams.
type Framing struct {
	// PlainErrors is set if a server may break off with an error as plain JSON,
	// outside of any event.
	PlainErrors bool
	// StrictEnd is set if an event requires the blank line after it. Otherwise the last event may
	// lack it.
	StrictEnd bool
	// Decode reads one event of a stream that does not use server-sent events; nil for those. It
	// returns io.EOF only at the end of the stream.
	Decode func(in *bufio.Reader, into *ServerEvent) error
}

// eventReader reads a stream of server-sent events into reused memory. It is more lenient than the
// standard where servers need it: a field error, which llama.cpp breaks off with, is an event of
// that name; the empty line between events may be missing; and JSON may come instead.
type eventReader struct {
	in      *bufio.Reader
	framing Framing
	// line holds a line that in could hold only in part.
	line  []byte
	event ServerEvent
	// fields counts the data lines of the event.
	fields int
	// err is the reason that the stream broke off; nil for a normal end.
	err error
	// state describes the beginning of the stream.
	state readerState
	// values counts the JSON values received instead of events; inArray is set within an array of
	// them.
	values  int
	inArray bool
	// nesting tracks the first nested bytes of the event's data.
	nesting Nesting
	nested  int
	// held is the line after an event without a final empty line.
	held []byte
	// rest is the data after the first value of joined events, behind that of event.
	rest []byte
	// stray is the beginning of the first line outside any event.
	stray []byte
	// half is the escaped first half of a character whose second half is pending.
	half []byte
}

type readerState struct {
	// begun is set once the first byte was examined.
	begun bool
	// isJSON is set if JSON was sent instead of server-sent events.
	isJSON bool
	// skipsFeed is set after a carriage return, which may precede a line feed.
	skipsFeed bool
}

func newEventReader(r io.Reader, framing Framing) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, readSize), framing: framing}
}

// dataNesting returns the nesting of the data of the event so far.
func (r *eventReader) dataNesting() *Nesting {
	for ; r.nested < len(r.event.Data); r.nested++ {
		r.nesting.readByte(r.event.Data[r.nested])
	}
	return &r.nesting
}

func (r *eventReader) clearEvent() {
	r.event.Name, r.event.Data, r.event.Last, r.fields = r.event.Name[:0], r.event.Data[:0], false, 0
	r.nesting, r.nested = Nesting{}, 0
}

// readLine returns the next line without its line feed, carriage return or both. At the end of the
// stream it returns io.EOF and any data after the last line.
func (r *eventReader) readLine() ([]byte, error) {
	for r.line = r.line[:0]; ; {
		if _, err := r.in.Peek(1); err != nil {
			return r.line, err
		}
		read, _ := r.in.Peek(r.in.Buffered())
		if r.state.skipsFeed {
			r.state.skipsFeed = false
			if read[0] == '\n' {
				_, _ = r.in.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(read, '\n')
		if end >= 0 {
			read = read[:end]
		}
		if i := bytes.IndexByte(read, '\r'); i >= 0 {
			end, read, r.state.skipsFeed = i, read[:i], true
		}
		if end >= 0 && len(r.line) == 0 {
			_, _ = r.in.Discard(end + 1)
			return read, nil
		}
		r.line = append(r.line, read...)
		if end >= 0 {
			_, _ = r.in.Discard(end + 1)
			return r.line, nil
		}
		_, _ = r.in.Discard(len(read))
		if len(r.line) > eventLimit {
			return nil, errEventTooLarge
		}
	}
}

// noteStray keeps the beginning of the first line outside any event.
func (r *eventReader) noteStray(line []byte) {
	if r.stray == nil {
		r.stray = bytes.Clone(line[:min(len(line), quoteLimit)])
	}
}
