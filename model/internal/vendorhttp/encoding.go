package vendorhttp

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// decodeBody makes reading a response in an unknown encoding fail. Requests do not ask for
// compression, but some gateways compress anyway: limitStream decompresses gzip, which it detects
// by its first byte, because proxies lose or keep the header.
func decodeBody(res *http.Response) {
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity", "gzip", "x-gzip":
	default:
		_ = res.Body.Close()
		res.Body = io.NopCloser(failingReader{&model.Error{
			Class: model.Provider, Message: "the server compressed its answer with " + encoding + ", which the request did not ask for",
		}})
	}
}

// gzipMark is the first byte of gzip data, which begins no text or event stream.
const gzipMark = 0x1f

// decompress returns a body that decompresses gzip data. begin are the bytes already read from
// body.
func decompress(begin []byte, body io.ReadCloser) (io.ReadCloser, error) {
	in, err := gzip.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(begin)), body))
	if err != nil {
		return body, err
	}
	return readCloser{in, body}, nil
}

// readCloser reads from one source and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// failingReader is a body that cannot be read.
type failingReader struct{ err error }

// Read fails.
func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
