package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// body is the body of a request, whose time ends with it: a connection that is
// silent while the response is made is as it should be.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	// ended tells that it was read to its end.
	ended bool
}

// maxUnread is how much of a body that nobody reads is read before the answer, in
// bytes, and maxUnreadChunks how much of one that does not say how large it is: more
// than clients send by mistake.
const (
	maxUnread       = 64 << 20
	maxUnreadChunks = 16 << 20
)

// readUnread reads what a handler left of the body of a request. A client that sends
// all of its request before it reads finds no answer on a connection that was closed
// meanwhile. One that asked whether it may send is answered at once, and so is one
// whose body is said to be larger still. The body has its time, which goes on.
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
		w = out.ResponseWriter // which is told that the connection is of no more use
	}
	return &body{ReadCloser: http.MaxBytesReader(w, b, limits.MaxBodyBytes), control: http.NewResponseController(w)}
}

// bodyEnded reports whether a request has no body, or one that was read to its end, so
// that net/http has nothing of it any more.
func bodyEnded(r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	b, ok := r.Body.(*body)
	return ok && b.ended
}

// Read reads on. After another error than the end the time goes on, because
// net/http may try to read the rest.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
