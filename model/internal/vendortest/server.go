package vendortest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Listen starts a vendor on loopback. It returns its address and a transport that is closed with
// it.
func Listen(t testing.TB, answer http.HandlerFunc) (baseURL string, transport http.RoundTripper) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	own := vendorhttp.NewTransport()
	t.Cleanup(own.CloseIdleConnections)
	return server.URL, own
}

// Serve returns an executor that calls a vendor on loopback, which checks every request and then
// answers with answer.
func (v *Vendor) Serve(t testing.TB, answer http.HandlerFunc) model.Executor {
	t.Helper()
	return v.serveAnswer(t, Access{APIKey: v.Key}, func(w http.ResponseWriter, r *http.Request) {
		v.CheckRequest(t, r)
		answer(w, r)
	})
}

func (v *Vendor) serveAnswer(t testing.TB, access Access, answer http.HandlerFunc) model.Executor {
	t.Helper()
	baseURL, transport := Listen(t, answer)
	access.BaseURL = baseURL
	return v.newExecutor(t, access, transport)
}

// Make returns the result of an executor's constructor for the provider Provider.
func Make[E model.Executor, C any](t testing.TB, create func(model.Settings, *C, http.RoundTripper) (E, error), c C, transport http.RoundTripper) E {
	t.Helper()
	e, err := create(model.Settings{ID: Provider}, &c, transport)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (v *Vendor) newExecutor(t testing.TB, access Access, transport http.RoundTripper) model.Executor {
	t.Helper()
	e, err := v.New(access, transport)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Offline returns an executor whose requests are all answered by answer.
func (v *Vendor) Offline(t testing.TB, answer RoundTrip) model.Executor {
	t.Helper()
	return v.newExecutor(t, Access{APIKey: v.Key}, answer)
}

// Replay returns an executor whose request is answered with the given stream.
func (v *Vendor) Replay(t testing.TB, stream io.Reader) model.Executor {
	t.Helper()
	return v.Offline(t, func(r *http.Request) (*http.Response, error) {
		return StreamResponse(r, stream), nil
	})
}

// RoundTrip is a transport without a network.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip answers a request.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// StreamResponse answers a request with a stream.
func StreamResponse(r *http.Request, stream io.Reader) *http.Response {
	body, ok := stream.(io.ReadCloser)
	if !ok {
		body = io.NopCloser(stream)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body:    body,
		Request: r,
	}
}

// Answer returns a handler that answers with a stream, piece by piece.
func Answer(pieces ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
		}
	}
}

// Refuse returns a handler that refuses with a status and a body.
func Refuse(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// CheckRequest checks a request like the vendor: that its path is right, that it carries the key in
// its header and nowhere else, and that the API accepts its body. It returns the body, which can
// still be read.
func (v *Vendor) CheckRequest(t testing.TB, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read the body: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if ok, err := path.Match(v.Path, r.URL.Path); r.Method != http.MethodPost || !ok || err != nil || r.URL.RawQuery != v.Query {
		t.Errorf("the request is %s %s, want POST %s?%s", r.Method, r.URL, v.Path, v.Query)
	}
	want := map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream", "Authorization": ""}
	maps.Copy(want, v.Headers)
	want[v.KeyHeader] = v.KeyPrefix + v.Key
	checkHeaders(t, r, want)
	rest := r.Header.Clone()
	rest.Del(v.KeyHeader)
	if headersContain(rest, v.Key) || strings.Contains(r.RequestURI, v.Key) || bytes.Contains(body, []byte(v.Key)) {
		t.Errorf("the key is sent outside its header: %s %v %s", r.RequestURI, rest, body)
	}
	v.CheckBody(t, body)
	return body
}

func checkHeaders(t testing.TB, r *http.Request, wanted map[string]string) {
	t.Helper()
	for name, want := range wanted {
		if got := r.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
}

// headersContain reports whether a header name or value contains text, ignoring case.
func headersContain(headers http.Header, text string) bool {
	var all strings.Builder
	_ = headers.Write(&all)
	return strings.Contains(strings.ToLower(all.String()), strings.ToLower(text))
}
