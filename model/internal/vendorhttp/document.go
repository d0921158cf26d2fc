package vendorhttp

import (
	"bytes"
	"errors"
	"io"
)

// beginStream skips a byte order mark and white space. It reports whether JSON follows
// instead of server-sent events.
func (r *eventReader) beginStream() (isJSON bool) {
	for {
		first, err := r.in.Peek(1)
		if err != nil {
			return false // a later read reports it
		}
		switch first[0] {
		case '{':
			return true
		case '[':
			return !r.atEndMark()
		case byteOrderMark[0]:
			if mark, _ := r.in.Peek(len(byteOrderMark)); !bytes.Equal(mark, byteOrderMark) {
				return false
			}
			_, _ = r.in.Discard(len(byteOrderMark))
		case ' ', '\t', '\r', '\n':
			_, _ = r.in.Discard(1)
		default:
			return false
		}
	}
}

// atEndMark reports whether the end mark of some streams follows.
func (r *eventReader) atEndMark() bool {
	mark, _ := r.in.Peek(len(endMark))
	return isEndMark(mark)
}

// readValue reads the next JSON value sent instead of a server-sent event: one document, the
// elements of an array, or one object per line. It skips separators and lines that are not JSON.
func (r *eventReader) readValue() bool {
	for {
		next, err := r.in.Peek(1)
		if err != nil {
			r.failRead(err)
			return false
		}
		switch c := next[0]; {
		case c == '{':
			return r.readObject()
		case c == '[' && r.atEndMark():
			_, _ = r.in.Discard(len(endMark))
			r.event.Data = append(r.event.Data, endMark...)
			return true
		case c == '[' || c == ']' || c == ',' || c <= ' ':
			r.inArray = r.inArray && c != ']' || c == '['
			_, _ = r.in.Discard(1)
		default:
			if prefix, _ := r.in.Peek(len("data:")); string(prefix) == "data:" {
				_, _ = r.in.Discard(len(prefix))
			} else if _, err := r.readLine(); err != nil {
				r.failRead(err)
				return false
			}
		}
	}
}

// readObject reads an object and sets Last if the stream ends after it.
func (r *eventReader) readObject() bool {
	var n Nesting
	for !n.IsWhole() {
		c, err := r.in.ReadByte()
		if err == nil && len(r.event.Data) >= eventLimit {
			err = errEventTooLarge
		}
		if err != nil {
			r.failRead(err)
			return false
		}
		n.readByte(c)
		r.event.Data = append(r.event.Data, c)
	}
	r.values++
	// Only the first line is held back until more arrives: it may be the whole response.
	if r.inArray || r.values == 1 {
		r.event.Last = r.skipToEnd() && !r.inArray
	}
	return true
}

// skipToEnd skips separators between values. It reports whether the stream ends there.
func (r *eventReader) skipToEnd() bool {
	for {
		next, err := r.in.Peek(1)
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		switch c := next[0]; {
		case c == ']':
			r.inArray = false
		case c > ' ':
			return false
		}
		_, _ = r.in.Discard(1)
	}
}

// failRead stores a read error other than the end of the stream.
func (r *eventReader) failRead(err error) {
	if !errors.Is(err, io.EOF) {
		r.err = err
	}
}
