package vendorhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestFailures(t *testing.T) {
	f := failures{provider: "p", redactor: newRedactor("key-secret", nil, testPattern)}
	alive := context.Background()
	gone, cancel := context.WithCancel(alive)
	cancel()
	own := &model.Error{Class: model.RateLimited, Provider: "p"}
	for _, tt := range []struct {
		name string
		got  *model.Error
		want model.ErrorClass
	}{
		{"no answer in time", f.ofRequest(alive, os.ErrDeadlineExceeded), model.Timeout},
		{"no answer", f.ofRequest(alive, &url.Error{Op: "Post", URL: "http://key-secret", Err: io.ErrUnexpectedEOF}), model.Provider},
		{"a cause with the key", f.ofRequest(alive, errors.New("proxy says key-secret")), model.Provider},
		{"a refusal", f.ofRequest(alive, fmt.Errorf("sdk: %w", own)), model.RateLimited},
		{"cancelled", f.ofRequest(gone, own), model.Canceled},
		{"broken off", f.ofStream(alive, os.ErrDeadlineExceeded), model.StreamInterrupted},
		{"a long line", f.ofStream(alive, bufio.ErrTooLong), model.Provider},
		{"a long event", f.ofStream(alive, errEventTooLarge), model.Provider},
		{"a long stream", f.ofStream(alive, errStreamTooLarge), model.Provider},
		{"canceled within", f.ofStream(gone, nil), model.Canceled},
		{"malformed", f.named(Malformed("key-secret", io.EOF)), model.Provider},
		{"ended early", f.named(endedEarly()), model.StreamInterrupted},
	} {
		if tt.got.Class != tt.want || tt.got.Provider != "p" || strings.Contains(tt.got.Message, "secret") {
			t.Errorf("%s gives %v, want the class %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestReadRefusal(t *testing.T) {
	for _, tt := range []struct {
		status  int
		media   string
		refused bool
	}{
		{200, "text/event-stream; charset=utf-8", false},
		{200, "", false},
		{200, "application/json; charset=utf-8", false},
		{200, "text/html", true},
		{302, "text/event-stream", true},
		{400, "", true},
		{529, "application/json", true},
	} {
		source := &repeat{text: "x", n: 2 * refusalLimit}
		res := &http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {tt.media}}, Body: io.NopCloser(source)}
		body, refused := readRefusal(res)
		if refused != tt.refused || refused && len(body) != refusalLimit || !refused && source.n != 2*refusalLimit {
			t.Errorf("%d %q: refused is %v, with %d bytes", tt.status, tt.media, refused, len(body))
		}
	}
}

func TestMediaType(t *testing.T) {
	for _, tt := range []struct {
		blob model.Blob
		want string
	}{
		{model.Blob{MediaType: "Text/CSV; charset=utf-8", Data: []byte("a")}, "text/csv"},
		{model.Blob{Data: []byte("%PDF-1.7")}, "application/pdf"},
		{model.Blob{Data: []byte("plain")}, "text/plain"},
		{model.Blob{URI: "https://example.com/a.png"}, ""},
		{model.Blob{MediaType: "odd type"}, "odd type"},
	} {
		if got := MediaType(&tt.blob); got != tt.want {
			t.Errorf("%+v is of type %q, want %q", tt.blob, got, tt.want)
		}
	}
}
