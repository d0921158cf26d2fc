package vendorhttp

import (
	"bytes"
	"encoding/json"
	"io"
)

// byteOrderMark may precede the first line of a stream.
var byteOrderMark = []byte("\xef\xbb\xbf")

// beginStream skips a byte order mark and white space. It reports whether a JSON
// document follows, which no stream of events begins like.
func (r *eventReader) beginStream() (document bool) {
	for {
		first, err := r.in.Peek(1)
		if err != nil {
			return false // reading on reports the error
		}
		switch first[0] {
		case '{', '[':
			return true
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

// readDocument reads a JSON document sent instead of a stream. Each element of an
// array counts as one event, as servers send a stream that nobody asked to frame.
func (r *eventReader) readDocument() {
	r.isDocument = true
	data, err := io.ReadAll(r.in)
	if err != nil {
		r.err = err
		return
	}
	var elements []json.RawMessage
	switch {
	case json.Unmarshal(data, &elements) == nil:
		for _, element := range elements {
			r.documents = append(r.documents, element)
		}
	case json.Valid(data):
		r.documents = [][]byte{data}
	}
}

// nextDocument moves to the next part of a document, and reports whether there is one.
func (r *eventReader) nextDocument() bool {
	if len(r.documents) == 0 {
		return false
	}
	r.event.Data = append(r.event.Data, r.documents[0]...)
	r.documents = r.documents[1:]
	r.event.Last = len(r.documents) == 0
	return true
}
