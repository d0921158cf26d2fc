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
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// continueStream sends the frames after the first one, which the SDK has sent. The SDK
// needs three goroutines for a stream, and net/http keeps the request; here one
// goroutine is left.
func (e *endpoint) continueStream(w http.ResponseWriter, r *http.Request, f *follower, in *frames) {
	every := e.server.settings.KeepAlive
	server.ContinueEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		s := newSSE(out, in, every)
		if err := f.sendEvents(ctx, s); err != nil {
			s.writeEvent(ctx, nil, err)
		}
	})
}

// sendEvents sends what happens to a task. The error is as callers see it.
func (f *follower) sendEvents(ctx context.Context, s *sse) (err error) {
	method := "SubscribeToTask"
	if f.interrupt {
		method = "SendStreamingMessage"
	}
	defer f.server.guardMethod(ctx, method, &err)
	return f.followLog(ctx, s, func(ev a2a.Event) bool { return s.writeEvent(ctx, ev, nil) })
}

// sse is a stream of server-sent events that has begun. It waits for news, and shows
// meanwhile that it is there.
type sse struct {
	service.Waiter
	out *server.EventStream
	in  *frames
	// every is how often it shows that it is there, which is due at a time; 0 is
	// never.
	every time.Duration
	due   time.Time
}

func newSSE(out *server.EventStream, in *frames, every time.Duration) *sse {
	s := &sse{Waiter: out.Waiter(), out: out, in: in, every: max(every, 0), due: time.Now().Add(every)}
	if s.Waiter == nil {
		s.Waiter = newNews()
	}
	return s
}

// writeEvent sends an event, or an error. It reports whether more may follow.
func (s *sse) writeEvent(ctx context.Context, ev a2a.Event, err error) (more bool) {
	gone := s.out.Write(func(b *bytes.Buffer) error {
		more = s.in.writeFrame(ctx, b, ev, err)
		return nil
	})
	s.due = time.Now().Add(s.every)
	return more && gone == nil
}

// Wait waits for a Wake, or until idle has passed.
func (s *sse) Wait(idle time.Duration) (quiet bool, err error) {
	if s.every == 0 {
		return s.Waiter.Wait(idle)
	}
	for left := time.Until(s.due); idle == 0 || left < idle; left = s.every {
		if left > 0 {
			if quiet, err := s.Waiter.Wait(left); !quiet || err != nil {
				return false, err
			}
			idle = max(idle-left, min(idle, 1))
		}
		if err := s.out.KeepAlive(); err != nil {
			return false, err
		}
		s.due = time.Now().Add(s.every)
	}
	return s.Waiter.Wait(idle)
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
