package server

import (
	"io"
	"net/http"
	"time"
)

// response is a response whose every write must be taken in time, and what is
// known of it.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	// status is 0 until the response has begun.
	status int
	bytes  int64
	// flushed tells that the header was sent.
	flushed bool
	// err is why a write failed.
	err error
	// conn is the connection, once it was taken from net/http.
	conn *eventConn
}

// detachConn takes the connection of a response whose header was sent from net/http, if
// it can, and lets go of what net/http keeps for the response.
func (w *response) detachConn(events *eventConns, r *http.Request) bool {
	c := events.hijackConn(w.ResponseWriter, r)
	if c == nil {
		return false
	}
	w.ResponseWriter, w.control, w.conn = c, http.NewResponseController(c), c
	return true
}

func newResponse(w http.ResponseWriter, timeout time.Duration) *response {
	r := &response{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
	r.clearWriteDeadline() // of the response before on the same connection
	return r
}

// setWriteDeadline begins the time that a write has, and disarm ends it: in HTTP/2 a time
// that is over ends a stream that only waits, too. A writer that knows no
// deadlines is one of a test.
func (w *response) setWriteDeadline()   { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
func (w *response) clearWriteDeadline() { _ = w.control.SetWriteDeadline(time.Time{}) }

// setFinalDeadlines gives what is still to be written, and read of the body, by net/http itself
// its time.
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

// FlushError sends what was written.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.setWriteDeadline()
	err := w.control.Flush()
	w.clearWriteDeadline()
	if !w.flushed { // with the header, net/http has done with a body that is not read
		w.flushed = true
		_ = w.control.SetReadDeadline(time.Time{})
	}
	return w.noteError(err)
}

// Flush sends what was written. What goes wrong then the next write tells.
func (w *response) Flush() { _ = w.FlushError() }

// Unwrap returns the writer for what else an http.ResponseController can do.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) noteError(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// setReadDeadline gives a body its time, whether it is read or not: before net/http answers,
// it waits for what a handler leaves.
func (w *response) setReadDeadline(b io.ReadCloser, timeout time.Duration) {
	if b != nil && b != http.NoBody {
		_ = w.control.SetReadDeadline(time.Now().Add(timeout))
	}
}
