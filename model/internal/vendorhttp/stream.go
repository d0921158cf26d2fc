package vendorhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// The limits of a stream, in bytes. The longest answer of today's models takes
// some 30 MiB as a stream.
const (
	eventLimit  = 16 << 20
	streamLimit = 512 << 20
)

// errEventTooLarge and errStreamTooLarge are the errors of reading a body that
// limitStream limits.
var (
	errEventTooLarge  = errors.New("an event of the stream is larger than 16 MiB")
	errStreamTooLarge = errors.New("the stream is larger than 512 MiB")
)

// limitStream returns the body of a stream so that reading fails when a single event,
// or the whole, is too large to be an answer. What reads server-sent events gathers the
// lines of each without limit; a framing of another form limits its events itself.
// report is called whenever bytes are read, unless it is nil.
func limitStream(body io.ReadCloser, framing Framing, report func()) io.ReadCloser {
	return &limitedStream{body: body, report: report, hasLines: framing.Decode == nil}
}

type limitedStream struct {
	body   io.ReadCloser
	report func()
	// hasLines is set for server-sent events.
	hasLines bool
	// event counts the bytes since the last empty line, line those of the line
	// being read, without its end; total counts all.
	event, line, total int64
	// onlyCR is set while the line being read is a carriage return.
	onlyCR bool
}

// Close closes the body.
func (l *limitedStream) Close() error { return l.body.Close() }

// Read reads the body.
func (l *limitedStream) Read(p []byte) (int, error) {
	n, err := l.body.Read(p)
	if n > 0 && l.report != nil {
		l.report()
	}
	l.total += int64(n)
	if l.hasLines {
		l.countEvent(p[:n])
	}
	switch {
	case l.event > eventLimit:
		return n, errEventTooLarge
	case l.total > streamLimit:
		return n, errStreamTooLarge
	}
	return n, err
}

// countEvent moves on after the lines of p.
func (l *limitedStream) countEvent(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.extendLine(p)
			return
		}
		l.extendLine(p[:end])
		l.event++
		if l.line == 0 || l.onlyCR {
			l.event = 0
		}
		l.line, l.onlyCR = 0, false
		p = p[end+1:]
	}
}

func (l *limitedStream) extendLine(piece []byte) {
	l.onlyCR = l.line == 0 && string(piece) == "\r" || l.onlyCR && len(piece) == 0
	l.line += int64(len(piece))
	l.event += int64(len(piece))
}

const (
	drainPatience = 100 * time.Millisecond
	drainLimit    = 16 << 10
)

// drain reads what follows a complete answer, so that the connection can be
// used again. A server that keeps the stream open is not waited for: cancel,
// which must end the request, is called after 100 ms.
func drain(body io.Reader, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainPatience, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainLimit)
}
