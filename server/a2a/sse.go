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

// continueStream sends the frames after the first one, which the SDK has sent. The SDK needs three
// goroutines for a stream, and net/http keeps the request; this uses one goroutine.
func (e *endpoint) continueStream(w http.ResponseWriter, r *http.Request, f *follower, in *frames) {
	every := e.server.settings.KeepAlive
	server.ContinueEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		f.showOn(ctx, &sse{out: out, in: in, clock: newClock(out.Waiter()), every: every})
		if more, err := f.sendLog(ctx); err != nil || more {
			f.finishStream(ctx, err)
		}
	})
}

// showOn makes a stream show the turn's events.
func (f *follower) showOn(ctx context.Context, s *sse) {
	s.resetKeepAlive()
	f.clock, f.keepAlive = s.clock, s.sendKeepAlive
	f.show = func(ev a2a.Event) bool { return s.writeEvent(ctx, ev, nil) }
	f.fail = func(err error) { s.writeEvent(ctx, nil, err) }
}

// finishStream sends the end of a task whose log does not contain it, or an error.
func (f *follower) finishStream(ctx context.Context, err error) {
	if err == nil {
		err = f.sendEnd(ctx)
	}
	if err != nil {
		f.fail(err)
	}
}

// sendLog is showLog with errors as callers see them.
func (f *follower) sendLog(ctx context.Context) (more bool, err error) {
	defer f.guardStream(ctx, &err)
	return f.showLog(ctx)
}

// sendEnd is showEnd with errors as callers see them.
func (f *follower) sendEnd(ctx context.Context) (err error) {
	defer f.guardStream(ctx, &err)
	return f.showEnd(ctx)
}

// guardStream is guardMethod for the stream's method.
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
	// every is the keep-alive interval of an idle stream; 0 for none.
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

// sendKeepAlive sends a keep-alive. The error is server.ErrClientGone.
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

// frames are the frames of one stream. An SDK handler creates them, as the response to a request
// for a single event.
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
	one := &oneEvent{Context: context.WithoutCancel(ctx), event: ev, err: err, body: b}
	f.handler.ServeHTTP(one, f.newStreamRequest().WithContext(a2alog.AttachLogger(one, discarded)))
	return one.taken && err == nil
}

// discarded is the logger of internally created requests.
var discarded = slog.New(slog.DiscardHandler)

// The requests with a streamed response, except for the body of JSON-RPC requests.
var (
	restStream    = &http.Request{Method: http.MethodGet, URL: &url.URL{Path: streamPath}, Body: http.NoBody}
	oldRESTStream = &http.Request{Method: http.MethodGet, URL: &url.URL{Path: a2av0.RESTPathPrefix + streamPath}, Body: http.NoBody}
)

const streamPath = "/tasks/any:subscribe"

// newStreamRequest returns a request with a streamed response. It must not be modified.
func (f *frames) newStreamRequest() *http.Request {
	r := restStream
	if f.spoken == v03 {
		r = oldRESTStream
	}
	if !f.rpc {
		return r
	}
	method := "SubscribeToTask"
	if f.spoken == v03 {
		method = "tasks/resubscribe"
	}
	body := make([]byte, 0, 96+len(f.id))
	body = append(body, `{"jsonrpc":"2.0","method":"`+method+`","params":{}`...)
	if len(f.id) > 0 {
		body = append(append(body, `,"id":`...), f.id...)
	}
	return &http.Request{Method: http.MethodPost, URL: r.URL, Body: io.NopCloser(bytes.NewReader(append(body, '}')))}
}

// oneEvent is a stream of one event or error: it is the context of its request, in which the
// handler finds the event, and the response writer, which collects the body.
type oneEvent struct {
	context.Context
	event a2a.Event
	err   error
	// taken is set when the event could be encoded.
	taken  bool
	header http.Header
	body   *bytes.Buffer
}

// Value returns the event itself for oneEventKey.
func (o *oneEvent) Value(key any) any {
	if key == (oneEventKey{}) {
		return o
	}
	return o.Context.Value(key)
}

type oneEventKey struct{}

func (o *oneEvent) yieldEvent(yield func(a2a.Event, error) bool) { o.taken = yield(o.event, o.err) }

// Header returns the header, which is never read.
func (o *oneEvent) Header() http.Header {
	if o.header == nil {
		o.header = http.Header{}
	}
	return o.header
}

// Write adds to the body.
func (o *oneEvent) Write(p []byte) (int, error) { return o.body.Write(p) }

// WriteHeader does nothing: the response has begun.
func (*oneEvent) WriteHeader(int) {}

// Flush does nothing: the whole frame is sent at once.
func (*oneEvent) Flush() {}
