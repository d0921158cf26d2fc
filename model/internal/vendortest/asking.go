package vendortest

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// testHeaders checks request headers in an environment that tries to change them.
func (v *Vendor) testHeaders(t *testing.T) {
	for name, value := range v.Environment {
		t.Setenv(name, value)
	}
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	stream := v.Recorded(t, "text")
	for _, tt := range []struct {
		name   string
		access Access
		want   map[string]string
	}{
		{"nothing", Access{}, map[string]string{v.KeyHeader: "", "Authorization": ""}},
		{"everything", Access{APIKey: v.Key, Headers: map[string]string{"x-gateway": "a", "User-Agent": "me"}},
			map[string]string{v.KeyHeader: v.KeyPrefix + v.Key, "X-Gateway": "a", "User-Agent": "me"}},
		{"a key of a header", Access{Headers: map[string]string{strings.ToLower(v.KeyHeader): "Basic abcdefgh"}},
			map[string]string{v.KeyHeader: "Basic abcdefgh"}},
		{"another authorization", Access{Headers: map[string]string{"authorization": "Bearer abcdefgh"}},
			map[string]string{"Authorization": "Bearer abcdefgh"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := v.serveAnswer(t, tt.access, func(w http.ResponseWriter, r *http.Request) {
				checkHeaders(t, r, tt.want)
				checkHeaders(t, r, map[string]string{"Traceparent": ""})
				checkHeaders(t, r, v.Headers)
				if headersContain(r.Header, "environment") {
					t.Errorf("the environment is in the headers %v", r.Header)
				}
				if strings.Contains(r.RequestURI, v.Key) {
					t.Errorf("the key is in the URL %s", r.RequestURI)
				}
				Answer(stream)(w, r)
			})
			if _, failure := Ask(t, e, v.helloRequest()); failure != nil {
				t.Fatal(failure)
			}
		})
	}
	if logged.Len() > 0 {
		t.Errorf("the standard log has %q", logged.String())
	}
}

func (v *Vendor) testURLs(t *testing.T) {
	for base, want := range v.URLs {
		asked := ""
		e := v.newExecutor(t, Access{BaseURL: base}, RoundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return StreamResponse(r, bytes.NewReader(v.Recorded(t, "text"))), nil
		}))
		if _, failure := Ask(t, e, v.helloRequest()); failure != nil || asked != want {
			t.Errorf("base_url %q is asked at %q (%v), want %q", base, asked, failure, want)
		}
	}
}

// testToolsAreEncodedOnce modifies a tool in place, which callers must not do. The change must have
// no effect, because requests share the encoded set.
func (v *Vendor) testToolsAreEncodedOnce(t *testing.T) {
	bodies := make(chan string, 1)
	e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		Answer(v.Recorded(t, "text"))(w, r)
	})
	sent := func(req *model.Request) string {
		if _, failure := Ask(t, e, req); failure != nil {
			t.Fatal(failure)
		}
		return <-bodies
	}
	req := v.Conversation()
	first := sent(req)
	req.Tools[0].Description = "Changed"
	if again := sent(req); again != first {
		t.Errorf("the set is encoded again:\n%s\n%s", first, again)
	}
	req.Tools = slices.Clone(req.Tools)
	if other := sent(req); !strings.Contains(other, "Changed") {
		t.Errorf("another set is not encoded: %s", other)
	}
}

// testConnectionIsKept checks that a whole answer leaves its connection open
// for the next one.
func (v *Vendor) testConnectionIsKept(t *testing.T) {
	for _, name := range []string{"text", v.Calls} {
		stream := v.Recorded(t, name)
		var connections sync.Map
		e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			connections.Store(r.RemoteAddr, true)
			Answer(bytes.SplitAfter(stream, []byte("\n"))...)(w, r)
		})
		for range 5 {
			if _, failure := Ask(t, e, v.helloRequest()); failure != nil {
				t.Fatal(failure)
			}
		}
		taken := 0
		connections.Range(func(any, any) bool { taken++; return true })
		if taken != 1 {
			t.Errorf("%s: 5 answers take %d connections", name, taken)
		}
	}
}

// testManyAtOnce streams many answers concurrently from one executor.
func (v *Vendor) testManyAtOnce(t *testing.T) {
	e := v.Serve(t, Answer(v.Recorded(t, v.Calls)))
	req := v.Conversation()
	events, failure := Ask(t, e, req)
	if failure != nil {
		t.Fatal(failure)
	}
	want := Assemble(t, events).Message()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			got, failure := Ask(t, e, req)
			if failure != nil {
				t.Errorf("%v", failure)
				return
			}
			if diff := diffMessages(want, Assemble(t, got).Message()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	group.Wait()
}

// testRedirect checks that a redirect, which would carry the key along, is not followed.
func (v *Vendor) testRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var asked atomic.Int32
		e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, "/elsewhere?token="+v.Key, status)
		})
		_, failure := Ask(t, e, v.helloRequest())
		if asked.Load() != 1 || failure == nil || failure.Class != model.InvalidRequest || failure.Status != status ||
			!strings.Contains(failure.Message, "base_url") || strings.Contains(failure.Error(), v.Key) {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// testNoRetries checks that no request is retried, although an SDK would.
func (v *Vendor) testNoRetries(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		var asked atomic.Int32
		e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("X-Should-Retry", "true")
			Refuse(status, `{}`)(w, r)
		})
		if _, failure := Ask(t, e, v.helloRequest()); failure == nil || failure.Status != status || asked.Load() != 1 {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// testNobodyThere calls a server that does not exist.
func (v *Vendor) testNobodyThere(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, transport := Listen(t, nil)
	e := v.newExecutor(t, Access{BaseURL: "http://" + address}, transport)
	_, failure := Ask(t, e, v.helloRequest())
	if failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "refused") {
		t.Errorf("the error is %v", failure)
	}
}

// Sent calls a vendor on loopback and returns the body that it received.
func (v *Vendor) Sent(t testing.TB, req *model.Request) string {
	t.Helper()
	bodies := make(chan []byte, 1)
	e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
		Answer(v.Recorded(t, "text"))(w, r)
	})
	before := JSON(t, req)
	if _, failure := Ask(t, e, req); failure != nil {
		t.Fatal(failure)
	}
	if after := JSON(t, req); after != before {
		t.Errorf("the request was modified:\n%s\n%s", before, after)
	}
	return string(<-bodies)
}
