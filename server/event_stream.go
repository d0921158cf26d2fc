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
)

// Size limits of one event of a stream, in bytes. The last event of a run may be larger, because
// its text is cut off only where clients could not read it: some fail on lines of 8 MiB.
const (
	MaxFrame     = 1 << 20
	MaxLastFrame = 7 << 20
)

// DefaultKeepAlive is the interval of keep-alive comments on an idle stream.
const DefaultKeepAlive = 15 * time.Second

// keepAlive is the comment that keeps an idle stream open.
var keepAlive = []byte(": keep-alive\n\n")

// ErrClientGone means that the client of a stream has disconnected.
var ErrClientGone = errors.New("the client is gone")

// EventStream is a response of server-sent events. It must be used by one goroutine.
//
// A stream that ends before its turn must not look complete, or clients take its end for the end of
// the turn: panic with http.ErrAbortHandler.
type EventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// ServeEvents answers a request with server-sent events from serve. The context ends with the
// request; its cause is ErrClientGone, ErrDraining or ErrCutShort.
func ServeEvents(w http.ResponseWriter, r *http.Request, serve func(context.Context, *EventStream)) {
	if out, err := openEventStream(w); err == nil {
		serve(r.Context(), out)
	}
}

// openEventStream begins a response of server-sent events. The error is
// ErrClientGone.
func openEventStream(w http.ResponseWriter) (*EventStream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	s := &EventStream{w: w, control: http.NewResponseController(w)}
	return s, s.writeAndFlush(nil)
}

// Follow sends each event, encoded by write, until there are no more. An empty batch, which
// service.Service.Follow yields when nothing happens, becomes a keep-alive. It returns the error
// of the batches or of write, or ErrClientGone.
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

// KeepAlive sends a comment that keeps the stream open. The error is ErrClientGone.
func (s *EventStream) KeepAlive() error { return s.writeAndFlush(keepAlive) }

// sendBatch sends many events at once, encoded by write. The end of the response flushes the
// terminal event.
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

// Write sends the bytes that write adds to a buffer. It returns the error of write, or
// ErrClientGone.
func (s *EventStream) Write(write func(*bytes.Buffer) error) error {
	b := batches.Get().(*bytes.Buffer)
	defer releaseBuffer(b)
	if err := write(b); err != nil {
		return err
	}
	return s.writeAndFlush(b.Bytes())
}

// writeAndFlush writes bytes and flushes the response.
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

// batches are the buffers of streams; an idle stream has no buffer.
var batches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxBatch is how many bytes of a stream are buffered before sending, while more events are
// available. Buffers that grew beyond maxKept are not reused.
const (
	maxBatch = 64 << 10
	maxKept  = 4 * maxBatch
)

// releaseBuffer returns a buffer to the pool.
func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		batches.Put(b)
	}
}
