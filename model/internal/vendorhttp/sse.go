package vendorhttp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// readSize is the maximum number of bytes read from a stream in one read.
const readSize = 4 << 10

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

// IsEnd reports whether the event is the end mark of some streams, ignoring case.
func (e *ServerEvent) IsEnd() bool { return isEndMark(bytes.TrimLeft(e.Data, "\" \t")) }

func isEndMark(data []byte) bool {
	return len(data) >= len(endMark) && strings.EqualFold(string(data[:len(endMark)]), endMark)
}

// IsNoise reports whether the event is a keep-alive, such as the word ping: its data is neither an
// object or list nor the end mark.
func (e *ServerEvent) IsNoise() bool {
	data := bytes.TrimLeft(e.Data, " \t\r\n")
	return len(data) == 0 || data[0] != '{' && data[0] != '[' && !e.IsEnd()
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

// next reads the next event with data. It reports whether there is one.
func (r *eventReader) next() bool {
	if !r.state.begun {
		r.state.begun = true
		r.state.isJSON = r.beginStream()
		if r.framing.Decode != nil && r.atEvents() {
			r.framing.Decode = nil
		}
	}
	r.clearEvent()
	switch {
	case r.rest != nil:
		r.event.Data, r.rest = r.rest, nil
		r.splitValue()
	case r.state.isJSON:
		if !r.readValue() {
			return false
		}
	case !r.readEvent():
		return false
	}
	r.joinSurrogates()
	return true
}

// readEvent reads the next event with data from a stream.
func (r *eventReader) readEvent() bool {
	if r.framing.Decode != nil {
		return r.decodeEvent()
	}
	if r.held != nil {
		r.addField(r.held)
		r.held = nil
	}
	for {
		line, err := r.readLine()
		if len(line)+len(r.event.Data) > eventLimit {
			err = errEventTooLarge
		}
		switch {
		case errors.Is(err, io.EOF):
			r.addField(line)
			r.splitData()
			return !r.framing.StrictEnd && len(r.event.Data) > 0 && (json.Valid(r.event.Data) || r.event.IsEnd())
		case err != nil:
			r.err = err
			return false
		case len(line) > 0 && r.beginsEvent(line):
			r.held = bytes.Clone(line)
			r.splitData()
			r.framing.StrictEnd = false // no empty line will follow the last event either
			return true
		case len(line) > 0:
			r.addField(line)
		case len(r.event.Data) > 0:
			r.splitData()
			return true
		default:
			r.clearEvent() // ignore an event without data
		}
	}
}

// beginsEvent reports whether a line begins the next event although no empty line ended the current
// one, whose data is already complete.
func (r *eventReader) beginsEvent(line []byte) bool {
	isName := bytes.HasPrefix(line, []byte("event:")) && len(r.event.Name) > 0
	if r.fields == 0 || !isName && !bytes.HasPrefix(line, []byte("data:")) {
		return false
	}
	return r.dataNesting().IsWhole()
}

// dataNesting returns the nesting of the data of the event so far.
func (r *eventReader) dataNesting() *Nesting {
	for ; r.nested < len(r.event.Data); r.nested++ {
		r.nesting.readByte(r.event.Data[r.nested])
	}
	return &r.nesting
}

// decodeEvent reads the next event of a stream in another format.
func (r *eventReader) decodeEvent() bool {
	err := r.framing.Decode(r.in, &r.event)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
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

// addField handles one line of an event. Comments have an empty name.
func (r *eventReader) addField(line []byte) {
	line = bytes.TrimPrefix(line, byteOrderMark)
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.event.Name = append(r.event.Name[:0], value...)
		return
	case "error":
		r.event.Name = append(r.event.Name[:0], name...)
	case "data":
		if again, ok := bytes.CutPrefix(value, []byte("data:")); ok { // of a proxy
			value = bytes.TrimPrefix(again, []byte(" "))
		}
		value = bytes.TrimPrefix(value, byteOrderMark)
	case "", "id", "retry":
		return
	default:
		value = line
		if line[0] != '{' && r.dataNesting().IsOpen() {
			break // JSON over several lines
		}
		r.noteStray(line)
		if !r.framing.PlainErrors {
			return
		}
	}
	if r.fields > 0 {
		r.event.Data = append(r.event.Data, '\n')
	}
	r.event.Data = append(r.event.Data, value...)
	r.fields++
}
