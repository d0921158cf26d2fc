package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// through answers requests without network access.
type through func(req *http.Request) (*http.Response, error)

func (f through) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func TestACredentialStandsWhereItBelongs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		credential Credential
		want       func(*http.Request) string
	}{
		"nothing":        {None(), func(r *http.Request) string { return "secret" + r.Header.Get("Authorization") }},
		"a bearer token": {Bearer("secret"), func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") }},
		"a header":       {APIKey(Header, "X-Key", "secret"), func(r *http.Request) string { return r.Header.Get("X-Key") }},
		"a parameter": {APIKey(Query, "key", "secret"), func(r *http.Request) string {
			if r.URL.Query().Get("page") != "2" {
				return "the rest of the query is lost"
			}
			return r.URL.Query().Get("key")
		}},
		"a cookie": {APIKey(Cookie, "key", "secret"), func(r *http.Request) string {
			c, err := r.Cookie("key")
			if err != nil || len(r.Cookies()) != 1 {
				return fmt.Sprint(r.Cookies())
			}
			return c.Value
		}},
	} {
		req := httptest.NewRequest(http.MethodGet, "https://peer.example/a?page=2", nil)
		req.Header.Set("Cookie", "of=somebody")
		before := req.URL.String()
		resp, err := RoundTrip(through(func(r *http.Request) (*http.Response, error) {
			if got := tt.want(r); got != "secret" {
				t.Errorf("%s: the request carries %q", name, got)
			}
			return answer(http.StatusOK, ""), nil
		}), tt.credential, req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if req.URL.String() != before || req.Header.Get("Authorization") != "" || req.Header.Get("Cookie") != "of=somebody" {
			t.Errorf("%s: the caller's request was changed", name)
		}
	}
}

func TestAFixedCredentialIsNotTriedTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []Credential{None(), Bearer("t"), APIKey(Header, "X", "k")} {
		var asked int
		resp, err := RoundTrip(through(func(*http.Request) (*http.Response, error) {
			asked++
			return answer(http.StatusUnauthorized, ""), nil
		}), c, httptest.NewRequest(http.MethodGet, "https://peer.example", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if asked != 1 || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%T: asked %d times, status %d", c, asked, resp.StatusCode)
		}
	}
}

// issuer is an authorization server that issues token-1, token-2 and so on.
func issuer(t *testing.T) (url string, given *atomic.Int64) {
	t.Helper()
	given = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "me" || secret != "hush" || r.FormValue("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, given.Add(1))
	}))
	t.Cleanup(server.Close)
	return server.URL, given
}

func newClient(t *testing.T, url string) Credential {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return ClientCredentials(Client{ID: "me", Secret: "hush", TokenURL: url, Scopes: []string{"a", "b"}}, base)
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	url, given := issuer(t)
	c := newClient(t, url)
	for _, tt := range []struct {
		accepted   string
		asked      int
		status     int
		tokensThen int64
	}{
		{"token-1", 1, http.StatusOK, 1},
		{"token-1", 1, http.StatusOK, 1},
		{"token-2", 2, http.StatusOK, 2},
		{"none", 2, http.StatusUnauthorized, 3},
	} {
		var asked int
		base := through(func(r *http.Request) (*http.Response, error) {
			asked++
			if body, _ := io.ReadAll(r.Body); string(body) != "hello" {
				t.Errorf("the body is %q", body)
			}
			if r.Header.Get("Authorization") == "Bearer "+tt.accepted {
				return answer(http.StatusOK, ""), nil
			}
			return answer(http.StatusUnauthorized, ""), nil
		})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://peer.example", strings.NewReader("hello"))
		resp, err := RoundTrip(base, c, req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if asked != tt.asked || resp.StatusCode != tt.status || given.Load() != tt.tokensThen {
			t.Errorf("%s: asked %d times, status %d, %d tokens; want %+v", tt.accepted, asked, resp.StatusCode, given.Load(), tt)
		}
	}
}

func TestABodyThatCannotBeRepeatedIsSentOnce(t *testing.T) {
	t.Parallel()
	url, _ := issuer(t)
	var asked int
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://peer.example", io.NopCloser(strings.NewReader("hello")))
	resp, err := RoundTrip(through(func(*http.Request) (*http.Response, error) {
		asked++
		return answer(http.StatusUnauthorized, ""), nil
	}), newClient(t, url), req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestOneTokenServesAllThatWait(t *testing.T) {
	t.Parallel()
	url, given := issuer(t)
	c := newClient(t, url)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if used, err := c.Set(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); err != nil || used != "token-1" {
				t.Errorf("got %q, %v", used, err)
			}
		})
	}
	all.Wait()
	if given.Load() != 1 {
		t.Errorf("%d tokens were asked for", given.Load())
	}
}

func TestWhoWaitsForATokenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := ClientCredentials(Client{TokenURL: "http://127.0.0.1:1"}, http.DefaultTransport).(*client)
	c.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Set(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if c.Renew(ctx, "x") {
		t.Error("a token was renewed")
	}
}

// An authorization server's response may repeat the secret.
func TestTheErrorOfAnAuthorizationServerIsItsCode(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":"invalid_client","error_description":"hush is wrong"}`: "get a token: the authorization server answers 401 Unauthorized (invalid_client)",
		`hush is wrong`: "get a token: the authorization server answers 401 Unauthorized (no code)",
		`{"error":"a\u001b[31m\n` + strings.Repeat("x", 100) + `"}`: "get a token: the authorization server answers 401 Unauthorized (a[31m" + strings.Repeat("x", 73) + ")",
	} {
		c := ClientCredentials(Client{ID: "me", Secret: "hush", TokenURL: "https://id.example"}, through(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusUnauthorized, body), nil
		}))
		_, err := c.Set(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if err == nil || err.Error() != want {
			t.Errorf("error is %q, want %q", err, want)
		}
	}
}

func TestAnErrorDoesNotShowTheURLOfAnAuthorizationServer(t *testing.T) {
	t.Parallel()
	c := ClientCredentials(Client{TokenURL: "https://id.example/hidden"}, through(func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }))
	_, err := c.Set(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error is %v", err)
	}
}

func TestAnAuthorizationServerDoesNotRedirect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	c := ClientCredentials(Client{ID: "me", Secret: "hush", TokenURL: "https://id.example"}, through(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "id.example" {
			asked.Add(1)
		}
		resp := answer(http.StatusTemporaryRedirect, "")
		resp.Header.Set("Location", "https://elsewhere.example")
		return resp, nil
	}))
	if _, err := c.Set(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); err == nil || asked.Load() != 0 {
		t.Errorf("error %v, %d requests elsewhere", err, asked.Load())
	}
}
