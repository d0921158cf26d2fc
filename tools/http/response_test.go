package http

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
)

func TestTextOfAResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typ, body string
		want, data      string
	}{
		{"text", "text/plain", "hello", "hello", ""},
		{"json", "application/json", "{\"a\": 1}\n", "{\"a\": 1}\n", "{\"a\": 1}\n"},
		{"json with parameters", "application/problem+json; charset=utf-8", `[1]`, `[1]`, `[1]`},
		{"json called text", "text/plain", `{"a":1}`, `{"a":1}`, ""},
		{"broken json", "application/json", `{"a":`, `{"a":`, ""},
		{"bom", "application/json", "\xef\xbb\xbf[1]", "[1]", "[1]"},
		{"xml", "image/svg+xml", "<svg/>", "<svg/>", ""},
		{"unknown type", "application/octet-stream", "héllo", "héllo", ""},
		{"malformed type", "a/b/c", `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"latin 1", "text/html; charset=ISO-8859-1", "caf\xe9", "café", ""},
		{"windows", "text/html; charset=windows-1252", "\x93caf\xe9\x94", "“café”", ""},
		{"latin 9", "text/html; charset=iso-8859-15", "\xa4", "€", ""},
		{"broken UTF-8", "text/plain; charset=utf-8", "a\xffb", "a\uFFFDb", ""},
		{"nothing", "text/plain", "", "[200 OK without content]", ""},
		{"image", "image/png", "\x89PNG\r\n", "[200 OK with image/png, 6 bytes: only text is shown]", ""},
		{"binary called text", "text/plain", "a\x00b", "[200 OK with text/plain, 3 bytes: only text is shown]", ""},
		{"binary of unknown type", "application/octet-stream", "\xff\xfe", "[200 OK with application/octet-stream, 2 bytes: only text is shown]", ""},
		{"unknown charset", "text/plain; charset=shift_jis", "x", "[200 OK with text/plain, 1 bytes: only text is shown]", ""},
	} {
		result := mustCall(t, newTool(t, config{URL: respond(t, 200, tt.typ, tt.body)}), `{}`)
		if got := model.PartsText(result.Content); got != tt.want || result.IsError {
			t.Errorf("%s: result is %q (error: %v), want %q", tt.name, got, result.IsError, tt.want)
		}
		if string(result.Data) != tt.data {
			t.Errorf("%s: data is %q, want %q", tt.name, result.Data, tt.data)
		}
	}
}

func TestErrorStatusIsAnErrorResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status    int
		typ, body string
		want      string
	}{
		{404, "application/json", `{"detail":"no such city"}`, `the server answered 404 Not Found: {"detail":"no such city"}`},
		{500, "text/plain", "", "the server answered 500 Internal Server Error"},
		{599, "text/plain", "x", "the server answered 599: x"},
		{502, "image/png", "\x89PNG", "the server answered 502 Bad Gateway with image/png, 4 bytes"},
	} {
		result := mustCall(t, newTool(t, config{URL: respond(t, tt.status, tt.typ, tt.body)}), `{}`)
		if got := model.PartsText(result.Content); got != tt.want || !result.IsError || result.Data != nil {
			t.Errorf("result is %q (error: %v, data %s), want %q", got, result.IsError, result.Data, tt.want)
		}
	}
	long := refusal(t, newTool(t, config{URL: respond(t, 400, "text/plain", strings.Repeat("x", 10<<10))}), `{}`)
	if len(long) > errorLimit+64 {
		t.Errorf("the error has %d bytes", len(long))
	}
	contains(t, long, "400 Bad Request: xxx", "[cut")
}

func TestErrorWhoseBodyBreaksOffKeepsItsStatus(t *testing.T) {
	t.Parallel()
	base, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short")
	})
	contains(t, refusal(t, newTool(t, config{URL: base}), `{}`), "418 I'm a teapot")
}

func TestResponseThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	base, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	_, err := newTool(t, config{URL: base}).Call(t.Context(), arg(`{}`))
	if err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("error is %v", err)
	}
}

func TestLongResponsesAreCut(t *testing.T) {
	t.Parallel()
	const limit = 1000
	write := func(unit string, n int, known bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if known {
				w.Header().Set("Content-Length", fmt.Sprint(len(unit)*n))
			}
			for range n {
				_, _ = io.WriteString(w, unit)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		unit  string
		n     int
		known bool
		note  string
	}{
		{"fits", "1", limit, true, ""},
		{"one too many", "1", limit + 1, true, "\n[cut: 1001 bytes in all]"},
		{"known", "é", 150_000, true, "\n[cut: 300000 bytes in all]"},
		{"known, four bytes", "😀", 75_000, true, "\n[cut: 300000 bytes in all]"},
		{"unknown", "1", 300_000, false, "\n[cut at 1000 bytes]"},
	} {
		base, _ := record(t, write(tt.unit, tt.n, tt.known))
		result := mustCall(t, newTool(t, config{URL: base, MaxOutput: limit}), `{}`)
		got := model.PartsText(result.Content)
		if len(got) > limit || len(got) < limit-4 {
			t.Errorf("%s: the text has %d bytes, want %d", tt.name, len(got), limit)
		}
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%s: a character is cut in two", tt.name)
		}
		if !strings.HasSuffix(got, tt.note) || (tt.note == "") != (result.Data != nil) {
			t.Errorf("%s: text ends %q with data %t, want %q", tt.name, got[len(got)-30:], result.Data != nil, tt.note)
		}
	}
}

func TestEndlessResponseIsLeft(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	base, _ := record(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	tl := newTool(t, config{URL: base, MaxOutput: maxOutput})
	contains(t, text(t, tl, `{}`), "only text is shown") // zeros
	<-gone
}

func TestCompressedResponseIsLimitedByItsPlainLength(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	text(t, newTool(t, config{URL: base}), `{}`)
	if got := (<-requests).Header.Get("Accept-Encoding"); got != "gzip" {
		t.Errorf("Accept-Encoding is %q: the client would not unpack the answer itself", got)
	}
}

func TestHeadTellsTheHeaders(t *testing.T) {
	t.Parallel()
	base, requests := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Length", "12")
		w.Header().Set("Set-Cookie", "session=hunter2")
	})
	got := text(t, newTool(t, config{Method: "HEAD", URL: base}), `{}`)
	if want := "200 OK\nContent-Type: image/png\nContent-Length: 12"; got != want {
		t.Errorf("result is %q, want %q", got, want)
	}
	if m := (<-requests).Method; m != "HEAD" {
		t.Errorf("method is %s", m)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	target, reached := record(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		base, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target+"/?token=hunter2")
			w.WriteHeader(status)
		})
		tl := newTool(t, config{URL: base, Headers: map[string]string{"Authorization": "Bearer s3cr3t-value"}})
		got := refusal(t, tl, `{}`)
		contains(t, got, fmt.Sprint(status), "redirects are not followed")
		if strings.Contains(got, "hunter2") || strings.Contains(got, target) {
			t.Errorf("the result tells where the redirect points to: %s", got)
		}
	}
	if n := len(reached); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}
