package server

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// maxBatch is how much of a stream is gathered before it is sent, in bytes, while
// more is there already. Buffers that grew beyond maxKept are not used again.
const (
	maxBatch = 64 << 10
	maxKept  = 4 * maxBatch
)

// How large one event of a stream may be, in bytes. The one by which a run ends may
// be larger, because its text is cut off only where clients could not read it: some
// read no lines of 8 MiB.
const (
	MaxFrame     = 1 << 20
	MaxLastFrame = 7 << 20
)

// DefaultKeepAlive is how often a stream with nothing to say shows that it is
// there.
const DefaultKeepAlive = 15 * time.Second

// ErrClientGone says that the client of a stream takes no more of it.
var ErrClientGone = errors.New("the client is gone")

// keepAlive is the comment that shows that a stream is there.
var keepAlive = []byte(": keep-alive\n\n")

// batches are buffers of streams, which have none while they have nothing to say.
var batches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// EventStream is a response of server-sent events. One goroutine uses it.
//
// A stream of a turn that ends before the turn does must not look whole, or
// clients take its end for that of the turn: panic with http.ErrAbortHandler.
type EventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// conn is the connection, if it was taken from net/http.
	conn *eventConn
}

// ServeEvents answers a request with server-sent events, which serve sends. Where it
// can, the server takes the connection from net/http, so that a stream with nothing
// to say costs little, and calls serve once the handler has returned. So it is the
// last thing that a handler does, and serve uses its own context in place of that of
// the request. A serve that panics ends the response as a handler does that panics.
func ServeEvents(w http.ResponseWriter, r *http.Request, serve func(context.Context, *EventStream)) {
	if out, err := OpenEventStream(w); err == nil {
		out.serveAfterHandler(w, r, serve)
	}
}

// ContinueEvents is ServeEvents for a response of server-sent events of which all that
// was written was sent, at least the header. A request with a body is that which the
// handler was given, whose body it has read to the end.
func ContinueEvents(w http.ResponseWriter, r *http.Request, serve func(context.Context, *EventStream)) {
	newEventStream(w).serveAfterHandler(w, r, serve)
}

// serveAfterHandler has the stream served once the handler has returned, or at once.
func (s *EventStream) serveAfterHandler(w http.ResponseWriter, r *http.Request, serve func(context.Context, *EventStream)) {
	x := exchangeFrom(r.Context())
	if w, ok := w.(*response); ok && x.mounted != nil && x.mounted.Stream && w.detachConn(x.mounted.router.server.events, r) {
		s.conn = w.conn
		r = r.WithContext(r.Context())
		r.Body = http.NoBody // the body holds on to what net/http had for the request
		x.detached = &detachedStream{r, s, serve}
		return
	}
	serve(r.Context(), s)
}

// detachedStream is an event stream that goes on after its handler.
type detachedStream struct {
	request *http.Request
	out     *EventStream
	serve   func(context.Context, *EventStream)
}

// Waiter waits for news of a turn in the way that suits the stream, for
// service.Follower.Batches; nil is the usual way. A client that goes away ends it
// with ErrClientGone.
func (s *EventStream) Waiter() service.Waiter {
	if s.conn == nil {
		return nil
	}
	return s.conn
}

// OpenEventStream begins a response of server-sent events. The error is
// ErrClientGone.
func OpenEventStream(w http.ResponseWriter) (*EventStream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	s := newEventStream(w)
	return s, s.writeAndFlush(nil)
}

func newEventStream(w http.ResponseWriter) *EventStream {
	return &EventStream{w: w, control: http.NewResponseController(w)}
}

// Follow sends what write makes of each event, until there are no more. It shows
// that it is there where a batch is empty, as those of service.Service.Follow are
// when nothing happens. The error is that of the batches or of write, or
// ErrClientGone.
func (s *EventStream) Follow(log iter.Seq2[[]event.Record, error], write func(*bytes.Buffer, *event.Record) error) error {
	for records, err := range log {
		if err == nil && len(records) == 0 {
			err = s.KeepAlive()
		} else if err == nil {
			err = s.sendBatch(records, write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// KeepAlive shows that the stream is there. The error is ErrClientGone.
func (s *EventStream) KeepAlive() error { return s.writeAndFlush(keepAlive) }

// sendBatch sends what write makes of events, much of it at once. The end of the
// response sends what the terminal event becomes.
func (s *EventStream) sendBatch(records []event.Record, write func(*bytes.Buffer, *event.Record) error) error {
	b := batches.Get().(*bytes.Buffer)
	defer releaseBuffer(b)
	for i := range records {
		if err := write(b, &records[i]); err != nil {
			return err
		}
		if records[i].Terminal() {
			return s.writeBytes(b.Bytes())
		}
		if b.Len() < maxBatch {
			continue
		}
		if err := s.writeAndFlush(b.Bytes()); err != nil {
			return err
		}
		b.Reset()
	}
	if b.Len() == 0 {
		return nil
	}
	return s.writeAndFlush(b.Bytes())
}

// releaseBuffer lets another stream use a buffer.
func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		batches.Put(b)
	}
}

// Write sends what write adds to a buffer. The error is that of write, or
// ErrClientGone.
func (s *EventStream) Write(write func(*bytes.Buffer) error) error {
	b := batches.Get().(*bytes.Buffer)
	defer releaseBuffer(b)
	if err := write(b); err != nil {
		return err
	}
	return s.writeAndFlush(b.Bytes())
}

// writeAndFlush sends bytes at once, and what was written before.
func (s *EventStream) writeAndFlush(p []byte) error {
	if err := s.writeBytes(p); err != nil {
		return err
	}
	if s.control.Flush() != nil {
		return ErrClientGone
	}
	return nil
}

func (s *EventStream) writeBytes(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := s.w.Write(p); err != nil {
		return ErrClientGone
	}
	return nil
}
