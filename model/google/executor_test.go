package google

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// TestHeaders checks that the configuration alone decides what a request
// carries and where it goes, whatever the environment says.
func TestHeaders(t *testing.T) {
	for name, value := range map[string]string{
		"GOOGLE_API_KEY": "AIzaEnvironment1", "GEMINI_API_KEY": "AIzaEnvironment2", "GOOGLE_GENAI_USE_VERTEXAI": "true",
		"GOOGLE_GENAI_USE_ENTERPRISE": "1", "GOOGLE_CLOUD_PROJECT": "project", "GOOGLE_CLOUD_LOCATION": "us",
		"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/environment", "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:1/environment",
		"GOOGLE_APPLICATION_CREDENTIALS": "/environment.json",
	} {
		t.Setenv(name, value)
	}
	var logged bytes.Buffer
	log.SetOutput(&logged)
	t.Cleanup(func() { log.SetOutput(io.Discard) })
	for _, tt := range []struct {
		name   string
		config Config
		want   map[string]string
	}{
		{"nothing", Config{}, map[string]string{"X-Goog-Api-Key": "", "Authorization": "", "X-Goog-User-Project": ""}},
		{"everything", Config{APIKey: testKey, Headers: map[string]string{"x-gateway": "a", "User-Agent": "me", "Authorization": "Bearer x"}},
			map[string]string{"X-Goog-Api-Key": testKey, "X-Gateway": "a", "User-Agent": "me", "Authorization": "Bearer x"}},
		{"key as a header", Config{Headers: map[string]string{"x-goog-api-key": "abcdefgh"}}, map[string]string{"X-Goog-Api-Key": "abcdefgh"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, _ := serveAt(t, tt.config, func(w http.ResponseWriter, r *http.Request) {
				for name, want := range tt.want {
					if got := r.Header.Get(name); got != want {
						t.Errorf("header %s is %q, want %q", name, got, want)
					}
				}
				if strings.Contains(r.RequestURI, "AIza") {
					t.Errorf("the key is in the URL %s", r.RequestURI)
				}
				answerWith(fixture(t, "text"))(w, r)
			})
			if _, failure := collect(context.Background(), t, e, hello()); failure != nil {
				t.Fatal(failure)
			}
		})
	}
	if logged.Len() > 0 {
		t.Errorf("the standard log has %q", logged.String())
	}
}

// TestURL checks where requests go.
func TestURL(t *testing.T) {
	for _, tt := range []struct {
		config      Config
		model, want string
	}{
		{Config{}, "gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{}, "models/gemini-x", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{}, "tunedModels/mine", "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		{Config{APIVersion: "v1alpha"}, "gemini-x", "https://generativelanguage.googleapis.com/v1alpha/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{BaseURL: "http://localhost:1/a/"}, "gemini-x", "http://localhost:1/a/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
		{Config{BaseURL: "http://localhost:1"}, "a b?key=c#d%2e", "http://localhost:1/v1beta/models/a%20b%3Fkey=c%23d%252e:streamGenerateContent?alt=sse"},
	} {
		asked := ""
		e := offline(t, tt.config, func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return streamResponse(r, io.NopCloser(bytes.NewReader(fixture(t, "text")))), nil
		})
		req := hello()
		req.Model = tt.model
		if _, failure := collect(context.Background(), t, e, req); failure != nil || asked != tt.want {
			t.Errorf("%q of %+v is asked at %s (%v), want %s", tt.model, tt.config, asked, failure, tt.want)
		}
	}
	for _, name := range []string{"", "/", "models/", "../files/x", "models/../../x", "./x"} {
		req := hello()
		req.Model = name
		e := offline(t, Config{}, nil)
		if _, failure := collect(context.Background(), t, e, req); failure == nil || failure.Class != model.InvalidRequest {
			t.Errorf("the model %q gives %v", name, failure)
		}
	}
}

// TestKind makes an executor as the runtime does.
func TestKind(t *testing.T) {
	kind := Kind()
	if kind.Type != "google" || kind.Summary == "" {
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
	e, _ := serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
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

// openBody is a body that goes on after its content until the request ends.
type openBody struct {
	io.Reader
	ctx context.Context
}

func (b *openBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *openBody) Close() error { return nil }

// TestServerThatDoesNotClose checks that a whole answer is held up for a
// moment only by a server that keeps its stream open.
func TestServerThatDoesNotClose(t *testing.T) {
	for _, name := range []string{"text", "stop_everywhere"} {
		synctest.Test(t, func(t *testing.T) {
			e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
				return streamResponse(r, &openBody{bytes.NewReader(fixture(t, name)), r.Context()}), nil
			})
			start := time.Now()
			events, failure := collect(t.Context(), t, e, hello())
			if failure != nil || !assemble(t, events).Finished {
				t.Fatalf("the answer ends with %v", failure)
			}
			if took := time.Since(start); took != endPatience {
				t.Errorf("the answer takes %s", took)
			}
		})
	}
}

// TestBreakCloses checks that breaking off an answer ends the request.
func TestBreakCloses(t *testing.T) {
	gone := make(chan struct{})
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answerWith(fixture(t, "unfinished"))(w, r)
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
		for stopAfter := range 15 {
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
		"within the answer":   fixture(t, "unfinished"),
		"at its end":          fixture(t, "text"),
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
		stream := fixture(t, "calls")
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
	e, _ := serveAt(t, Config{BaseURL: "http://" + address}, nil)
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
		e, _ := serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
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

// TestNoRetries checks that what fails is asked once.
func TestNoRetries(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504} {
		var asked atomic.Int32
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			refuseWith(status, `{}`)(w, r)
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Status != status || asked.Load() != 1 {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// TestManyAtOnce streams many answers at the same time from one executor.
func TestManyAtOnce(t *testing.T) {
	e := serve(t, answerWith(fixture(t, "calls")))
	req := conversation(newModel)
	want := ""
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			events, failure := collect(context.Background(), t, e, req)
			if failure != nil {
				t.Errorf("%v", failure)
				return
			}
			got := mustJSON(t, assemble(t, events).Message())
			mu.Lock()
			defer mu.Unlock()
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("the answer is %s, want %s", got, want)
			}
		})
	}
	group.Wait()
}
