package native

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
)

const (
	// streamType is the media type of events that are followed.
	streamType = "text/event-stream"
	// resumeHeader names the event that a client has seen last.
	resumeHeader = "Last-Event-ID"
	// readAhead is how many events are read before they are wanted.
	readAhead = 16
	// maxBatch is how much is gathered before it is sent, in bytes, while more is
	// there already. A page of events ends behind so much, too.
	maxBatch = 64 << 10
	maxRead  = 4 << 20
	// keepAlive is the comment that shows that a stream is there.
	keepAlive = ": keep-alive\n\n"
)

// events answers with the events of a turn: a page of those there are, or a stream
// of those and of those that come.
func (c *call) events() error {
	q := queryOf(c.r, queryAfter, queryLimit)
	after, limit := q.number(queryAfter), q.limit()
	if seen := c.r.Header.Get(resumeHeader); seen != "" {
		n, err := strconv.ParseUint(seen, 10, 64)
		if err != nil {
			q.wrong(resumeHeader, "\""+clip.Text(seen)+"\" is no number from 0 on")
		}
		after = n // a client that comes back knows better than the query it began with
	}
	if q.err != nil {
		return q.err
	}
	id := c.r.PathValue("turn")
	if !strings.Contains(c.r.Header.Get("Accept"), streamType) {
		return c.eventPage(id, after, limit)
	}
	if _, err := c.turn(c.r.Context(), id); err != nil {
		return err
	}
	return c.stream(id, after)
}

// eventPage answers with a page of events, which ends early when they are large.
func (c *call) eventPage(id string, after uint64, limit int) error {
	records, err := c.ReadEvents(c.r.Context(), id, after, limit)
	if err != nil {
		return err
	}
	size := 0
	for i := range records {
		if size += len(records[i].Data); size > maxRead && i > 0 {
			records = records[:i]
			break
		}
	}
	if records == nil {
		records = []event.Record{}
	}
	return c.respond(http.StatusOK, eventList{records})
}

// stream answers with the events of a turn as server-sent events, up to the
// terminal one. A stream that ends before is cut off: clients take an orderly end
// for that of the turn.
func (c *call) stream(id string, after uint64) error {
	ctx := c.r.Context()
	h := c.w.Header()
	h.Set("Content-Type", streamType+"; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(http.StatusOK)
	out := &sender{w: c.w, control: http.NewResponseController(c.w)}
	if !out.flush() {
		return nil
	}
	if err := c.follow(ctx, id, after, out); err != nil {
		if ctx.Err() == nil {
			c.Logger.Error("a stream breaks off", zap.String("request_id", server.RequestID(ctx)), zap.String("turn_id", id), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // the only way to end a response so that it is not whole
	}
	return nil
}

// sender writes events to a client.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	batch   bytes.Buffer
}

// add takes in an event.
func (s *sender) add(r *event.Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.batch.WriteString("id: ")
	s.batch.WriteString(strconv.FormatUint(r.Seq, 10))
	s.batch.WriteString("\ndata: ")
	s.batch.Write(data)
	s.batch.WriteString("\n\n")
	return nil
}

// flush sends what was gathered. It is false when the client does not take it.
func (s *sender) flush() bool {
	if s.batch.Len() > 0 {
		_, err := s.w.Write(s.batch.Bytes())
		s.batch.Reset()
		if err != nil {
			return false
		}
	}
	return s.control.Flush() == nil
}

// reading is an event of the log, or why there is none.
type reading struct {
	record event.Record
	err    error
}

// follow sends the events of a turn until the terminal one, or until the client is
// gone. The error says why there are no more.
func (c *call) follow(ctx context.Context, id string, after uint64, out *sender) error {
	ctx, cancel := context.WithCancel(ctx)
	log := make(chan reading, readAhead)
	defer func() {
		cancel()
		for range log { // until the reader has ended
		}
	}()
	go read(ctx, c.Local.Service, c.Caller, id, after, log)
	beat := time.NewTicker(c.KeepAlive)
	defer beat.Stop()
	for {
		select {
		case r, more := <-log:
			switch {
			case !more:
				out.flush()
				return context.Cause(ctx)
			case r.err != nil:
				return r.err
			}
			if err := out.add(&r.record); err != nil {
				return err
			}
			if len(log) > 0 && out.batch.Len() < maxBatch {
				continue
			}
			if !out.flush() {
				return nil
			}
			beat.Reset(c.KeepAlive)
		case <-beat.C:
			out.batch.WriteString(keepAlive)
			if !out.flush() {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// read reads the log into a channel until the turn has ended, or ctx ends.
func read(ctx context.Context, s *runtime.Service, caller runtime.Caller, id string, after uint64, log chan<- reading) {
	defer close(log)
	for record, err := range s.Events(ctx, caller, id, after) {
		select {
		case log <- reading{record, err}:
		case <-ctx.Done():
			return
		}
	}
}
