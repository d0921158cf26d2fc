package server

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// eventConn is the connection of an event stream hijacked from net/http, which keeps about 20 KiB
// and two goroutines for each request. It writes the rest of the response, in chunks, and waits:
// the one goroutine of an idle stream blocks in a read, which new events interrupt, so a disconnect
// is noticed immediately. It is the response writer of a response that has begun.
type eventConn struct {
	net.Conn
	owner *eventConns
	// unasked is the connection that Wait reads from, below the framing check:
	// these bytes are not a request.
	unasked net.Conn
	// reusable reports whether the connection can serve another request.
	reusable bool
	// pending are the chunks written but not yet sent; nil if absent.
	pending *bytes.Buffer
	// ignored counts the unexpected bytes that the client sent.
	ignored int
	// gone is set when Wait finds that the client has disconnected.
	gone bool

	mu   sync.Mutex
	wait waitPhase
}

// waitPhase is the state of Wait.
//
//	          Wait               Wake
//	idle ◀──────────▶ waiting ──────────▶ woken ──▶ idle, when Wait returns
//	  └─────────────────── Wake ───────────▲
type waitPhase uint8

const (
	// waitIdle: there is neither a Wait nor a Wake.
	waitIdle waitPhase = iota
	// waitReading: Wait is reading.
	waitReading
	// waitWoken: this Wait, or the next one, returns.
	waitWoken
)

// maxIgnored is how many bytes a client may send while it receives a stream.
// Pipelined requests are not answered: the connection is closed at the end.
const maxIgnored = 64 << 10

// maxCopied is the size in bytes up to which a chunk is copied before it is sent.
const maxCopied = 16 << 10

var (
	longAgo   = time.Unix(1, 0)
	lastChunk = []byte("0\r\n\r\n")
	chunkEnd  = []byte("\r\n")
)

// ErrClientGone means that the client of a stream has disconnected.
var ErrClientGone = errors.New("the client is gone")

// Header returns an empty header: the real one was sent, and changes have no
// effect.
func (*eventConn) Header() http.Header { return http.Header{} }

// WriteHeader does nothing: the header was sent.
func (*eventConn) WriteHeader(int) {}

// Write adds a chunk, which FlushError sends. A large chunk is sent immediately, to avoid a second
// copy.
func (c *eventConn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var size [16]byte
	b := c.pendingBuffer()
	b.Write(strconv.AppendUint(size[:0], uint64(len(p)), 16))
	b.Write(chunkEnd)
	if len(p) < maxCopied {
		b.Write(p)
		b.Write(chunkEnd)
		return len(p), nil
	}
	if err := c.FlushError(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err == nil {
		c.pendingBuffer().Write(chunkEnd)
	}
	return n, err
}

// pendingBuffer returns the buffer of unsent chunks, to append to it.
func (c *eventConn) pendingBuffer() *bytes.Buffer {
	if c.pending == nil {
		c.pending = batches.Get().(*bytes.Buffer)
	}
	return c.pending
}

// FlushError sends the chunks.
func (c *eventConn) FlushError() error {
	if c.pending == nil {
		return nil
	}
	b := c.pending
	c.pending = nil
	defer releaseBuffer(b)
	_, err := c.Conn.Write(b.Bytes())
	return err
}

// Wait blocks until Wake is called or idle has passed. The error is ErrClientGone.
func (c *eventConn) Wait(idle time.Duration) (quiet bool, err error) {
	var deadline time.Time
	if idle > 0 {
		deadline = time.Now().Add(idle)
	}
	if !c.beginWait(deadline) {
		return false, nil
	}
	for err == nil {
		var b [1]byte
		var n int
		n, err = c.unasked.Read(b[:])
		if c.ignored += n; c.ignored > maxIgnored {
			err = ErrClientGone
		}
	}
	woken := c.endWait()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.gone = true
		return false, ErrClientGone
	}
	return !woken, nil
}

// beginWait sets the read deadline. It returns false after a Wake.
func (c *eventConn) beginWait(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wait == waitWoken {
		c.wait = waitIdle
		return false
	}
	c.wait = waitReading
	_ = c.SetReadDeadline(deadline) // fails if closed; so does the read
	return true
}

// endWait reports whether a Wake ended the wait.
func (c *eventConn) endWait() (woken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken, c.wait = c.wait == waitWoken, waitIdle
	return woken
}

// Wake ends a Wait.
func (c *eventConn) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := c.wait == waitReading
	c.wait = waitWoken
	if reads {
		_ = c.SetReadDeadline(longAgo) // fails if closed; so does the read
	}
}

// finishResponse ends the response. If it is incomplete, or the client is gone, the
// connection is closed without the last chunk.
func (c *eventConn) finishResponse(whole bool) {
	if whole {
		c.pendingBuffer().Write(lastChunk)
		whole = c.FlushError() == nil
	}
	if c.pending != nil {
		releaseBuffer(c.pending)
		c.pending = nil
	}
	c.owner.endStream(c, whole && c.reusable && c.ignored == 0)
}
