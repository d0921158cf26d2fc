package server

import (
	"io"
	"net/http"
	"time"
)

// response is a response writer with a timeout for every write, and the state of
// the response.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	// status is 0 until the response has begun.
	status int
	bytes  int64
	// flushed is set once the header has been sent.
	flushed bool
	// err is the first write error.
	err error
}

func newResponse(w http.ResponseWriter, timeout time.Duration) *response {
	r := &response{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
	r.clearWriteDeadline() // set by the previous response on the connection
	return r
}

// setWriteDeadline starts the timeout of a write, and clearWriteDeadline ends it:
// in HTTP/2 an expired deadline also ends an idle stream. The writers of tests
// support no deadlines.
func (w *response) setWriteDeadline()   { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
func (w *response) clearWriteDeadline() { _ = w.control.SetWriteDeadline(time.Time{}) }

// setFinalDeadlines limits how long net/http may take to write the rest of the
// response and to read the rest of the body.
func (w *response) setFinalDeadlines() {
	w.setWriteDeadline()
	_ = w.control.SetReadDeadline(time.Now().Add(w.timeout))
}

// WriteHeader begins the response.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the body.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.setWriteDeadline()
	n, err := w.ResponseWriter.Write(p)
	w.clearWriteDeadline()
	w.bytes += int64(n)
	return n, w.noteError(err)
}

// FlushError sends the buffered data.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.setWriteDeadline()
	err := w.control.Flush()
	w.clearWriteDeadline()
	if !w.flushed { // after the header net/http does not read the rest of the body
		w.flushed = true
		_ = w.control.SetReadDeadline(time.Time{})
	}
	return w.noteError(err)
}

// Flush sends the buffered data. The next write reports errors.
func (w *response) Flush() { _ = w.FlushError() }

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) noteError(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// setReadDeadline limits the time for a body, even an unread one, because net/http reads the rest
// before it responds.
func (w *response) setReadDeadline(b io.ReadCloser, timeout time.Duration) {
	if b != nil && b != http.NoBody {
		_ = w.control.SetReadDeadline(time.Now().Add(timeout))
	}
}
