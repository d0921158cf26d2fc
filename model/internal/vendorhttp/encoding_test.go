package vendorhttp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestCompressedAnswersAreDecoded(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, "data: hi\n\n")
	_ = w.Close()
	for name, tt := range map[string]struct {
		encoding, body, want string
		class                model.ErrorClass
	}{
		"none":          {"", "data: hi\n\n", "data: hi\n\n", ""},
		"identity":      {"identity", "data: hi\n\n", "data: hi\n\n", ""},
		"gzip":          {"GZIP ", packed.String(), "data: hi\n\n", ""},
		"gzip, cut off": {"gzip", packed.String()[:packed.Len()-9], "data: hi\n\n", "any"},
		"gzip, unsaid":  {"", packed.String(), "data: hi\n\n", ""},
		"not gzip":      {"gzip", "data: hi\n\n", "data: hi\n\n", ""},
		"damaged":       {"gzip", "\x1f\x8bdata: hi", "", "any"},
		"an empty body": {"gzip", "", "", ""},
		"brotli":        {"br", "\x8b\x02\x80", "", model.Provider},
	} {
		res := &http.Response{Header: http.Header{"Content-Encoding": {tt.encoding}}, Body: io.NopCloser(strings.NewReader(tt.body))}
		decodeBody(res)
		res.Body = limitStream(res.Body, nil)
		got, err := io.ReadAll(res.Body)
		if string(got) != tt.want && tt.class == "" || (err != nil) != (tt.class != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if e, ok := errors.AsType[*model.Error](err); tt.class == model.Provider && (!ok || !strings.Contains(e.Message, "br,")) {
			t.Errorf("%s: %v", name, err)
		}
		if err := res.Body.Close(); err != nil {
			t.Errorf("%s: closing: %v", name, err)
		}
	}
}

// TestASlowStreamIsDecodedAsItArrives reads an event before the server sends the next one.
func TestASlowStreamIsDecodedAsItArrives(t *testing.T) {
	out, in := io.Pipe()
	defer out.Close()
	res := &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: out}
	decodeBody(res)
	res.Body = limitStream(res.Body, nil)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		w := gzip.NewWriter(in)
		for _, s := range []string{"data: 1\n\n", "data: 2\n\n"} {
			_, _ = io.WriteString(w, s)
			_ = w.Flush()
		}
		_ = w.Close()
		_ = in.Close()
	}()
	first := make([]byte, 9)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Errorf("%q, %v", first, err)
	}
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "data: 2\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
	<-sent
}
