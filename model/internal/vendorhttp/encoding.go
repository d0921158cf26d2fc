package vendorhttp

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// decodeBody decompresses an answer. Requests do not ask for compression, but some gateways compress
// nevertheless. Reading an unknown encoding fails.
func decodeBody(res *http.Response) {
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		res.Body = &gzipBody{body: res.Body}
	default:
		_ = res.Body.Close()
		res.Body = io.NopCloser(failingReader{&model.Error{
			Class: model.Provider, Message: "the server compressed its answer with " + encoding + ", which the request did not ask for",
		}})
	}
}

// gzipBody decompresses a body. It reads nothing before the first Read.
type gzipBody struct {
	body io.ReadCloser
	in   *gzip.Reader
	err  error
}

// Read decompresses the body.
func (g *gzipBody) Read(p []byte) (n int, err error) {
	if g.in == nil && g.err == nil {
		g.in, g.err = gzip.NewReader(g.body)
	}
	if g.err == nil {
		n, g.err = g.in.Read(p)
	}
	return n, g.err
}

// Close closes the body.
func (g *gzipBody) Close() error { return g.body.Close() }

// failingReader is a body that cannot be read.
type failingReader struct{ err error }

// Read fails.
func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
