package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// TestHeaders checks that the configuration alone decides what a request
// carries, whatever the environment says.
func TestHeaders(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-environment", "ANTHROPIC_AUTH_TOKEN": "token-environment", "ANTHROPIC_PROFILE": "missing",
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/environment", "ANTHROPIC_CUSTOM_HEADERS": "X-Environment: yes",
		"ANTHROPIC_OPEN_TELEMETRY": "true",
	} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct {
		name   string
		config Config
		want   map[string]string
	}{
		{"nothing", Config{}, map[string]string{
			"X-Api-Key": "", "Authorization": "", "X-Environment": "", "Traceparent": "", "Anthropic-Version": "2023-06-01",
		}},
		{"everything", Config{APIKey: testKey, Headers: map[string]string{"x-gateway": "a", "User-Agent": "me", "anthropic-version": "2030-01-01", "anthropic-beta": "b1,b2"}},
			map[string]string{
				"X-Api-Key": testKey, "Authorization": "", "X-Gateway": "a", "User-Agent": "me", "X-Environment": "",
				"Anthropic-Version": "2030-01-01", "Anthropic-Beta": "b1,b2",
			}},
		{"own authorization", Config{Headers: map[string]string{"authorization": "Bearer abcdefgh"}},
			map[string]string{"Authorization": "Bearer abcdefgh", "X-Api-Key": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := serveAt(t, tt.config, func(w http.ResponseWriter, r *http.Request) {
				for name, want := range tt.want {
					if got := r.Header.Get(name); got != want {
						t.Errorf("header %s is %q, want %q", name, got, want)
					}
				}
				answerWith(fixture(t, "text"))(w, r)
			})
			if _, failure := collect(context.Background(), t, e, hello()); failure != nil {
				t.Fatal(failure)
			}
		})
	}
}

// TestBaseURL checks where requests go.
func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                              "https://api.anthropic.com/v1/messages",
		"http://localhost:8080":         "http://localhost:8080/v1/messages",
		"http://localhost:8080/claude":  "http://localhost:8080/claude/v1/messages",
		"http://localhost:8080/claude/": "http://localhost:8080/claude/v1/messages",
	} {
		asked := ""
		e := offline(t, Config{BaseURL: base}, func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return streamResponse(r, io.NopCloser(bytes.NewReader(fixture(t, "text")))), nil
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure != nil || asked != want {
			t.Errorf("base_url %q is asked at %q (%v), want %q", base, asked, failure, want)
		}
	}
}

// TestKind makes an executor as the runtime does.
func TestKind(t *testing.T) {
	kind := Kind()
	if kind.Type != "anthropic" || kind.Summary == "" {
		t.Errorf("the kind is %q: %q", kind.Type, kind.Summary)
	}
	e, err := kind.Create(model.Settings{ID: "p"}, kind.NewConfig())
	if err != nil || e == nil {
		t.Fatalf("create without a key: %v", err)
	}
	e, err = kind.Create(model.Settings{ID: "p"}, &Config{BaseURL: "ftp://x"})
	if err == nil || e != nil {
		t.Fatalf("create with a bad base_url returns %v, %v", e, err)
	}
	if e, err := New(model.Settings{ID: "p"}, nil); err != nil || e == nil {
		t.Fatalf("create without a configuration: %v", err)
	}
}

// TestConnectionIsKept checks that a whole answer leaves its connection open
// for the next one.
func TestConnectionIsKept(t *testing.T) {
	stream := fixture(t, "text")
	var mu sync.Mutex
	connections := map[string]bool{}
	e := serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		answerWith(bytes.SplitAfter(stream, []byte("\n"))...)(w, r)
	})
	for range 5 {
		if _, failure := collect(context.Background(), t, e, hello()); failure != nil {
			t.Fatal(failure)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(connections) != 1 {
		t.Errorf("5 answers take %d connections", len(connections))
	}
}

// TestServerThatDoesNotClose checks that a whole answer is not held up by a
// server that keeps its stream open.
func TestServerThatDoesNotClose(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answerWith(fixture(t, "text"))(w, r)
		<-r.Context().Done()
	})
	events, failure := collect(context.Background(), t, e, hello())
	if failure != nil || !assemble(t, events).Finished {
		t.Fatalf("the answer ends with %v", failure)
	}
}

// begun returns a recording up to the end of its text.
func begun(t *testing.T) []byte {
	piece, _, _ := bytes.Cut(fixture(t, "text"), []byte("event: content_block_stop"))
	return piece
}

// TestBreakCloses checks that breaking off an answer ends the request.
func TestBreakCloses(t *testing.T) {
	gone := make(chan struct{})
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answerWith(begun(t))(w, r)
		<-r.Context().Done()
		close(gone)
	})
	for ev, err := range e.Stream(context.Background(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == model.EventText {
			break
		}
	}
	<-gone
}

// closeCounter is a body that counts how often it is closed.
type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

// TestBodyIsClosed checks that the body is closed however the stream ends, and
// wherever the consumer breaks off.
func TestBodyIsClosed(t *testing.T) {
	for _, r := range recordings {
		stream := fixture(t, r.name)
		for stopAfter := range 20 {
			body := &closeCounter{Reader: bytes.NewReader(stream)}
			e := offline(t, Config{}, func(req *http.Request) (*http.Response, error) {
				return streamResponse(req, body), nil
			})
			seen := 0
			for _, err := range e.Stream(context.Background(), r.request()) {
				if seen++; seen > stopAfter || err != nil {
					break
				}
			}
			if body.closed == 0 {
				t.Fatalf("%s: the body stays open after %d events", r.name, seen)
			}
		}
	}
}

// TestCancel cancels a request while it waits for the answer, and within it.
func TestCancel(t *testing.T) {
	for name, piece := range map[string][]byte{
		"ahead of the answer": nil,
		"within the answer":   begun(t),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			e := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if piece == nil {
					cancel()
				} else {
					answerWith(piece)(w, r)
				}
				<-r.Context().Done()
			})
			var failure error
			for _, err := range e.Stream(ctx, hello()) {
				if failure != nil {
					t.Fatal("something follows the error")
				}
				failure = err
				cancel()
			}
			if got := model.AsError(failure); got.Class != model.Cancelled || !errors.Is(failure, context.Canceled) || got.Provider != "vendor" {
				t.Errorf("the error is %v", failure)
			}
		})
	}
}

// TestDeadline checks that a deadline is told from a cancellation.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	e := replaying(t, bytes.NewReader(fixture(t, "text")))
	if _, failure := collect(ctx, t, e, hello()); failure == nil || failure.Class != model.Timeout {
		t.Errorf("the error is %v", failure)
	}
}

// TestAbruptClose cuts the connection within the answer.
func TestAbruptClose(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream := fixture(t, "tools")
		answerWith(stream[:len(stream)/2])(w, r)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	events, failure := collect(context.Background(), t, e, hello())
	if failure == nil || failure.Class != model.StreamInterrupted || len(events) == 0 {
		t.Errorf("%d events, then %v", len(events), failure)
	}
}

// TestNobodyThere asks a server that does not exist.
func TestNobodyThere(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	e := serveAt(t, Config{BaseURL: "http://" + address}, nil)
	_, failure := collect(context.Background(), t, e, hello())
	if failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "refused") {
		t.Errorf("the error is %v", failure)
	}
}

// TestRedirect checks that a redirect is not followed: it would carry the key
// along.
func TestRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var asked atomic.Int32
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, "/elsewhere?token="+testKey, status)
		})
		_, failure := collect(context.Background(), t, e, hello())
		if asked.Load() != 1 || failure == nil || failure.Class != model.InvalidRequest || failure.Status != status ||
			!strings.Contains(failure.Message, "base_url") {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// TestNoRetries checks that the SDK does not repeat what fails.
func TestNoRetries(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 503, 529} {
		var asked atomic.Int32
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("X-Should-Retry", "true")
			refuseWith(status, `{}`)(w, r)
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Status != status || asked.Load() != 1 {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// TestManyAtOnce streams many answers at the same time from one executor.
func TestManyAtOnce(t *testing.T) {
	e := serve(t, answerWith(fixture(t, "tools")))
	req := conversation()
	events, failure := collect(context.Background(), t, e, req)
	if failure != nil {
		t.Fatal(failure)
	}
	want := assemble(t, events).Message()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			events, failure := collect(context.Background(), t, e, req)
			if failure != nil {
				t.Errorf("%v", failure)
				return
			}
			if diff := cmp.Diff(want, assemble(t, events).Message()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	group.Wait()
}
