package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// watched is the body of an answer under a watch.
type watched struct {
	io.ReadCloser
	watch *watch
}

// Read reads from the body. Any data shows that the peer is alive.
func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.start()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.explainError(err)
	}
	return n, err
}

// Close closes the body and ends the watch.
func (b *watched) Close() error {
	defer b.watch.stop()
	return b.ReadCloser.Close()
}

// bounded is a body with a size limit.
type bounded struct {
	io.ReadCloser
	what string
}

// Bound returns a body that fails with a *TooLargeError after limit bytes.
func Bound(body io.ReadCloser, what string, limit int64) io.ReadCloser {
	return &bounded{http.MaxBytesReader(nil, body, limit), what}
}

// Read reads the body and fails once the limit is exceeded.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = &TooLargeError{What: b.what, Limit: large.Limit}
	}
	return n, err
}

// ReadAll reads a body of at most limit bytes.
func ReadAll(body io.ReadCloser, what string, limit int64) ([]byte, error) {
	return io.ReadAll(Bound(body, what, limit))
}

// events is a stream whose events have a size limit. Events are separated by empty lines; comments,
// which keep a stream alive, do not count.
type events struct {
	io.ReadCloser
	limit int64
	// event is the current size of the event, and line the size of its last line.
	event, line int64
	// first is the line's first byte.
	first byte
	// over is set once an event is too large.
	over error
}

// Read reads events and fails once one is too large. The events before it are passed on.
func (e *events) Read(p []byte) (int, error) {
	if e.over != nil {
		return 0, e.over
	}
	n, err := e.ReadCloser.Read(p)
	whole := 0 // end of the last complete event in p
	for from := 0; from < n; {
		part, _, ended := bytes.Cut(p[from:n], []byte("\n"))
		if e.addPart(part); e.event+e.line > e.limit {
			e.over = &TooLargeError{What: "an event", Limit: e.limit}
			if whole > 0 {
				return whole, nil
			}
			return 0, e.over
		}
		from += len(part) + 1
		if ended && e.endLine() {
			whole = from
		}
	}
	return n, err
}

// addPart adds a part of a line.
func (e *events) addPart(part []byte) {
	if e.line == 0 && len(part) > 0 {
		e.first = part[0]
	}
	e.line += int64(len(part))
}

// endLine ends a line, and reports whether it ends an event.
func (e *events) endLine() bool {
	empty := e.line == 0 || e.line == 1 && e.first == '\r'
	switch {
	case empty:
		e.event = 0
	case e.first != ':':
		e.event += e.line
	}
	e.line = 0
	return empty
}

// limits bound the size of a peer's responses and its silence.
type limits struct {
	idle time.Duration
	// event and answer are the maximum sizes of an event and a response, in bytes.
	event, answer int64
}
