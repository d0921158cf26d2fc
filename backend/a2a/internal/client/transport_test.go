package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// stream sends a message and returns the received events.
func stream(t *testing.T, p *Peer) (got []a2a.Event, err error) {
	t.Helper()
	conn, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	for e, err := range conn.Client.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: message}) {
		if err != nil {
			return got, err
		}
		got = append(got, e)
	}
	return got, nil
}

func TestErrorsOfHTTPAreTyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		header  http.Header
		kind    string
		body    string
		want    HTTPError
		wantErr error
	}{
		"unauthorized": {
			status: 401, header: http.Header{"Www-Authenticate": {`Bearer realm="a"`, "Basic"}},
			want: HTTPError{Status: 401, WWWAuthenticate: `Bearer realm="a", Basic`},
		},
		"busy":     {status: 429, header: http.Header{"Retry-After": {"7"}}, kind: "text/html", body: "<p>slow down", want: HTTPError{Status: 429, RetryAfter: 7 * time.Second}},
		"overload": {status: 503, header: http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, want: HTTPError{Status: 503, RetryAfter: 24 * time.Hour}},
		"a problem": {
			status: 500, kind: "application/problem+json", body: `{"title":"Oh","detail":"it\nbroke"}`,
			want: HTTPError{Status: 500, Message: "it broke"},
		},
		"an error of REST": {
			status: 404, kind: "application/a2a+json",
			body:    `{"error":{"code":404,"status":"NOT_FOUND","message":"no such task","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`,
			want:    HTTPError{Status: 404, Message: "no such task", Err: a2a.ErrTaskNotFound},
			wantErr: a2a.ErrTaskNotFound,
		},
		"an error of JSON-RPC": {
			status: 400, kind: "application/json", body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32009,"message":"speak 0.3"}}`,
			want:    HTTPError{Status: 400, Message: "speak 0.3", Err: a2a.ErrVersionNotSupported},
			wantErr: a2a.ErrVersionNotSupported,
		},
		"an error of another domain": {
			status: 404, kind: "application/json", body: `{"error":{"details":[{"reason":"TASK_NOT_FOUND","domain":"x"},null,1]}}`,
			want: HTTPError{Status: 404},
		},
		"JSON of another shape": {status: 502, kind: "application/json", body: `{"error":"oops","message":["x"]}`, want: HTTPError{Status: 502}},
		"no JSON":               {status: 502, kind: "application/json", body: `{`, want: HTTPError{Status: 502}},
		"nothing there":         {status: 204, want: HTTPError{Status: 204}},
	} {
		h := peertest.NewHost(t)
		p := reach(t, h.Endpoint(""))
		if _, err := p.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range tt.header {
				w.Header()[name] = values
			}
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		err := getTask(t, p)
		got, ok := errors.AsType[*HTTPError](err)
		if !ok || *got != tt.want {
			t.Errorf("%s: error is %#v, want %#v", name, got, tt.want)
		}
		if tt.wantErr != nil && !errors.Is(err, tt.wantErr) {
			t.Errorf("%s: error is not %v", name, tt.wantErr)
		}
		if _, err := stream(t, p); !errors.As(err, &got) || got.Status != tt.status {
			t.Errorf("%s: the error of a stream is %v", name, err)
		}
	}
}

func TestAnAnswerOfJSONInsteadOfAStreamIsSeen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind, body string
		wantErr    error
		want       int
	}{
		"an error":          {"application/json", `{"jsonrpc":"2.0","id":"` + peertest.SameID + `","error":{"code":-32004,` + "\n" + `"message":"no streams"}}`, a2a.ErrUnsupportedOperation, 0},
		"an error, a2a":     {"application/a2a+json; charset=utf-8", `{"jsonrpc":"2.0","id":"` + peertest.SameID + `","error":{"code":-32601,"message":"x"}}`, a2a.ErrMethodNotFound, 0},
		"an error, sniffed": {"text/plain; charset=utf-8", `{"jsonrpc":"2.0","id":"` + peertest.SameID + `","error":{"code":-32004,"message":"x"}}`, a2a.ErrUnsupportedOperation, 0},
		"a task":            {"application/json", `{"jsonrpc":"2.0","id":"` + peertest.SameID + `","result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}`, nil, 1},
	} {
		h := peertest.NewHost(t)
		h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			_, _ = io.WriteString(w, tt.body)
		})
		got, err := stream(t, reach(t, h.Endpoint("")))
		if !errors.Is(err, tt.wantErr) || len(got) != tt.want {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
}

func TestContentThatIsNoneOfTheProtocol(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	p := reach(t, h.Endpoint(""))
	for _, kind := range []string{"text/html; charset=utf-8", "image/png", "application/xml"} {
		h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, "<html>")
		})
		if wrong, ok := errors.AsType[*ContentTypeError](getTask(t, p)); !ok || wrong.ContentType != kind {
			t.Errorf("%s: %v", kind, wrong)
		}
		if _, err := stream(t, p); !isContentType(err) {
			t.Errorf("%s: the error of a stream is %v", kind, err)
		}
	}
	h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	})
	if got, err := stream(t, p); err == nil {
		t.Errorf("a text gives %d events", len(got))
	}
	h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") })
	if err := getTask(t, p); !isContentType(err) {
		t.Errorf("a stream where none was asked for: %v", err)
	}
}

func isContentType(err error) bool {
	_, ok := errors.AsType[*ContentTypeError](err)
	return ok
}

func eventOf(n int) string {
	return `data: {"jsonrpc":"2.0","id":"` + peertest.SameID + `","result":{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"` +
		strings.Repeat("x", n) + `"}]}}}}` + "\n\n"
}

func TestEventsAndAnswersAreBounded(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	p := reach(t, h.Endpoint(`{"max_event_bytes":2000,"max_output_bytes":2000}`))
	h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 10 {
			_, _ = io.WriteString(w, ": ping"+strings.Repeat(".", 500)+"\r\n"+eventOf(1000))
		}
		_, _ = io.WriteString(w, eventOf(3000))
	})
	got, err := stream(t, p)
	large, ok := errors.AsType[*TooLargeError](err)
	if len(got) != 10 || !ok || large.Limit != 2000 || large.What != "an event" {
		t.Errorf("%d events, %v", len(got), err)
	}
	h.Answer(nil, peertest.RPCAnswer("result", `{"id":"`+strings.Repeat("x", 5000)+`"}`))
	if large, ok := errors.AsType[*TooLargeError](getTask(t, p)); !ok || large.Limit != 4000 {
		t.Errorf("error is %v", large)
	}
	h.Answer(nil, peertest.RPCAnswer("result", `{"task":"`+strings.Repeat("x", 5000)+`"}`))
	if _, err := stream(t, p); !errors.As(err, &large) {
		t.Errorf("error is %v", err)
	}
}

// An event of many lines is one event.
func TestTheLinesOfAnEventCount(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"data: 123456789\n\n":                       true,
		strings.Repeat("data: 1\n\n", 100):          true,
		strings.Repeat("data: 1\n", 100):            false,
		strings.Repeat("data: 1\r\n\r\n", 100):      true,
		strings.Repeat(": 1234567890\n", 100):       true,
		strings.Repeat("x", 21):                     false,
		":" + strings.Repeat("x", 21):               false,
		"id: 1\ndata: 12345\n\nid: 2\ndata: 12\n\n": true,
	} {
		for _, body := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := io.ReadAll(&events{ReadCloser: io.NopCloser(body), limit: 20})
			if ok != (err == nil) || ok && string(got) != text {
				t.Errorf("%.20q: %v", text, err)
			}
		}
	}
}

func TestABodyOfItsBoundIsRead(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{0: true, 10: true, 11: false, 1000: false} {
		got, err := ReadAll(io.NopCloser(strings.NewReader(strings.Repeat("x", n))), "an answer", 10)
		if ok != (err == nil) || len(got) != min(n, 10) {
			t.Errorf("%d bytes: read %d, %v", n, len(got), err)
		}
	}
}

// pipe is a base transport whose responses the test writes.
type pipe struct {
	head func(ctx context.Context) error
	body io.ReadCloser
}

func (p *pipe) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.head != nil {
		if err := p.head(req.Context()); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {TypeEvents}}, Body: &canceled{p.body, req.Context()}, Request: req}, nil
}

// canceled is a body that ends with a context.
type canceled struct {
	io.ReadCloser
	ctx context.Context
}

func (c *canceled) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := c.ReadCloser.Read(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-c.ctx.Done():
		_ = c.Close()
		<-done
		return 0, c.ctx.Err()
	}
}

func idleTransport(base http.RoundTripper) *transport {
	return &transport{base: base, auth: credential.None(), limits: limits{idle: time.Minute, event: 1 << 20, answer: 1 << 20}}
}

func streamRequest(ctx context.Context) *http.Request {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://peer.example", nil)
	req.Header.Set("Accept", TypeEvents)
	return req
}

func TestAStreamMayLastButNotBeSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		go func() {
			for range 10 {
				time.Sleep(50 * time.Second)
				_, _ = io.WriteString(write, ": ping\n\n")
			}
		}()
		start := time.Now()
		resp, err := idleTransport(&pipe{body: read}).RoundTrip(streamRequest(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		idle, ok := errors.AsType[*IdleError](err)
		if !ok || !idle.Timeout() || idle.After != time.Minute || len(got) != 80 {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		if took := time.Since(start); took != 560*time.Second {
			t.Errorf("it took %s", took)
		}
		_ = resp.Body.Close()
	})
}

func TestAPeerThatDoesNotAnswerIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := idleTransport(&pipe{head: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		start := time.Now()
		_, err := tr.RoundTrip(streamRequest(t.Context())) //nolint:bodyclose // there is no answer
		if _, ok := errors.AsType[*IdleError](err); !ok || time.Since(start) != time.Minute {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

// A non-streamed message is answered when the work is done.
func TestASlowAnswerToAMessageIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := idleTransport(&pipe{body: io.NopCloser(strings.NewReader("")), head: func(context.Context) error { time.Sleep(time.Hour); return nil }})
		ctx := context.WithValue(t.Context(), slowKey{}, true)
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://peer.example", nil)
		resp, err := tr.sendRequest(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if isSlow(streamRequest(ctx)) {
			t.Error("a stream may begin when the work is done")
		}
	})
}

func TestACallThatIsCanceledSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	tr := idleTransport(&pipe{head: func(ctx context.Context) error { return ctx.Err() }})
	_, err := tr.RoundTrip(streamRequest(ctx)) //nolint:bodyclose // there is no answer
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "soon": 0, "99999999999": 24 * time.Hour, "1.5": 0,
		"Fri, 01 May 2026 12:01:00 GMT": time.Minute, "Fri, 01 May 2026 11:00:00 GMT": 0,
	} {
		if got := parseRetryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// Any response of a peer instead of a stream becomes one event with the same JSON, or an error.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte("{\n\"a\" : \"\u2028\"}\r\n"))
	f.Add([]byte("data: x\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		framed, err := frameEvent(data)
		if err != nil {
			return
		}
		body, ok := bytes.CutPrefix(framed, []byte("data: "))
		body, end := bytes.CutSuffix(body, []byte("\n\n"))
		if !ok || !end || bytes.ContainsAny(body, "\r\n") {
			t.Fatalf("the frame is %q", framed)
		}
	})
}

// However a stream is split into reads, it is rejected or passed on unchanged.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: 1\n\n: x\r\n\r\ndata: 2\n"), uint8(3))
	f.Add([]byte(strings.Repeat("0", 43)+"\r"+strings.Repeat("0", 21)), uint8(0))
	f.Add([]byte(":"+strings.Repeat("0", 70)+"\n"), uint8(10))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		read := func(r io.Reader) ([]byte, error) {
			return io.ReadAll(&events{ReadCloser: io.NopCloser(r), limit: 64})
		}
		whole, err1 := read(bytes.NewReader(data))
		parts, err2 := read(&chunks{data: data, size: int(size) + 1})
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("whole: %v, in parts: %v", err1, err2)
		}
		if err1 == nil && (!bytes.Equal(whole, data) || !bytes.Equal(parts, data)) {
			t.Fatal("the stream was changed")
		}
	})
}

// chunks is read in pieces of one size.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

func BenchmarkEvents(b *testing.B) {
	b.ReportAllocs()
	data := []byte(strings.Repeat(eventOf(200), 1000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, &events{ReadCloser: io.NopCloser(bytes.NewReader(data)), limit: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}
