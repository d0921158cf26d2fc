package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// body is a request body. Its read deadline is lifted once it has been read: a client may stay
// silent while the response is produced.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// maxUnread is how many bytes of an ignored body are read before the response, and maxUnreadChunks
// how many of a body without Content-Length: more than clients send by mistake.
const (
	maxUnread       = 64 << 20
	maxUnreadChunks = 16 << 20
)

// readUnread reads the part of the body that a handler left unread. A client that sends its whole
// request before reading would miss the response if the connection were closed first. It reads
// nothing from a client that sent Expect or announced a larger body. The read deadline of the
// body still applies.
func readUnread(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" || r.ContentLength > maxUnread {
		return
	}
	most := int64(maxUnread)
	if r.ContentLength < 0 {
		most = maxUnreadChunks
	}
	_, _ = io.CopyN(io.Discard, r.Body, most) // a client that sends no more misses nothing
}

// limitBody bounds the size of a body.
func limitBody(w http.ResponseWriter, b io.ReadCloser, limits Limits) io.ReadCloser {
	if b == nil || b == http.NoBody {
		return b
	}
	if out, ok := w.(*response); ok {
		w = out.ResponseWriter // MaxBytesReader needs the original to close the connection
	}
	return &body{ReadCloser: http.MaxBytesReader(w, b, limits.MaxBodyBytes), control: http.NewResponseController(w)}
}

// Read reads more of the body. After an error other than io.EOF the deadline stays, because
// net/http may try to read the rest. The error is a *BodyError unless the body is too large.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		_ = b.control.SetReadDeadline(time.Time{})
	case err != nil && !errors.As(err, new(*http.MaxBytesError)):
		err = &BodyError{err}
	}
	return n, err
}

// BodyError reports a body that cannot be read: its chunks are malformed, or it ends
// early.
type BodyError struct{ cause error }

// Error describes the problem.
func (e *BodyError) Error() string {
	return "the body cannot be read: " + strings.TrimPrefix(e.cause.Error(), "http: ")
}

// Unwrap returns the error of the connection.
func (e *BodyError) Unwrap() error { return e.cause }

// checkContentCoding returns an error if the body of a request is compressed. No surface decodes it,
// and a handler would report that it is not valid JSON.
func checkContentCoding(w http.ResponseWriter, r *http.Request) error {
	coding := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	if r.ContentLength == 0 || coding == "" || strings.EqualFold(coding, "identity") {
		return nil
	}
	w.Header().Set("Accept-Encoding", "identity")
	return &Refusal{
		Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
		Message: fmt.Sprintf("the body has the Content-Encoding %q; it must not be encoded", clip.Text(coding)),
	}
}
