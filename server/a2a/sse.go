package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2alog "github.com/a2aproject/a2a-go/v2/log"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/server"
)

// continueStream sends the frames after the first one, which the SDK has sent. The SDK
// needs three goroutines for a stream, and net/http keeps the request; here one
// goroutine is left.
func (e *endpoint) continueStream(w http.ResponseWriter, r *http.Request, f *follower, in *frames) {
	every := e.server.settings.KeepAlive
	server.ContinueEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		f.showOn(ctx, &sse{out: out, in: in, clock: newClock(out.Waiter()), every: every})
		if more, err := f.sendLog(ctx); err != nil || more {
			f.finishStream(ctx, err)
		}
	})
}

// showOn has a stream show what happens.
func (f *follower) showOn(ctx context.Context, s *sse) {
	s.resetKeepAlive()
	f.clock, f.keepAlive = s.clock, s.sendKeepAlive
	f.show = func(ev a2a.Event) bool { return s.writeEvent(ctx, ev, nil) }
	f.fail = func(err error) { s.writeEvent(ctx, nil, err) }
}

// finishStream sends the end of a task whose log does not show it, or an error.
func (f *follower) finishStream(ctx context.Context, err error) {
	if err == nil {
		err = f.sendEnd(ctx)
	}
	if err != nil {
		f.fail(err)
	}
}

// sendLog is showLog with an error as callers see it.
func (f *follower) sendLog(ctx context.Context) (more bool, err error) {
	defer f.guardStream(ctx, &err)
	return f.showLog(ctx)
}

// sendEnd is showEnd with an error as callers see it.
func (f *follower) sendEnd(ctx context.Context) (err error) {
	defer f.guardStream(ctx, &err)
	return f.showEnd(ctx)
}

// guardStream is guardMethod for the method that the stream answers.
func (f *follower) guardStream(ctx context.Context, err *error) {
	method := "SubscribeToTask"
	if f.interrupt {
		method = "SendStreamingMessage"
	}
	f.server.endMethod(ctx, method, panics.Caught(recover()), err)
}

// sse is a stream of server-sent events that has begun.
type sse struct {
	out   *server.EventStream
	in    *frames
	clock *clock
	// every is how often an idle stream shows that it is there; 0 is never.
	every time.Duration
}

// writeEvent sends an event, or an error. It reports whether more may follow.
func (s *sse) writeEvent(ctx context.Context, ev a2a.Event, err error) (more bool) {
	gone := s.out.Write(func(b *bytes.Buffer) error {
		more = s.in.writeFrame(ctx, b, ev, err)
		return nil
	})
	s.resetKeepAlive()
	return more && gone == nil
}

// sendKeepAlive shows that the stream is there. The error is server.ErrClientGone.
func (s *sse) sendKeepAlive() error {
	s.resetKeepAlive()
	return s.out.KeepAlive()
}

// resetKeepAlive sets the time of the next keep-alive.
func (s *sse) resetKeepAlive() {
	if s.every > 0 {
		s.clock.alive = alarm{at: time.Now().Add(s.every)}
	}
}

// frames are those of one stream. A handler of the SDK makes them, as the answer to a
// request for the one event.
type frames struct {
	handler http.Handler
	spoken  version
	// rpc is set when the frames answer the JSON-RPC request with the id.
	rpc bool
	id  json.RawMessage
}

// writeFrame adds the frame of an event, or of an error. It reports whether more may
// follow.
func (f *frames) writeFrame(ctx context.Context, b *bytes.Buffer, ev a2a.Event, err error) (more bool) {
	one := &oneEvent{event: ev, err: err}
	ctx = context.WithValue(context.WithoutCancel(ctx), oneEventKey{}, one)
	ctx = a2alog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
	f.handler.ServeHTTP(&frameWriter{http.Header{}, b}, f.newStreamRequest().WithContext(ctx))
	return one.taken && err == nil
}

// newStreamRequest returns a request that is answered with a stream.
func (f *frames) newStreamRequest() *http.Request {
	const path, method, oldMethod = "/tasks/any:subscribe", "SubscribeToTask", "tasks/resubscribe"
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}, Body: http.NoBody}
	if f.spoken == v03 {
		r.URL.Path = a2av0.RESTPathPrefix + path
	}
	if !f.rpc {
		return r
	}
	call := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  struct{}        `json:"params"`
	}{Version: "2.0", ID: f.id, Method: method}
	if f.spoken == v03 {
		call.Method = oldMethod
	}
	body, err := json.Marshal(call)
	if err != nil { // not reached: the id was read
		return r
	}
	r.Method, r.Body = http.MethodPost, io.NopCloser(bytes.NewReader(body))
	return r
}

// oneEvent is a stream of one event, or of one error.
type oneEvent struct {
	event a2a.Event
	err   error
	// taken is set when the event could be encoded.
	taken bool
}

type oneEventKey struct{}

func (o *oneEvent) yieldEvent(yield func(a2a.Event, error) bool) { o.taken = yield(o.event, o.err) }

// frameWriter collects the body of a response.
type frameWriter struct {
	header http.Header
	*bytes.Buffer
}

// Header returns the header, which nobody reads.
func (w *frameWriter) Header() http.Header { return w.header }

// WriteHeader does nothing: the response has begun.
func (*frameWriter) WriteHeader(int) {}

// Flush does nothing: the whole frame is sent at once.
func (*frameWriter) Flush() {}
