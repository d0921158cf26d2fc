package agentruns

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
)

const (
	// readAhead is how many events are read before they are wanted.
	readAhead = 16
	// maxBatch is how much is gathered before it is sent, in bytes, while more
	// is there already.
	maxBatch = 64 << 10
)

// keepAlive is the comment that shows that a stream is there.
const keepAlive = ": keep-alive\n\n"

// stream answers with the events of a run: those behind the one that the client
// has seen last, and then those that come, up to the terminal one. A stream that
// ends before is cut off: clients take an orderly end for a reason to come back
// at once.
func (c *call) stream() error {
	ctx := c.r.Context()
	found, err := c.run(ctx)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(http.StatusOK)
	out := &sender{w: c.w, control: http.NewResponseController(c.w), after: resumeFrom(c.r)}
	if !out.flush() {
		return nil
	}
	if err := c.follow(ctx, found, out); err != nil {
		if ctx.Err() == nil {
			c.Logger.Error("a stream breaks off", zap.String("request_id", server.RequestID(ctx)), zap.String("run_id", found.ID), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // the only way to end a response so that it is not whole
	}
	return nil
}

// resumeFrom returns the number of the event that the client has seen last; 0 when
// it has seen none, or says something else.
func resumeFrom(r *http.Request) uint64 {
	text := r.Header.Get("Last-Event-ID")
	if q := r.URL.Query(); q.Has("lastSeq") {
		text = q.Get("lastSeq")
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// sender writes the events behind one to a client.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	after   uint64
	batch   bytes.Buffer
}

// add takes in events. The terminal one is left out only when the client says
// that it has seen just that: whoever claims to have seen more than there is would
// otherwise be told in an orderly way that there is nothing, and come back.
func (s *sender) add(frames []frame) error {
	for i := range frames {
		if seq := frames[i].Seq; seq == s.after || seq < s.after && !frames[i].terminal() {
			continue
		}
		if err := frames[i].write(&s.batch); err != nil {
			return err
		}
	}
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

// follow sends the events of a run until the terminal one, or until the client is
// gone. The error says why there are no more.
func (c *call) follow(ctx context.Context, found *run, out *sender) error {
	ctx, cancel := context.WithCancel(ctx)
	log := make(chan reading, readAhead)
	defer func() {
		cancel()
		for range log { // until the reader has ended
		}
	}()
	go c.read(ctx, found.ID, log)
	beat := time.NewTicker(c.KeepAlive)
	defer beat.Stop()
	t := newTranslator(found.record.facts())
	for {
		select {
		case r, ok := <-log:
			over, err := c.take(ctx, found, t, out, r, ok)
			if err != nil {
				return err
			}
			if !over && len(log) > 0 && out.batch.Len() < maxBatch {
				continue
			}
			if sent := out.batch.Len() == 0 || out.flush(); over || !sent {
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

// read reads the log into a channel until the run has ended, or ctx ends.
func (c *call) read(ctx context.Context, id string, log chan<- reading) {
	defer close(log)
	for record, err := range c.Service.Events(ctx, c.caller, id, 0) {
		select {
		case log <- reading{record, err}:
		case <-ctx.Done():
			return
		}
	}
}

// take gathers what an event of the log becomes. Over tells that it was the last.
func (c *call) take(ctx context.Context, found *run, t *translator, out *sender, r reading, ok bool) (over bool, err error) {
	if r.err != nil {
		return false, r.err
	}
	if !ok {
		return true, c.conclude(ctx, found, t, out)
	}
	frames, err := t.take(&r.record)
	if err != nil {
		return false, err
	}
	if r.record.Seq > found.Seq && len(frames) > 0 {
		// It was stored after the client had come: nobody can have seen it.
		out.after = min(out.after, frames[0].Seq-1)
	}
	return r.record.Terminal(), out.add(frames)
}

// conclude gathers the terminal event of a run whose log is not kept to its end any
// more: what it came to is.
func (c *call) conclude(ctx context.Context, found *run, t *translator, out *sender) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	turn, err := c.Service.GetTurn(ctx, c.caller, found.ID)
	if err != nil || turn.Outcome == nil {
		return err
	}
	last := t.conclude(turn.Outcome)
	last.Seq = max(last.Seq, out.after+1)
	return out.add([]frame{last})
}

// finishOf returns the end of a turn as its log has it.
func finishOf(o *runtime.TurnOutcome) *event.RunFinish {
	f := &event.RunFinish{Status: o.Termination.Status(), Termination: o.Termination, Usage: o.Usage, Cost: o.Cost, Steps: o.Steps, FinishReason: string(o.FinishReason)}
	if o.Response != "" {
		f.Result = &event.Outcome{Response: o.Response}
	}
	return f
}
