package vendorhttp

import (
	"context"
	"errors"
	"io"
	"time"
)

// The limits of a stream, in bytes. The longest answer of today's models is about 30 MiB as a
// stream.
const (
	eventLimit  = 16 << 20
	streamLimit = 512 << 20
)

// errEventTooLarge and errStreamTooLarge report a stream beyond its limits.
var (
	errEventTooLarge  = errors.New("an event of the stream is larger than 16 MiB")
	errStreamTooLarge = errors.New("the stream is larger than 512 MiB")
)

// limitStream returns the body of a stream that is decompressed when read and fails if it is too
// large to be an answer. report is called whenever bytes are read, unless it is nil.
func limitStream(body io.ReadCloser, report func()) io.ReadCloser {
	return &limitedStream{body: body, report: report}
}

type limitedStream struct {
	body   io.ReadCloser
	report func()
	total  int64
	begun  bool
}

// Close closes the body.
func (l *limitedStream) Close() error { return l.body.Close() }

// Read reads the body.
func (l *limitedStream) Read(p []byte) (int, error) {
	n, err := l.body.Read(p)
	if n > 0 && !l.begun {
		l.begun = true
		if p[0] == gzipMark {
			if l.body, err = decompress(p[:n], l.body); err != nil {
				return 0, err
			}
			n, err = l.body.Read(p)
		}
	}
	if n > 0 && l.report != nil {
		l.report()
	}
	if l.total += int64(n); l.total > streamLimit {
		return n, errStreamTooLarge
	}
	return n, err
}

const (
	drainPatience = 100 * time.Millisecond
	drainLimit    = 16 << 10
)

// drain reads what follows a complete answer, so that the connection can be reused. To avoid
// waiting for a server that keeps the stream open, it calls cancel, which must end the request,
// after 100 ms.
func drain(body io.Reader, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainPatience, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainLimit)
}
